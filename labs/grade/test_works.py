"""Level "works": the pages, over real sockets."""

from labs.grade.client import get
from labs.grade.observe import Seen


def test_answers_hello(server):
    answer = get(server.port, "/hello")
    if answer.status != 200:
        raise Seen(f"status {answer.status}", "status 200 for /hello")
