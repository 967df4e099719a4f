"""Clients that come together all reach the server, although it is busy."""

import contextlib
import os
import signal
import socket

from labs.grade.client import get
from labs.grade.observe import Seen, wait_until

TOGETHER = 40


def is_connected(client):
    """Return whether the handshake is complete."""
    try:
        client.getpeername()
        return True
    except OSError:
        return False


def test_a_crowd_is_let_in(server):
    get(server.port, "/hello")
    with contextlib.ExitStack() as opened:
        os.kill(server.pid, signal.SIGSTOP)     # busy with something else
        opened.callback(os.kill, server.pid, signal.SIGCONT)
        clients = []
        for _ in range(TOGETHER):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", server.port))
            clients.append(client)
        # A SYN that the kernel drops is sent again a second later, and dropped
        # again while the server is stopped.
        wait_until(lambda: all(map(is_connected, clients)), 3)
        inside = sum(map(is_connected, clients))
    if inside < TOGETHER:
        raise Seen(f"{inside} of {TOGETHER} clients were connected; the others "
                   "send their first packet again and again",
                   "a connection for each of them")
