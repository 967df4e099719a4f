"""tools/kit/scratch.py: what a killed run has left is removed, and nothing else is."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.servers import TOP
from tools.kit import scratch, wait

# Prints the paths that it has made, and waits.
RUN = """
import sys
from tools.kit import scratch
kept = scratch.file("log")
print(scratch.make("folder"), kept.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """A folder for temporary files, and a process that has not looked there yet. Its path is
    short: that of a Unix socket has 107 bytes (unix(7))."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setattr(scratch, "_swept", False)
        monkeypatch.setattr(scratch, "PATIENCE", 0)
        yield Path(folder)


@pytest.fixture
def other(place):
    """(the process of another run, the folder and the file that it has made)"""
    with subprocess.Popen([sys.executable, "-c", RUN], cwd=TOP, text=True,
                          env={**os.environ, "TMPDIR": str(place)}, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as run:
        yield run, *run.stdout.readline().split()
        run.kill()


def kill(run):
    """Kill a run and wait for it."""
    run.send_signal(signal.SIGKILL)
    run.wait()


def test_a_folder_is_ours_alone_and_gone_after_the_block(place):
    with scratch.folder("what") as path:
        assert os.stat(path).st_mode & 0o777 == 0o700
        assert os.path.dirname(path) == str(place) and "what" in path
    assert not list(place.iterdir())


def test_the_next_run_removes_what_a_killed_one_left(other, place):
    run, folder, file = other
    for path in ("sub/file", "closed/file"):
        os.makedirs(os.path.dirname(os.path.join(folder, path)))
        with open(os.path.join(folder, path), "wb"):
            pass
    os.chmod(os.path.join(folder, "closed"), 0o500)
    os.symlink("/etc", os.path.join(folder, "link"))
    kill(run)
    assert os.path.exists(folder) and os.path.exists(file)
    scratch.PATIENCE = 10
    with scratch.folder("mine") as mine:
        assert [str(path) for path in place.iterdir()] == [mine]
    assert os.path.exists("/etc/passwd")


def test_what_a_live_run_has_stays(other, place):
    run, folder, file = other
    with scratch.folder("mine"), scratch.file("log"):
        scratch.sweep(place, scratch.PREFIX, pytest.fail)
        assert os.path.exists(folder) and os.path.exists(file) and run.poll() is None


def test_what_is_not_ours_stays(place, monkeypatch):
    """Another user's, other names, and what a link points to."""
    (place / "other").mkdir()
    (place / f"{scratch.PREFIX}link").symlink_to("other")
    with scratch.folder("mine"):
        assert len(list(place.iterdir())) == 3
    (place / f"{scratch.PREFIX}theirs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    scratch.sweep(place, scratch.PREFIX, pytest.fail)


def test_a_folder_that_another_run_takes_for_left_is_made_again(place, monkeypatch):
    """It sees the folder after mkdtemp(3), and before the lock."""
    made = []

    def mkdtemp(prefix):
        made.append(f"{place}/{prefix}{len(made)}")
        os.mkdir(made[-1])
        if len(made) == 1:
            scratch.sweep(place, scratch.PREFIX, os.rmdir)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    with scratch.folder("mine") as path:
        assert path == made[1] and os.path.isdir(path)


def test_a_private_redis_removes_what_a_killed_run_left(other, place):
    """scripts/with_redis.sh knows the same lock, from both sides."""
    run, folder, file = other
    words = ["scripts/with_redis.sh", sys.executable, "-c",
             "import os, sys; from tools.kit import scratch; before = os.listdir(sys.argv[1]); "
             "scratch.make('mine'); print(*before, *os.listdir(sys.argv[1]))", str(place)]

    def names():
        """Return what is there while that Redis runs: before and after a look of ours."""
        done = subprocess.run(words, cwd=TOP, env={**os.environ, "TMPDIR": str(place)},
                              check=True, stdout=subprocess.PIPE, text=True)
        assert wait.until(lambda: not list(place.glob("*redis*")), 30)
        return done.stdout.split()

    theirs = {os.path.basename(path) for path in (folder, file)}
    assert theirs <= set(names())
    kill(run)
    left = names()
    assert not theirs & set(left)
    redis, = {name for name in left if "redis" in name}
    assert left.count(redis) == 2
