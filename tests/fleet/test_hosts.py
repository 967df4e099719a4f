"""The hosts that the other tests run on: they are separate, and nothing remains."""

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
from tests.fleet.hosts import GROUPS, hosts
from tools.kit import scratch

pytestmark = pytest.mark.namespaces
PROGRAM = (sys.executable, "-m", "tests.fleet.hosts")


def system(*words):
    """Run a command of the system; return its output."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


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
    with hosts(["server", "redis", "load1", "load2"]) as fleet:
        for name in fleet.address:
            assert fleet.run(name, "hostname").stdout.strip() == name
            done = fleet.run(name, "sh", "-c", f"echo {name} > /etc/who && "
                             f"sysctl -w net.core.somaxconn=100{fleet.pid[name] % 10}")
            assert done.returncode == 0, done.stderr
        for name in fleet.address:
            assert fleet.run(name, "cat", "/etc/who").stdout.strip() == name
            assert fleet.run(name, "sysctl", "-n", "net.core.somaxconn").stdout \
                .strip() == f"100{fleet.pid[name] % 10}"
    assert not Path("/etc/who").exists()


def test_each_reaches_the_others():
    with hosts(["server", "load1"]) as fleet:
        read = f"head -c 4 < /dev/tcp/{fleet.address['server']}/22"
        done = fleet.run("load1", "bash", "-c", read)
        assert done.stdout == "SSH-", done.stderr


def test_the_inventory_has_the_groups():
    with hosts(["server", "redis", "balancer", "load1", "load2"]) as fleet:
        text = fleet.inventory.read_text()
    for group in GROUPS:
        assert f"[{group}]\n" in text
    folders = [word for word in text.split() if word.startswith("zerohttpd_dir=")]
    assert len(set(folders)) == 5


def test_two_fleets_at_once():
    with hosts(["server"]) as one, hosts(["server"]) as two:
        assert one.bridge != two.bridge
        assert one.address["server"] != two.address["server"]
        assert two.run("server", "true").returncode == 0


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


def test_nothing_remains_after_an_exception():
    with pytest.raises(ZeroDivisionError), hosts(["server"]) as fleet:
        raise ZeroDivisionError
    assert what_remains(fleet) == []


def test_nothing_remains_when_a_host_does_not_start(monkeypatch):
    monkeypatch.setattr("tests.fleet.hosts.SSHD_CONFIG", "NoSuchWord yes\n")
    bridges, make_bridge = [], namespaces.make_bridge

    def remember(undo):
        bridges.append(make_bridge(undo))
        return bridges[-1]

    monkeypatch.setattr("tests.fleet.hosts.make_bridge", remember)
    with pytest.raises(OSError, match="NoSuchWord"), hosts(["server"]):
        pass
    assert of_the_network(bridges[0][0]) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_remains_after_a_signal(number):
    show = 'echo "$INVENTORY"; exec sleep 1000'
    # A shell's background jobs ignore SIGINT, and so would all that this test starts there.
    child = subprocess.Popen(["env", "--default-signal=INT", *PROGRAM, "--names", "server,load1",
                              "--", "sh", "-c", show],
                             stdout=subprocess.PIPE, text=True)
    inventory = Path(child.stdout.readline().strip())
    text = inventory.read_text()
    bridge = "zf" + text.split("ansible_host=")[1].split(".")[2]
    child.send_signal(number)
    assert child.wait(timeout=60) != 0
    assert not inventory.parent.exists()
    assert of_the_network(bridge) == []


def test_no_process_remains_after_sigkill_and_nothing_after_the_next_start():
    """Nothing can be undone then: the kernel ends the hosts, and their network stays."""
    child = subprocess.Popen([*PROGRAM, "--names", "server", "--", "sh", "-c",
                              'echo "$INVENTORY $$"; exec sleep 1000'],
                             stdout=subprocess.PIPE, text=True)
    inventory, command = child.stdout.readline().split()
    bridge = "zf" + Path(inventory).read_text().split("ansible_host=")[1].split(".")[2]
    try:
        assert system("ip", "netns", "pids", f"{bridge}-server")
        child.kill()
        child.wait()
        until = time.monotonic() + 60
        while system("ip", "netns", "pids", f"{bridge}-server"):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert of_the_network(bridge)
        namespaces.remove_left(bridge)
        assert not of_the_network(bridge)
        scratch.sweep(tempfile.gettempdir(), scratch.PREFIX, shutil.rmtree)
        assert not Path(inventory).exists()
    finally:
        os.kill(int(command), signal.SIGKILL)


def test_the_exit_status_is_the_commands():
    done = subprocess.run([*PROGRAM, "--names", "server", "--",
                           "sh", "-c", "exit 7"], check=False)
    assert done.returncode == 7


def test_a_wrong_name_is_refused():
    done = subprocess.run([*PROGRAM, "--names", "sever", "--", "true"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "'sever' is no host of a fleet" in done.stderr
    assert "Traceback" not in done.stderr
