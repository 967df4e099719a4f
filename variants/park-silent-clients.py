"""Silent clients delay no other, and are served when they send."""

import time


def check(server):
    silent = [server.connect() for _ in range(50)]
    began = time.monotonic()
    assert server.request("/hello").status == 200
    assert time.monotonic() - began < 2
    for connection in silent[:25]:
        connection.request("/hello")
        assert connection.response().status == 200
    for connection in silent:
        connection.close()
    assert server.request("/hello").status == 200
    silent = [server.connect() for _ in range(5)]   # they do not delay the stop


def effect(server):
    """A request behind 50 silent clients"""
    silent = [server.connect() for _ in range(50)]
    began = time.monotonic()
    assert server.request("/hello").status == 200
    del silent
    return 1000 * (time.monotonic() - began)
