"""A network namespace with limits of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.run import netns

TOP = Path(__file__).resolve().parents[2]
SCRIPT = """
import socket, sys
from bench.run import netns
if netns.problem():
    sys.exit(f"not allowed: {netns.problem()}")
netns.enter()
with socket.create_server(("127.0.0.1", 0), backlog=netns.QUEUE) as server, \
        socket.create_connection(server.getsockname()) as client, \
        server.accept()[0] as accepted:
    accepted.sendall(b"through the loopback device")
    print(client.recv(99).decode())
netns.set_limits({"core/somaxconn": 10})
for path in ("core/somaxconn", "ipv4/tcp_max_syn_backlog",
             "ipv4/ip_local_port_range", "ipv4/tcp_congestion_control"):
    print((netns.BELOW / path).read_text().strip())
"""
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


@pytest.mark.parametrize("user", [{}, NOBODY], ids=["as it is", "nobody"])
def test_limits_are_set_inside_and_not_outside(user):
    """Without root, too: the loopback device works there, queues are for all
    clients, nothing is paced, and the machine keeps its limit."""
    if user and os.getuid():
        pytest.skip("only root can become another user")
    before = (netns.BELOW / "core/somaxconn").read_text()
    try:
        done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=TOP,
                              capture_output=True, text=True, timeout=60, check=False, **user)
    except PermissionError:
        pytest.skip("another user may not read this checkout")
    if done.stderr.startswith("not allowed"):
        pytest.skip(done.stderr.strip())
    said, queue, syns, ports, control = done.stdout.splitlines()
    assert said == "through the loopback device"
    assert (queue, syns) == ("10", "20000") and control in ("cubic", "reno")
    first, last = map(int, ports.split())
    assert last - first > 50_000
    assert (netns.BELOW / "core/somaxconn").read_text() == before


def test_the_machine_itself_is_never_changed():
    """A study that sets limits is refused where they are everyone's."""
    with pytest.raises(OSError, match="no network of its own"):
        netns.set_limits({"core/somaxconn": 4097})
