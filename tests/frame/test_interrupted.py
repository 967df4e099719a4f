"""A run of suites that is interrupted leaves no process and no folder, and lets each suite remove
what a killed process would leave behind: namespaces, control groups."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.processes import end, spawn, wait_for
from tests.support.servers import TOP
from tools.kit import procfs

# Runs the suites of the table in argv[2] below the folder argv[1], and prints "ended".
RUN = """
import os, pathlib, signal, sys
from scripts import check, counts
from tools.kit import process
counts.LOGS = pathlib.Path(sys.argv[1])
check.UNDO = float(sys.argv[3])
process.end_on_signals()
process.adopt_orphans()
end_the_rest = check.end_the_rest
def impatient():
    os.kill(os.getpid(), signal.SIGINT)     # the second Ctrl-C
    end_the_rest()
check.end_the_rest = impatient
try:
    with check.temporary():
        check.Run({"one": {"about": "a suite of this test", "needs": [], **eval(sys.argv[2])}},
                  ["make"]).all()
except KeyboardInterrupt:
    print("ended")
"""
# Two tests, each in a worker of its own.
HELD = """
import pathlib, pytest, tempfile, time
@pytest.fixture(params=[0, 1])
def held(request):
    folder = pathlib.Path(__file__).with_name(f"held-{request.param}")
    folder.mkdir()
    tempfile.mkdtemp()
    yield folder
    folder.rmdir()
def test_waits(held):
    held.with_name("has-" + held.name).touch()
    while True:
        time.sleep(0.1)
"""
# A suite, and a process in a session of its own; only SIGKILL ends them.
DEAF = """trap '' HUP INT TERM; mkdir "$TMPDIR/left"
setsid sh -c 'echo $$ >"$TMPDIR/left/pid"; sleep 1000; sleep 1000' & sleep 1000; sleep 1000"""


@pytest.fixture
def start(tmp_path):
    """start(suite, undo) starts a run of a suite, which has `undo` seconds; returns its Popen."""
    started = []
    (tmp_path / "tmp").mkdir()
    (tmp_path / "logs").mkdir()

    def run(suite, undo):
        started.append(spawn([sys.executable, "-c", RUN, tmp_path / "logs", repr(suite), str(undo)],
                             cwd=TOP, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
                             stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for one in started:
        one.stdout.close()
        end(one)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_fixtures_undo_what_they_did(start, tmp_path, number):
    """In each worker, while the test runs."""
    (tmp_path / "test_held.py").write_text(HELD)
    run = start({"pytest": str(tmp_path), "workers": 2}, 60)
    wait_for(lambda: len(list(tmp_path.glob("has-held-*"))) == 2, "both tests")
    assert len(list(tmp_path.glob("held-*"))) == 2
    run.send_signal(number)
    assert run.stdout.read().endswith("ended\n")
    assert not list(tmp_path.glob("held-*"))
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_does_not_end_is_killed_and_its_folders_removed(start, tmp_path, number):
    (tmp_path / "deaf").write_text(DEAF)
    run = start({"run": [f"sh {tmp_path}/deaf"]}, 0)
    pid = int(wait_for(lambda: "".join(path.read_text() for path in tmp_path.glob(
        "tmp/zerohttpd.*/left/pid")), "the process of another session"))
    run.send_signal(number)
    assert run.stdout.read().endswith("ended\n")
    assert procfs.state(pid) in ("", "X", "Z")
    assert not list((tmp_path / "tmp").iterdir())


# scripts/guardian.c

# Removes its folder $1 when it is asked to end, $2 seconds later.
SLOW = """trap 'sleep "$2"; rmdir "$1"; exit 0' TERM; mkdir "$1"; while :; do sleep 0.1; done"""
# What makes a line of /proc/loadavg that of a crowded machine, or of a quiet one.
QUIET = {"load": "0.00", "running": "1"}
CROWDED_NOW = {**QUIET, "running": "99999"}
CROWDED_BEFORE = {**QUIET, "load": "99999.00"}


def write_load(path, load, running):
    """Write what /proc/loadavg says, with another load of the last minute and other programs that
    run. A crowd of our own would not do: loops that wait for a quota are not counted."""
    _, *others, programs, last = Path("/proc/loadavg").read_text().split()
    every = programs.partition("/")[2]
    new = path.with_suffix(".new")      # so that the guardian never reads half of it
    new.write_text(" ".join([load, *others, f"{running}/{every}", last]) + "\n")
    new.rename(path)


@pytest.fixture
def guard(tmp_path):
    """guard(*words) runs a command under a guardian that reads tmp_path/"loadavg"; returns its
    Popen."""
    started = []
    subprocess.run([*shlex.split(os.environ.get("CC", "gcc")), "-std=c11",
                    f'-DLOADAVG="{tmp_path}/loadavg"', "-o", tmp_path / "guardian",
                    TOP / "scripts/guardian.c"], check=True)

    def run(*words):
        started.append(spawn([tmp_path / "guardian", str(os.getpid()), *words]))
        return started[-1]

    yield run
    for one in started:
        end(one)


def test_on_a_crowded_machine_a_command_has_longer_to_end(guard, tmp_path):
    folder = tmp_path / "folder"
    write_load(tmp_path / "loadavg", **CROWDED_NOW)
    run = guard("sh", "-c", SLOW, "sh", folder, "4")    # 3 s if the machine is quiet
    wait_for(folder.exists, "the command")
    run.terminate()
    assert run.wait(300) == 0 and not folder.exists()


def test_what_a_command_leaves_is_asked_first_when_the_crowd_goes(guard, tmp_path):
    folder = tmp_path / "folder"
    write_load(tmp_path / "loadavg", **CROWDED_BEFORE)
    run = guard("sh", "-c", f"({SLOW}) &", "sh", folder, "1")
    wait_for(folder.exists, "what is left behind")
    time.sleep(2)       # on a quiet machine the SIGKILL comes after 1.5 s, here the SIGTERM after 5
    write_load(tmp_path / "loadavg", **QUIET)
    assert run.wait(300) == 0 and not folder.exists()
