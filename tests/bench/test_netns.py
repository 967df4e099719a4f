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
try:
    netns.enter()
except OSError as error:
    sys.exit(f"not allowed: {error}")
with socket.create_server(("127.0.0.1", 0), backlog=netns.QUEUE) as server, \
        socket.create_connection(server.getsockname()) as client, \
        server.accept()[0] as accepted:
    accepted.sendall(b"through the loopback device")
    print(client.recv(99).decode())
for path in ("core/somaxconn", "ipv4/tcp_max_syn_backlog",
             "ipv4/ip_local_port_range", "ipv4/tcp_congestion_control"):
    print((netns.BELOW / path).read_text().strip())
netns.set_limits({"core/somaxconn": 10})
print((netns.BELOW / "core/somaxconn").read_text().strip())
"""
LIMITS = Path("/proc/sys/net/core/somaxconn")


def run(script, **user):
    """Run `script`, perhaps as another user, in a process of its own; return what it printed, or skip
    the test where a network of its own is not allowed."""
    try:
        done = subprocess.run([sys.executable, "-c", script], cwd=TOP,
                              capture_output=True, text=True, timeout=60,
                              check=False, **user)
    except PermissionError:
        pytest.skip("another user may not read this checkout")
    if "not allowed" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert not done.stderr
    return done.stdout.splitlines()


def test_limits_are_set_inside_and_not_outside():
    """The loopback device works there, queues are for all clients, nothing is
    paced, and the machine keeps its limit."""
    before = LIMITS.read_text()
    said, queue, syns, ports, control, set_again = run(SCRIPT)
    assert said == "through the loopback device"
    assert queue == syns == "20000" and control in ("cubic", "reno")
    first, last = map(int, ports.split())
    assert last - first > 50_000
    assert set_again == "10"
    assert LIMITS.read_text() == before


def test_the_machine_itself_is_never_changed():
    """A study that sets limits is refused where they are everyone's."""
    before = LIMITS.read_text()
    with pytest.raises(OSError, match="no network of its own"):
        netns.set_limits({"core/somaxconn": 4097})
    assert LIMITS.read_text() == before


def test_a_user_needs_no_root():
    """Where the system lets users have namespaces of their own."""
    if os.getuid():
        pytest.skip("this test begins as root")
    said = run("""
import sys
from bench.run import netns
why = netns.problem()
if why:
    sys.exit(f"not allowed: {why}")
netns.enter()
print((netns.BELOW / "core/somaxconn").read_text().strip())
""", user=65534, group=65534, extra_groups=[])
    assert said == ["20000"]
