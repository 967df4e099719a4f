"""The faults, played against a running server.

Each function returns what was seen, mostly in seconds. The tests compare it
with the promise and a margin for busy machines; measure.py writes it down.
"""

import contextlib
import time

from client import build

DEADLINE = 30.0         # seconds after which a scenario is taken for hung


def slow_clients(server, count):
    """Let `count` clients drip a request; return how long a normal client
    waits for its answer meanwhile, in seconds.

    The slow ones drip until the normal one has been answered, or the server
    has ended them.
    """
    with contextlib.ExitStack() as stack:
        slow = []
        for _ in range(count):
            connection = stack.enter_context(server.connect())
            connection.send(b"GET /answer HTTP/1.1\r\nHost: a\r\nX: ")
            server.wait_until_read(connection)
            slow.append(connection)
        normal = stack.enter_context(server.connect())
        began = time.monotonic()
        normal.send(build("/answer"))
        while not normal.readable(0.05):
            assert time.monotonic() - began < DEADLINE, "nobody is served"
            for connection in slow:
                connection.send(b"y")
        took = time.monotonic() - began
        assert normal.read_response().body == b"42"
    return took
