"""One thread waits in accept, the others for the mutex."""

from tests.support.processes import system_calls, wait_for


def check(server):
    # The main thread waits for a signal.
    wait_for(lambda: sorted(system_calls(server.pid).values()) == [1, 1, 3],
             "1 of 4 threads to be in accept", deadline=10)
