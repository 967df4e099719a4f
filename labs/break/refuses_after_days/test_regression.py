"""Impatient clients leave nothing behind."""

import contextlib
import socket

from labs.grade.client import Client, get
from labs.grade.observe import Seen, descriptors, wait_until

VISITORS = 10
SECONDS = 10


def sockets(server):
    """Return how many sockets the server has."""
    return sum(what.startswith("socket:") for what in descriptors(server.pid).values())


def test_forgets_who_left_early(fresh_server):
    with contextlib.ExitStack() as opened:
        redis = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        redis.settimeout(SECONDS)
        server = fresh_server(redis="127.0.0.1:%d" % redis.getsockname()[1])
        get(server.port, "/hello")
        before = sockets(server)
        clients = [opened.enter_context(Client(server.port)) for _ in range(VISITORS)]
        for client in clients:
            client.request("/hello")
            client.response()
            client.request("/guestbook")
        connection = opened.enter_context(redis.accept()[0])
        connection.settimeout(SECONDS)
        connection.recv(1 << 16)    # a command; no reply comes
        wait_until(lambda: sockets(server) >= before + VISITORS)
        for client in clients:
            client.reset()          # too slow for them
    # Redis is gone: nothing is due any more. The last answer says so.
    get(server.port, "/guestbook")
    if not wait_until(lambda: sockets(server) <= before):
        raise Seen(f"{sockets(server) - before} sockets more than before "
                   f"{VISITORS} clients came and left", "as many as before")
