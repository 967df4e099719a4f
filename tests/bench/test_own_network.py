"""A network namespace with limits of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SCRIPT = """
import socket, sys
from bench.run import netns as own_network
try:
    own_network.enter(somaxconn=12345)
except OSError as error:
    sys.exit(f"not allowed: {error}")
with socket.create_server(("127.0.0.1", 0), backlog=12345) as server, \
        socket.create_connection(server.getsockname()) as client, \
        server.accept()[0] as accepted:
    accepted.sendall(b"through the loopback device")
    print(client.recv(99).decode(),
          open("/proc/sys/net/core/somaxconn").read())
"""


def test_limits_are_set_inside_and_not_outside():
    """The loopback device works there, and the machine keeps its limit."""
    limit = Path("/proc/sys/net/core/somaxconn")
    before = limit.read_text()
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=TOP,
                          capture_output=True, text=True, timeout=60,
                          check=False)
    if "not allowed" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.stdout.split() == ["through", "the", "loopback", "device",
                                   "12345"], done.stderr
    assert limit.read_text() == before
