"""A run of suites that is interrupted leaves no process and no folder, and lets each suite remove
what a killed process would leave behind: namespaces, control groups."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import end, spawn, wait_for
from tests.support.servers import TOP
from tools.kit import procfs

# Runs the suite in argv[2], another next to it and one after it. argv[1] is a folder for what they
# write, argv[3] how many seconds a suite has to undo what it did. Prints "ended".
RUN = """
import os, pathlib, signal, sys
from scripts import check, counts
from tools.kit import process
folder = pathlib.Path(sys.argv[1])
counts.LOGS = folder / "logs"
check.UNDO = float(sys.argv[3])
process.adopt_orphans()
end_the_rest = check.end_the_rest
def impatient():
    os.kill(os.getpid(), signal.SIGINT)     # the second Ctrl-C
    end_the_rest()
check.end_the_rest = impatient
def suite(*run, **more):
    return {"about": "a suite of this test", "needs": [], "run": run, **more}
plan = {"one": suite(**eval(sys.argv[2])), "next": suite("sleep 1000", line="busy"),
        "never": suite(f"touch {folder}/never"),
        "alone": suite(f"touch {folder}/never", line="alone")}
with check.temporary():
    run = check.Run(plan, ["make"])
    run.heed_signals()
    run.all()
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
        started.append(spawn([sys.executable, "-c", RUN, tmp_path, repr(suite), str(undo)],
                             cwd=TOP, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
                             stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for one in started:
        one.stdout.close()
        end(one)


def ends_clean(run, number, folder):
    """Interrupt a run, which has to end, start no other suite and leave no temporary folder."""
    run.send_signal(number)
    assert run.stdout.read().endswith("ended\n")
    assert not (folder / "never").exists()
    assert not list((folder / "tmp").iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_fixtures_undo_what_they_did(start, tmp_path, number):
    """In each worker, while the test runs."""
    (tmp_path / "test_held.py").write_text(HELD)
    run = start({"pytest": str(tmp_path), "workers": 2}, 60)
    wait_for(lambda: len(list(tmp_path.glob("has-held-*"))) == 2, "both tests")
    assert len(list(tmp_path.glob("held-*"))) == 2
    ends_clean(run, number, tmp_path)
    assert not list(tmp_path.glob("held-*"))


def test_what_does_not_end_is_killed_and_its_folders_removed(start, tmp_path):
    (tmp_path / "deaf").write_text(DEAF)
    run = start({"run": [f"sh {tmp_path}/deaf"]}, 0)
    pid = int(wait_for(lambda: "".join(path.read_text() for path in tmp_path.glob(
        "tmp/zerohttpd.*/left/pid")), "the process of another session"))
    ends_clean(run, signal.SIGINT, tmp_path)
    assert procfs.state(pid) in ("", "X", "Z")


# Removes its folder $1 when it is asked to end, four seconds later.
SLOW = """trap 'sleep 4; rmdir "$1"; exit 0' TERM; mkdir "$1"; while :; do sleep 0.1; done"""


def test_on_a_crowded_machine_a_command_has_longer_to_end(tmp_path):
    """scripts/guardian.c kills it after three seconds if the machine is quiet. Here it reads of a
    crowd: one of our own would not do, because loops that wait for a quota are not counted."""
    load, *others, programs, last = Path("/proc/loadavg").read_text().split()
    every = programs.partition("/")[2]
    crowded = [load, *others, f"99999/{every}", last]
    (tmp_path / "loadavg").write_text(" ".join(crowded) + "\n")
    subprocess.run([*shlex.split(os.environ.get("CC", "gcc")), "-std=c11",
                    f'-DLOADAVG="{tmp_path}/loadavg"', "-o", tmp_path / "guardian",
                    TOP / "scripts/guardian.c"], check=True)
    folder = tmp_path / "folder"
    run = spawn([tmp_path / "guardian", str(os.getpid()), "sh", "-c", SLOW, "sh", folder])
    try:
        wait_for(folder.exists, "the command")
        run.terminate()
        assert run.wait(300) == 0 and not folder.exists()
    finally:
        end(run)
