"""What threads and children cost that have ended is counted."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.meter import cpu, procfs, switches

COUNT, SLEEPS = 25, 5       # of each, and in each


@pytest.fixture(name="program", scope="module")
def built(tmp_path_factory):
    """The path of data/ended.c, compiled."""
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    path = tmp_path_factory.mktemp("ended") / "ended"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", path,
                    Path(__file__).with_name("data") / "ended.c"], check=True)
    return path


def run(program, how, meter=cpu.of_tree):
    """Run the program. Return what the meters say and what it says itself, as
    (Cpu, switches, CPU seconds, switches)."""
    with subprocess.Popen([program, how, str(COUNT)], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        with meter(process.pid) as opened:
            switched = switches.of_tree(procfs.tree(process.pid))
            before = opened.read()
            print("go", file=process.stdin, flush=True)
            seconds, itself = process.stdout.readline().split()
            procfs.settle(process.pid)
            used = opened.read() - before
            counted = switches.of_tree(procfs.tree(process.pid))
        process.stdin.close()
    return used, counted - switched, float(seconds), int(itself)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("how", ["fork", "thread"])
def test_a_group_counts_what_has_ended(program, how, version):
    """Not less than the clocks of threads and children say, and hardly more:
    their end is the only thing that they cannot measure."""
    try:
        used, _, known, _ = run(
            program, how, lambda pid: contextlib.closing(cpu.Group(pid, version)))
    except OSError as error:
        pytest.skip(f"no group can be made here: {error}")
    assert known >= COUNT * 0.02
    assert known <= used.total <= 1.03 * known


@pytest.mark.parametrize("how", ["fork", "thread"])
def test_proc_counts_in_ticks(program, how):
    """It cuts time off at 10 ms, twice before and after, for the program and
    for its children."""
    used, _, known, _ = run(
        program, how, lambda pid: contextlib.nullcontext(cpu.ProcMeter(pid)))
    assert abs(used.total - known) <= 4 * 0.01 + 0.03 * known


@pytest.mark.parametrize("how", ["fork", "thread"])
def test_switches_of_what_has_ended(program, how):
    """Each sleep is one, and for each of them the program waits once. To stop
    and continue it, and its own wait for a line, take a few more; what ended
    before the measurement takes none."""
    _, counted, _, itself = run(program, how)
    assert itself >= COUNT * (SLEEPS + 1)
    assert itself <= counted <= itself + 20


def test_switches_of_what_is_not_our_child():
    """They are not known, and it is not stopped. The exit status of a child
    that has ended is left to its parent."""
    assert switches.of_tree(procfs.tree(1)) is None
    assert switches.of_tree([]) is None
    with subprocess.Popen(["sh", "-c", "exit 3"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert switches.account(process.pid) is None
        assert process.wait() == 3


def test_group_that_cannot_be_made(monkeypatch, tmp_path):
    """/proc takes its place, and nothing is left over."""
    monkeypatch.setattr(procfs, "read", lambda _, read=procfs.read:
                        "" if _ == "/proc/self/cgroup" else read(_))
    for root in (tmp_path / "nowhere", tmp_path):   # or files of no group
        monkeypatch.setattr(cpu, "ROOT", root)
        with cpu.of_tree(os.getpid()) as meter:
            assert isinstance(meter, cpu.ProcMeter)
    assert not list(tmp_path.glob("**/bench-*"))


def test_children_of_the_process_are_moved_too():
    """Workers that were there before."""
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo; read _; kill $!"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        with cpu.of_tree(process.pid) as opened:
            family = {str(one.pid) for one in procfs.tree(process.pid)}
            inside = family if isinstance(opened, cpu.ProcMeter) else set(
                procfs.read(opened.folder / "cgroup.procs").split())
        process.communicate("end\n")
    assert inside == family and len(family) == 2
