"""A client that sends its requests in one piece gets all its answers, and the
server does not sleep while requests are left."""

from labs.grade.client import Client, port_of
from labs.grade.observe import must_read, or_seen

REQUESTS = 2000


def test_answers_all_that_came_together(server):
    one = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Client(server.port) as client:
        client.meanwhile = must_read(server.pid, server.port, port_of(client))
        client.send(one * REQUESTS)
        answered = 0
        with or_seen(lambda error: f"{answered} answers, then nothing: {error}",
                     f"{REQUESTS} answers to {REQUESTS} requests"):
            for answered in range(REQUESTS):
                client.response()
