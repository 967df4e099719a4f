"""Impatient clients leave nothing behind."""

import contextlib
import socket

from labs.grade.client import Client, get
from labs.grade.observe import Seen, descriptors, wait_until

VISITORS = 10


class SilentRedis:
    """Accepts a connection and reads commands, and answers none of them until
    its end. A context manager; .address is HOST:PORT."""

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(10)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._opened = []
        return self

    def take_command(self):
        """Wait until a command has arrived."""
        if not self._opened:
            self._opened.append(self._listener.accept()[0])
            self._opened[0].settimeout(10)
        return self._opened[0].recv(1 << 16)

    def __exit__(self, *_):
        for one in [*self._opened, self._listener]:
            one.close()


def sockets(server):
    """Return how many sockets the server has."""
    return sum(what.startswith("socket:") for what in descriptors(server.pid).values())


def test_forgets_who_left_early(fresh_server):
    with SilentRedis() as redis, contextlib.ExitStack() as opened:
        server = fresh_server(redis=redis.address)
        get(server.port, "/hello")
        before = sockets(server)
        clients = [opened.enter_context(Client(server.port)) for _ in range(VISITORS)]
        for client in clients:
            client.request("/hello")
            client.response()
            client.request("/guestbook")
        redis.take_command()
        wait_until(lambda: sockets(server) >= before + VISITORS)
        for client in clients:
            client.reset()          # too slow for them
    # Redis is gone: nothing is due any more. The last answer says so.
    get(server.port, "/guestbook")
    if not wait_until(lambda: sockets(server) <= before):
        raise Seen(f"{sockets(server) - before} sockets more than before "
                   f"{VISITORS} clients came and left", "as many as before")
