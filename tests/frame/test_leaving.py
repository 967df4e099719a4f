"""When make gets a signal to end, or its terminal is closed, or one of them is killed: within five
seconds nothing is left of what it started. When all are killed together, temporary folders
are left, and go with the next start."""

import contextlib
import ctypes
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.servers import TOP
from tools.kit import procfs, wait
from tools.kit.process import free_port

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 300      # seconds for building and starting
SECONDS = 5         # after which nothing may be left; more on a crowded machine
FULL = bool(os.environ.get("FULL"))
# {what: (the words after `make`, how the command line of a process begins that it starts late)}
COMMANDS = {
    "run-03": (["run-03", "ARGS=--port 0 --workers 4"], r"\./preforking --redis"),
    "run-07": (["run-07", "ARGS=--port 0"], r"\./epoll --redis"),
    "run-balanced": (["run-balanced", "N=2", "PORT=PORT"], r"\S*haproxy .*-f"),
    "watch-03": (["watch-03", "ARGS=--workers 4"], r"\S*/preforking .*--root"),
    "compare": (["compare", "EXPERIMENT=answer", "SERVERS=02,07", "OUT=DIR"], "(wrk|ab) "),
    "study": (["study", "NAME=floors", "SERVERS=07", "OUT=DIR"], "(wrk|ab) "),
    "grade": (["grade", "LAB=03", "SUBMISSION=03_preforking"], "/program/preforking"),
    "break-check": (["break-check", "NAME=whole_seconds", "DIR=DIR"], r"/\S*/iterative --"),
    "check": (["check-blackbox", "SERVERS=epoll"], r"\S*/epoll .*--root"),
}
SAMPLE = {("run-07", "hup"), ("run-03", "kill make"), ("watch-03", "hup"),
          ("run-balanced", "kill command"), ("run-balanced", "term"), ("run-03", "kill guardian")}
KILLED = ("run-07", "watch-03")
WAYS = ("hup", "int", "term", "kill make", "kill guardian", "kill command")


def descendants(pid):
    """Return {pid: command line} of all that descend from a process and are no zombies."""
    found = {}
    for child in procfs.children(pid):
        path = f"/proc/{child}"
        if procfs.find(r"^State:\s+(\S)", f"{path}/status") not in ("", "X", "Z"):
            found[child] = procfs.read(f"{path}/cmdline").replace("\0", " ").strip()
        found |= descendants(child)
    return found


@pytest.fixture(autouse=True, scope="module")
def subreaper():
    """Orphans become children of this process, where descendants() finds them."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def be_a_shell(words):
    """Run `make WORDS` in the foreground, as an interactive shell does. Does not return."""
    try:
        os.chdir(TOP)
        if not os.fork():
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)   # tcsetpgrp(3) from the background
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "FULL"):
                os.environ.pop(name, None)
            os.execvp("make", ["make", *words])
        while True:
            signal.pause()          # SIGHUP, when the terminal is closed, ends it
    finally:
        os._exit(1)


class Terminal:
    """A terminal with a shell, and `make WORDS` in its foreground."""

    def __init__(self, words):
        self.text = ""
        self.shell, self.descriptor = pty.fork()
        if not self.shell:
            be_a_shell(words)
        self.make = wait.until(lambda: procfs.children(self.shell), PATIENCE)[0]

    def read(self, seconds):
        """Read what comes within `seconds`."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        with contextlib.suppress(OSError):      # EIO: all have ended
            if ready:
                self.text += os.read(self.descriptor, 65536).decode("utf-8", "replace")
                return
        time.sleep(0.02)

    def read_until_it_works(self, pattern):
        """Read until one of the processes below make has a command line like `pattern`."""
        end = time.monotonic() + PATIENCE
        while not any(re.match(pattern, words) for words in descendants(self.make).values()):
            assert time.monotonic() < end, self.text[-2000:]
            assert descendants(self.shell), self.text[-2000:]
            self.read(0.05)

    def leave(self, how):
        """End it in one of the WAYS."""
        if how == "hup":
            os.close(self.descriptor)
            self.descriptor = -1
        elif how == "int":
            os.write(self.descriptor, b"\x03")
        elif how == "term":
            os.kill(self.make, signal.SIGTERM)
        elif how == "kill make":
            os.kill(self.make, signal.SIGKILL)
        else:
            guardian, = (pid for pid, words in descendants(self.make).items()
                         if words.startswith("build/guardian"))
            os.kill(guardian if how == "kill guardian" else procfs.children(guardian)[0],
                    signal.SIGKILL)


