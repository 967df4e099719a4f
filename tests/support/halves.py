"""Clients that have sent half a request, and servers that wait for one."""

from tests.support.client import build

# Servers, or pools of one worker, that serve one client at a time.
ONE_AT_A_TIME = {"iterative": [], "preforking": ["--workers", "1"],
                 "prethreaded": ["--threads", "1"]}


def half(server):
    """Return a connection with half a request that the server has read."""
    connection = server.connect()
    connection.send(build("/echo?value=half")[:-2])
    server.wait_until_read(connection)
    return connection


def complete(connection):
    """Send the other half and check the answer."""
    connection.send(b"\r\n")
    assert "half" in connection.read_response().text
