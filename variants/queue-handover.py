"""All threads wait for the queue, none in accept; clients that find no idle
thread stay in the accept queue."""

from tests.support.processes import system_calls, wait_for


def check(server):
    # All but one, the main thread, are in futex(2).
    wait_for(lambda: sorted(system_calls(server.pid).values()) == [1, 4],
             "4 threads to wait for the queue", deadline=10)
    held = [server.connect() for _ in range(4)]     # one for each thread
    for connection in held:
        connection.send(b"GET /hello HTTP/1.1\r\n")
        server.wait_until_read(connection)
    wait_for(lambda: sorted(system_calls(server.pid).values()) == [1, 4],
             "4 threads to wait for their clients", deadline=10)
    with server.connect() as waiting:
        waiting.send(b"GET /hello HTTP/1.1\r\nHost: test\r\n\r\n")
        waiting.expect_silence(0.2)
        held.pop().close()
        assert waiting.read_response().status == 200
    for connection in held:
        connection.close()
