"""New clients leave the accept queue while the loop still serves others."""

import os
import signal

from tools.kit import sockets

BUSY, NEW = 10, 5       # clients


def check(server):
    port = server.address[1]
    busy = [server.connect() for _ in range(BUSY)]
    for one in busy:
        one.request("/hello")
        assert one.response().status == 200
    # All are ready in the same iteration, and the new clients wait in the queue.
    os.kill(server.pid, signal.SIGSTOP)
    for one in busy:
        one.request("/compute?ms=50")
    new = [server.connect() for _ in range(NEW)]
    os.kill(server.pid, signal.SIGCONT)
    server.wait_for(lambda: sockets.accept_queue(port)[0] == 0, "the new clients")
    waiting = [one for one in busy if not server_has_answered(one)]
    assert waiting, "it accepted only when it had served all that were ready"
    for one in busy + new:
        one.close()


def server_has_answered(connection):
    """Return whether bytes of an answer have arrived."""
    one = sockets.lookup(connection.sock.getsockname(), connection.sock.getpeername())
    return one is not None and one.unread > 0
