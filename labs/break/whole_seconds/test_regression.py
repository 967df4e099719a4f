"""Clients that come together are all let in, although the server is busy."""

import contextlib
import os
import signal
import socket

from labs.grade.client import get
from labs.grade.observe import Seen, wait_until
from tools.kit import sockets

TOGETHER = 40


def let_in(server):
    """Return how many connections the server's kernel has completed. (A client
    may believe earlier that it has one.)"""
    return len(sockets.tcp(sockets.ESTABLISHED, local=server.port))


def test_a_crowd_is_let_in(server):
    get(server.port, "/hello")
    with contextlib.ExitStack() as opened:
        os.kill(server.pid, signal.SIGSTOP)     # busy with something else
        opened.callback(os.kill, server.pid, signal.SIGCONT)
        for _ in range(TOGETHER):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", server.port))
        # A SYN that the kernel drops is sent again a second later, and dropped
        # again while the server is stopped.
        wait_until(lambda: let_in(server) >= TOGETHER, 3)
        inside = let_in(server)
    if inside < TOGETHER:
        raise Seen(f"{inside} of {TOGETHER} clients have a connection; the others send their first "
                   "packet again and again", "a connection for each of them")
