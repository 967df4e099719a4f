"""A client that sends its requests in one piece gets all its answers."""

from labs.grade.client import Client
from labs.grade.observe import Seen

REQUESTS = 1000
SECONDS = 8         # of silence; a server that goes on needs none of them


def test_answers_all_that_came_together(server):
    one = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Client(server.port, timeout=SECONDS) as client:
        client.send(one * REQUESTS)
        for answered in range(REQUESTS):
            try:
                client.response()
            except OSError as error:
                raise Seen(f"{answered} answers, then nothing: {error}",
                           f"{REQUESTS} answers to {REQUESTS} requests"
                           ) from error
