"""A page that does not use Redis does not depend on Redis."""

import socket

from labs.grade.client import Client, get
from labs.grade.observe import or_seen

SECONDS = 10


def test_serves_others_while_redis_is_silent(fresh_server):
    with socket.create_server(("127.0.0.1", 0)) as redis:
        redis.settimeout(SECONDS)
        server = fresh_server(redis="127.0.0.1:%d" % redis.getsockname()[1])
        with Client(server.port) as guest:
            guest.request("/guestbook")
            with redis.accept()[0] as connection:
                connection.settimeout(SECONDS)
                connection.recv(1 << 16)    # the command; no reply comes
                with or_seen(lambda error: f"no answer to /hello while Redis is silent: {error}",
                             "an answer"):
                    get(server.port, "/hello", timeout=SECONDS)
