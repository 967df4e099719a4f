"""The kernel keeps silent clients: they hold no worker, and no descriptor."""

import time

from tools.kit.procfs import open_descriptors


def held(server):
    """Return how many descriptors are open in all processes of the server."""
    return sum(map(open_descriptors, server.processes()))


def check(server):
    before = held(server)
    silent = [server.connect() for _ in range(8)]   # twice as many as workers
    began = time.monotonic()
    assert server.request("/answer").status == 200
    assert time.monotonic() - began < 2
    assert held(server) <= before + 1               # that client, if it is kept
    silent[0].request("/hello")
    assert silent[0].response().status == 200
    for connection in silent:
        connection.close()


def effect(server):
    """A request behind 500 silent clients"""
    silent = [server.connect() for _ in range(500)]
    began = time.monotonic()
    assert server.request("/hello").status == 200
    del silent
    return 1000 * (time.monotonic() - began)
