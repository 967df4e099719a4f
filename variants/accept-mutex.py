"""One thread waits in accept, the others for the mutex."""


def check(server):
    # The main thread waits for a signal.
    server.wait_for(lambda: server.calls() == [1, 1, 3], "1 of 4 threads to be in accept")
