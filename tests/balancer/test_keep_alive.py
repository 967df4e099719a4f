"""Why an instance must keep idle connections longer than the balancer.

If the instance closes one first, its FIN may cross a request on the wire. Here
the balancer stands still: that makes the wire long.
"""

import contextlib
import http.client
import os
import signal
import time

import pytest

from tests.balancer.conftest import connections, event_loop
from tests.support.guest import URLENCODED, form

ESTABLISHED = "01"
SECONDS = 2.5   # longer than the shorter of the two times; see below


def is_open(port):
    """Return whether a client is connected to a port of this machine."""
    return any(row[3] == ESTABLISHED for row in connections(port))


def sign(client):
    """Send what cannot be sent twice."""
    client.request("POST", "/guestbook", form("A", "B"), dict([URLENCODED]))


def answer(client):
    """Return the status of the answer, None if the connection is closed instead. A
    reset is neither."""
    try:
        response = client.getresponse()
        response.read()
        return response.status
    except http.client.RemoteDisconnected:
        return None


@pytest.mark.only("epoll")
@pytest.mark.parametrize("keep_alive, expected", [
    ("1", {"haproxy": (None, 303), "nginx": (502,)}),
    ("60", {"haproxy": (303,), "nginx": (303,)}),
])
def test_a_request_on_an_idle_connection(balanced, name, server_name,
                                         keep_alive, expected):
    """nginx says that it failed. HAProxy closes the client's connection, so that
    it may try again if it dares to; where HAProxy reads the FIN before the
    request, it opens a new connection to the instance, and nothing is lost."""
    server = balanced(server_name, "--balancer", name, "--instances", "1",
                      "--", "--keep-alive", keep_alive)
    pid, port = event_loop(server, name), server.instance("s1")[1]
    client = http.client.HTTPConnection(*server.address, timeout=60)
    with contextlib.closing(client):
        sign(client)
        assert answer(client) == 303
        os.kill(pid, signal.SIGSTOP)
        try:
            sign(client)
            until = time.monotonic() + (SECONDS if keep_alive == "60" else 60)
            while is_open(port) and time.monotonic() < until:
                time.sleep(0.1)
            assert is_open(port) == (keep_alive == "60")
        finally:
            os.kill(pid, signal.SIGCONT)
        assert answer(client) in expected[name]
