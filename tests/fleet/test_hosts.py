"""The hosts that the other tests run on: they are separate, and nothing remains."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.fleet import hosts as namespaces
from tests.fleet.hosts import hosts
from tools.kit import scratch

pytestmark = pytest.mark.namespaces
PROGRAM = (sys.executable, "-m", "tests.fleet.hosts")


def system(*words):
    """Run a command of the system; return its output."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def processes_in(namespace):
    """Return the process ids in a network namespace, as text; "" also if it is not there."""
    return subprocess.run(["ip", "netns", "pids", namespace], check=False, capture_output=True,
                          text=True).stdout


def of_the_network(bridge):
    """Return the bridge, cables and namespaces of a fleet that exist."""
    return re.findall(rf"^{bridge}(?:-\w+)?\b", system("ip", "-brief", "link")
                      + system("ip", "netns"), re.MULTILINE)


def what_remains(fleet):
    """Return what is left of a fleet: network, processes, files."""
    return of_the_network(fleet.bridge) + [
        path for path in [*(f"/proc/{pid}" for pid in fleet.pid.values()),
                          str(fleet.inventory.parent)] if Path(path).exists()]


def test_hosts_are_separate():
    """And reach each other."""
    with hosts(["server", "load1"]) as fleet:
        for name in fleet.address:
            assert fleet.run(name, "hostname").stdout.strip() == name
            done = fleet.run(name, "sh", "-c", f"echo {name} > /etc/who && "
                             f"sysctl -w net.core.somaxconn=100{fleet.pid[name] % 10}")
            assert done.returncode == 0, done.stderr
        for name in fleet.address:
            assert fleet.run(name, "cat", "/etc/who").stdout.strip() == name
            assert fleet.run(name, "sysctl", "-n", "net.core.somaxconn").stdout \
                .strip() == f"100{fleet.pid[name] % 10}"
        read = f"head -c 4 < /dev/tcp/{fleet.address['server']}/22"
        assert fleet.run("load1", "bash", "-c", read).stdout == "SSH-"
    assert not Path("/etc/who").exists()


def test_nothing_remains():
    with hosts(["server", "load1"]) as fleet:
        # A process that outlives the connection that started it.
        fleet.run("server", "sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null &")
        inside = system("pgrep", "--nslist", "pid", "--ns", str(fleet.pid["server"]),
                        "sleep").split()
        assert len(inside) == 1
        assert len(what_remains(fleet)) == 8
    assert what_remains(fleet) == []
    assert not Path(f"/proc/{inside[0]}").exists()


def test_nothing_remains_after_a_signal():
    child = subprocess.Popen([*PROGRAM, "--names", "server,load1", "--", "sh", "-c",
                              'echo "$INVENTORY"; exec sleep 1000'],
                             stdout=subprocess.PIPE, text=True)
    inventory = Path(child.stdout.readline().strip())
    text = inventory.read_text()
    bridge = "zf" + text.split("ansible_host=")[1].split(".")[2]
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) != 0
    assert not inventory.parent.exists()
    assert of_the_network(bridge) == []


def test_no_process_remains_after_sigkill_and_nothing_after_the_next_start():
    """Nothing can be undone then: the kernel ends the hosts, and the next start their network."""
    child = subprocess.Popen([*PROGRAM, "--names", "server", "--", "sh", "-c",
                              'echo "$INVENTORY $$"; exec sleep 1000'],
                             stdout=subprocess.PIPE, text=True)
    inventory, command = child.stdout.readline().split()
    bridge = "zf" + Path(inventory).read_text().split("ansible_host=")[1].split(".")[2]
    try:
        assert system("ip", "netns", "pids", f"{bridge}-server")
        child.kill()
        child.wait()
        with open(f"/run/lock/fleet-{bridge}", "wb") as lock:
            # The next start may be another test's: then this waits until that is over.
            fcntl.flock(lock, fcntl.LOCK_EX)
            until = time.monotonic() + 60
            while processes_in(f"{bridge}-server"):
                assert time.monotonic() < until
                time.sleep(0.02)
            namespaces.remove_left(bridge)
            assert not of_the_network(bridge)
        scratch.sweep(tempfile.gettempdir(), scratch.PREFIX, shutil.rmtree)
        assert not Path(inventory).exists()
    finally:
        os.kill(int(command), signal.SIGKILL)
