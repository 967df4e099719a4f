"""The CPU meter sees what threads and children used that have ended."""

import subprocess
import sys

import pytest

from bench.meter import cpu as meter
from bench.meter import procfs

# Waits to be told, then burns CPU time in many threads and children that end,
# prints how much it was, and waits again. Each measures its own time.
BURN = r"""
import os, sys, threading, time

def burn(seconds):
    while time.thread_time() < seconds:
        pass
    return time.thread_time()

used = []
print("ready", flush=True)
sys.stdin.readline()
before = time.thread_time()
for _ in range(40):
    thread = threading.Thread(target=lambda: used.append(burn(0.004)))
    thread.start()
    thread.join()
for _ in range(40):
    come, go = os.pipe()
    if os.fork() == 0:
        own = time.thread_time()
        os.write(go, b"%f" % (burn(own + 0.004) - own))
        os._exit(0)
    used.append(float(os.read(come, 99)))
    os.wait()
print(sum(used) + time.thread_time() - before, flush=True)
sys.stdin.readline()
"""


def burn(kinds):
    """Return (way, Cpu by the meter, seconds by the program itself)."""
    with subprocess.Popen([sys.executable, "-c", BURN], text=True,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        opened = meter.open_meter(process.pid, kinds)
        try:
            before = opened.read()
            process.stdin.write("go\n")
            process.stdin.flush()
            known = float(process.stdout.readline())
            used = opened.read() - before
        finally:
            opened.close()
        process.stdin.close()
    return opened, used, known


@pytest.mark.parametrize("kind", [meter.GroupV2, meter.GroupV1])
def test_group_counts_what_has_ended(kind):
    """Not less than threads and children measured themselves, and more only
    by what starting and ending them costs."""
    opened, used, known = burn([kind])
    if opened.way != kind.way:
        pytest.skip(f"no group of {kind.way} can be made here")
    assert known > 0.32
    assert 0.995 * known < used.total < 1.25 * known + 0.05
    # The kernel splits the total by what each clock tick interrupts, a sample.
    assert used.user + used.system == pytest.approx(used.total, rel=0.7)
    assert not opened.folder.exists()


def test_proc_is_the_last_resort():
    """It counts in ticks: less exactly, but without rights."""
    opened, used, known = burn([])
    assert opened.way == "/proc"
    assert used.total == pytest.approx(known, rel=0.5)


def test_group_that_cannot_be_made(monkeypatch, tmp_path):
    """No such hierarchy: the next way is taken, and nothing is left over."""
    monkeypatch.setattr(meter, "ROOT", tmp_path / "nowhere")
    assert meter.open_meter(1).way == "/proc"
    monkeypatch.setattr(meter, "ROOT", tmp_path)
    monkeypatch.setattr(meter, "_own_group", lambda root, _: tmp_path)
    assert meter.open_meter(1).way == "/proc"   # files of no group


def test_children_of_the_process_are_moved_too():
    """Workers that were there before."""
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo; read _; kill $!"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        process.stdout.readline()
        opened = meter.open_meter(process.pid)
        try:
            if opened.way == "/proc":
                pytest.skip("no group can be made here")
            inside = procfs.read(opened.folder / "cgroup.procs").split()
            family = [str(one.pid) for one in procfs.tree(process.pid)]
            assert sorted(inside) == sorted(family) and len(family) == 2
        finally:
            opened.close()
            process.stdin.write("end\n")
            process.stdin.close()
            process.stdout.close()
