"""Visitors who only look at their screen keep no one out."""

import contextlib

from labs.grade.client import Client, get
from labs.grade.observe import or_seen

SECONDS = 20


def test_idle_visitors_make_room(fresh_server):
    # Patient enough that no connection ends by its own timeout.
    server = fresh_server(["--keep-alive", "600"])
    with contextlib.ExitStack() as opened:
        for _ in range(4):
            client = opened.enter_context(Client(server.port))
            client.request("/hello")
            client.response()
        with or_seen(lambda error: "no answer to the fifth visitor while the other four "
                     f"are idle: {error}", "an answer"):
            get(server.port, "/hello", timeout=SECONDS)
