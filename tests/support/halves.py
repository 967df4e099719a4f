"""Clients that have sent half a request, and servers that wait for one."""

from tests.support.client import build


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
