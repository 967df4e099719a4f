"""All threads wait for the queue, none in accept; clients that find no idle
thread stay in the accept queue."""

from tools.kit import procfs, sockets


def check(server):
    def main_accepts():
        """Whether the first argument of the main thread's call is the listening socket."""
        call = procfs.read(f"/proc/{server.pid}/syscall").split()
        return len(call) > 1 and int(call[1], 16) in sockets.listeners(
            server.pid, server.address[1])

    # All other threads are in futex(2).
    server.wait_for(main_accepts, "the main thread to accept")
    server.wait_for(lambda: server.calls() == [1, 4], "4 threads to wait for the queue")
    held = [server.connect() for _ in range(4)]     # one for each thread
    for connection in held:
        connection.send(b"GET /hello HTTP/1.1\r\n")
        server.wait_until_read(connection)
    server.wait_for(lambda: server.calls() == [1, 4], "4 threads to wait for their clients")
    with server.connect() as waiting:
        waiting.send(b"GET /hello HTTP/1.1\r\nHost: test\r\n\r\n")
        assert waiting.is_silent(0.2)
        held.pop().close()
        assert waiting.response().status == 200
    for connection in held:
        connection.close()
