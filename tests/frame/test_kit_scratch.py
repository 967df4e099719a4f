"""tools/kit/scratch.py: what a killed run has left is removed, and nothing else is.
(test_leaving.py: by the next command of make.)"""

import os
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
        yield Path(folder)


@pytest.fixture
def other(place):
    """(the process of another run, the folder and the file that it has made)"""
    with subprocess.Popen([sys.executable, "-c", RUN], cwd=TOP, text=True,
                          env={**os.environ, "TMPDIR": str(place)}, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as run:
        yield run, *map(Path, run.stdout.readline().split())
        run.kill()


def kill(run):
    """Kill a run and wait for it."""
    run.kill()
    run.wait()


def test_the_next_run_removes_what_a_killed_one_left(other, place):
    """Its own folder is for it alone, and gone after the block."""
    run, folder, file = other
    (folder / "sub").mkdir()
    (folder / "sub/file").touch()
    (folder / "closed").mkdir()
    (folder / "closed/file").touch()
    (folder / "closed").chmod(0o500)
    (folder / "link").symlink_to("/etc")
    kill(run)
    assert folder.exists() and file.exists()
    with scratch.folder("mine") as mine:
        assert [str(path) for path in place.iterdir()] == [mine] and "mine" in mine
        assert os.stat(mine).st_mode & 0o777 == 0o700
    assert not list(place.iterdir())
    assert os.path.exists("/etc/passwd")


def test_what_a_live_run_has_stays(other):
    run, folder, file = other
    with scratch.folder("mine"), scratch.file("log"):
        assert folder.exists() and file.exists() and run.poll() is None


def test_what_is_not_ours_stays(place, monkeypatch):
    """Another user's, other names, and what a link points to."""
    (place / "other").mkdir()
    (place / f"{scratch.PREFIX}link").symlink_to("other")
    with scratch.folder("mine"):
        assert len(list(place.iterdir())) == 3
    (place / f"{scratch.PREFIX}theirs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    scratch.sweep(place, scratch.PREFIX, pytest.fail)


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

    theirs = {folder.name, file.name}
    assert theirs <= set(names())
    kill(run)
    left = names()
    assert not theirs & set(left)
    redis, = {name for name in left if "redis" in name}
    assert left.count(redis) == 2
