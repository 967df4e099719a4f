"""The hosts that the other tests run on: they are separate, and nothing remains."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.fleet import hosts as namespaces
from tests.fleet.hosts import hosts
from tools.kit import scratch, wait

pytestmark = pytest.mark.namespaces


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


def test_hosts_are_separate_and_nothing_remains():
    """From each other and from this machine; and they reach each other."""
    with hosts(["server", "load1"]) as fleet:
        for name in fleet.address:
            fleet.run(name, "sh", "-c", "hostname > /etc/who")
        for name in fleet.address:
            assert fleet.run(name, "cat", "/etc/who").stdout.strip() == name
        assert not Path("/etc/who").exists()
        read = f"head -c 4 < /dev/tcp/{fleet.address['server']}/22"
        assert fleet.run("load1", "bash", "-c", read).stdout == "SSH-"
        # A process that outlives the connection that started it.
        fleet.run("server", "sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null &")
        [inside] = system("pgrep", "--nslist", "pid", "--ns", str(fleet.pid["server"]),
                          "sleep").split()
        assert len(what_remains(fleet)) == 8    # a bridge, a folder, and three of each host
    assert what_remains(fleet) == []
    assert not Path(f"/proc/{inside}").exists()


def started(*names):
    """Start a program with hosts. Return (its Popen, the Path of their inventory, their bridge,
    the process id of its command, which sleeps)."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.fleet.hosts", "--names", ",".join(names), "--",
         "sh", "-c", 'echo "$INVENTORY $$"; exec sleep 1000'],
        stdout=subprocess.PIPE, text=True)
    path, command = child.stdout.readline().split()
    inventory = Path(path)
    bridge = "zf" + inventory.read_text().split("ansible_host=")[1].split(".")[2]
    return child, inventory, bridge, int(command)


def test_nothing_remains_after_a_signal():
    child, inventory, bridge, _ = started("server", "load1")
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) != 0
    assert not inventory.parent.exists()
    assert of_the_network(bridge) == []


def test_no_process_remains_after_sigkill_and_nothing_after_the_next_start():
    """Nothing can be undone then: the kernel ends the hosts, and the next start their network."""
    child, inventory, bridge, command = started("server")
    try:
        assert processes_in(f"{bridge}-server")
        child.kill()
        child.wait()
        with open(f"/run/lock/fleet-{bridge}", "wb") as lock:
            # The next start may be another test's: then this waits until that is over.
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert wait.until(lambda: not processes_in(f"{bridge}-server"), 60)
            namespaces.remove_left(bridge)
            assert not of_the_network(bridge)
        scratch.sweep(tempfile.gettempdir(), scratch.PREFIX, shutil.rmtree)
        assert not inventory.exists()
    finally:
        os.kill(command, signal.SIGKILL)
