"""Silent clients hold no worker: the kernel keeps them."""

import time


def check(server):
    silent = [server.connect() for _ in range(8)]   # twice as many as workers
    began = time.monotonic()
    assert server.request("/hello").status == 200
    assert time.monotonic() - began < 2
    assert silent[0].request("/hello").status == 200
    for connection in silent:
        connection.close()


def effect(server):
    """A request behind 500 silent clients"""
    silent = [server.connect() for _ in range(500)]
    began = time.monotonic()
    assert server.request("/hello").status == 200
    del silent
    return 1000 * (time.monotonic() - began)