def reap():
    """Wait for our children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@pytest.fixture
def temporary(monkeypatch):
    """A folder for the temporary folders of what we start."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def words_of(what, folder):
    """Return the words after `make` of one of the COMMANDS, which may write into `folder`."""
    if what == "run-balanced" and not shutil.which("haproxy"):
        pytest.skip("HAProxy is not installed")
    words, _ = COMMANDS[what]
    values = {"PORT=PORT": f"PORT={free_port()}", "DIR=DIR": f"DIR={folder}/broken",
              "OUT=DIR": f"OUT={folder}"}
    if "DIR=DIR" in words and not (folder / "broken").exists():
        subprocess.run(["make", "break", words[1], values["DIR=DIR"]], cwd=TOP, check=True)
    return [values.get(word, word) for word in words]


@contextlib.contextmanager
def at_work(what, folder):
    """Start one of the COMMANDS; yields (its Terminal, left). left() waits until all that it
    started have ended, or the time is over, and returns those that have not."""
    before = set(descendants(os.getpid()))
    terminal = Terminal(words_of(what, folder))

    def left():
        crowd = max(1, min(6, os.getloadavg()[0] / os.cpu_count()))
        end = time.monotonic() + SECONDS * crowd
        while (ours := {pid: words for pid, words in descendants(os.getpid()).items()
                        if pid not in {*before, terminal.shell}}) and time.monotonic() < end:
            if terminal.descriptor >= 0:
                terminal.read(0.05)
            reap()
            time.sleep(0.02)
        return ours

    try:
        terminal.read_until_it_works(COMMANDS[what][1])
        yield terminal, left
    finally:
        kill_all(before)
        if terminal.descriptor >= 0:
            os.close(terminal.descriptor)


def kill_all(before):
    """Kill all that descend from us, but those of `before`; return their process ids."""
    killed = set()
    while ours := set(descendants(os.getpid())) - before:
        for pid in ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= ours
        reap()
    reap()
    return killed


def groups_of(pids):
    """Return the control groups of graders with these process ids."""
    return [path for path in Path("/sys/fs/cgroup").glob("**/zerohttpd-grade-*")
            if int(path.name.split("-")[2]) in pids]


@pytest.mark.parametrize("what, how", [
    pytest.param(what, how, id=f"{what}-{how}") for what in COMMANDS for how in WAYS
    if FULL or (what, how) in SAMPLE])
def test_nothing_is_left(what, how, tmp_path, temporary):
    with at_work(what, tmp_path) as (terminal, left):
        pids = set(descendants(terminal.make))
        terminal.leave(how)
        assert not (ours := left()), f"{ours}\n{terminal.text[-1000:]}"
        if not how.startswith("kill"):
            assert not groups_of(pids)
            assert not (folders := list(temporary.glob("zerohttpd*"))), folders


@pytest.mark.parametrize("what", COMMANDS if FULL else KILLED)
def test_the_next_start_removes_what_was_left_when_all_were_killed(what, tmp_path, temporary):
    before = set(descendants(os.getpid()))
    with at_work(what, tmp_path):
        killed = kill_all(before)
    first = set(temporary.glob("zerohttpd*"))
    assert first, "nothing that could be removed"
    with at_work(what, tmp_path) as (terminal, left):
        assert not (first & set(temporary.iterdir()))
        assert not groups_of(killed)
        terminal.leave("term")
        assert not left()
    assert not (folders := list(temporary.glob("zerohttpd*"))), folders
