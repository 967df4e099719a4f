"""Connections that stay open and ask for nothing while a load runs."""

import contextlib
import select
import socket

from tools.bench.load.base import LoadError
from tools.kit import sockets, wait

PATIENCE = 5.0      # seconds that a connection may take to open, and all of them to be accepted


@contextlib.contextmanager
def held(port, many):
    """Keep `many` connections to `port` of this machine open, and yield when the server has
    accepted them. Raises LoadError, also at the end if the server has closed any."""
    closed = select.poll()
    with contextlib.ExitStack() as kept:
        for number in range(many):
            try:
                closed.register(kept.enter_context(
                    socket.create_connection(("127.0.0.1", port), PATIENCE)), select.POLLIN)
            except OSError as error:
                raise LoadError(f"{number:,} of {many:,} connections were opened: {error}") \
                    from error
        if not wait.until(lambda: not sockets.accept_queue(port)[0], PATIENCE):
            raise LoadError(f"of {many:,} connections, {sockets.accept_queue(port)[0]:,} "
                            "were never accepted")
        yield
        if ended := len(closed.poll(0)):
            raise LoadError(f"the server closed {ended:,} of {many:,} idle connections")
