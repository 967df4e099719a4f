"""When `make fleet` is ended, or its terminal is closed, or a part of it is killed: within five
seconds nothing is left here, nor on the hosts."""

import re
import subprocess
import time

import pytest

from tests.fleet.hosts import hosts
from tests.support import FULL
from tests.support.leaving import PATIENCE, WAYS, at_work, descendants, seconds, subreaper
from tools.kit import TOP, procfs

pytestmark = pytest.mark.namespaces
# {what: (words, how the command line of a process begins that it starts late)}
COMMANDS = {
    "prepare": (["fleet", "CHECK=1"], r"\S*python\S* \S*ansible-playbook "),
    "measure": (["fleet", "EXPERIMENT=answer", "SERVERS=07", "SECONDS=30"],
                r"\S*python\S* -m tools.bench run --fleet"),
}
SERVICE = r"\S*redis-server "    # what a prepared host keeps
SAMPLE = {("prepare", "term")}


@pytest.fixture(autouse=True, scope="module")
def our_orphans():
    """They are found below this process."""
    with subreaper():
        yield


@pytest.fixture(scope="module", name="fleet")
def fleet_of_three():
    """Hosts for a measurement."""
    with hosts(["server", "redis", "load1"]) as fleet:
        yield fleet


def running(fleet):
    """Return [(host, command line)] of what runs on the hosts, but for the sshd that listens."""
    found = []
    for name, pid in fleet.pid.items():
        todo = procfs.children(pid)
        while todo:
            child = todo.pop()
            todo += procfs.children(child)
            words = procfs.read(f"/proc/{child}/cmdline").replace("\0", " ").strip()
            if words:
                found.append((name, words))
    return found


def changed():
    """Return what is not committed."""
    return subprocess.run(["git", "status", "--porcelain"], cwd=TOP, check=True, text=True,
                          capture_output=True).stdout


@pytest.mark.parametrize("what, how", [
    pytest.param(what, how, id=f"{what}-{how}") for what in COMMANDS for how in WAYS
    if FULL or (what, how) in SAMPLE])
def test_nothing_is_left(what, how, fleet, tmp_path):
    if what == "measure" and changed():
        pytest.skip("a fleet measures what is committed: commit first")
    words, pattern = COMMANDS[what]
    words = [*words, f"INVENTORY={fleet.inventory}", f"OUT={tmp_path}"]
    with at_work(words, pattern) as (terminal, left):
        busy = (r"(\S*/)?(oha|h2load) " if what == "measure"
                else r"/bin/sh -c .*python3|/usr/bin/python3 ")
        end = time.monotonic() + PATIENCE
        while not any(re.match(busy, line) for _, line in running(fleet)):
            assert time.monotonic() < end and descendants(terminal.make), terminal.text[-1000:]
            terminal.read(0.1)
        terminal.leave(how)
        ours = [line for line in left().values() if not re.match(SERVICE, line)]
        assert not ours, f"{ours}\n{terminal.text[-1000:]}"
        end = time.monotonic() + seconds()
        while (more := [one for one in running(fleet) if not re.match(SERVICE, one[1])]):
            assert time.monotonic() < end, more
            time.sleep(0.05)
