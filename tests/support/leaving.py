"""A terminal in which a command of make is at work, and the ways to leave it."""

import contextlib
import ctypes
import os
import pty
import re
import select
import signal
import time

from tests.support.servers import TOP
from tools.kit import process, procfs, wait

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 300      # seconds for building and starting
SECONDS = 5         # after which nothing may be left
WAYS = ("hup", "int", "term", "kill make", "kill guardian", "kill command")


def seconds():
    """Return after how many seconds nothing may be left: more on a crowded machine."""
    return SECONDS * max(1, min(6, os.getloadavg()[0] / os.cpu_count()))


def descendants(pid):
    """Return {pid: command line} of all that descend from a process and are no zombies."""
    found = {}
    for child in procfs.children(pid):
        path = f"/proc/{child}"
        if procfs.find(r"^State:\s+(\S)", f"{path}/status") not in ("", "X", "Z"):
            found[child] = procfs.read(f"{path}/cmdline").replace("\0", " ").strip()
        found |= descendants(child)
    return found


def descended(but):
    """Return {pid: command line} of all that descend from us, without those of `but`. Looks three
    times before it says that there is none: a process becomes our child when its parent ends,
    and if that happens between our look at us and at the parent, one look misses it."""
    for _ in range(3):
        found = {pid: words for pid, words in descendants(os.getpid()).items() if pid not in but}
        if found:
            return found
        time.sleep(0.01)
    return {}


@contextlib.contextmanager
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
            os.environ.setdefault("TERM", "linux")
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


@contextlib.contextmanager
def at_work(words, pattern):
    """Start `make WORDS`, and wait for a process whose command line begins like `pattern`. Yields
    (its Terminal, left). left() waits until all that it started have ended, or the time is
    over, and returns those that have not."""
    before = set(descendants(os.getpid()))
    terminal = Terminal(words)

    def left():
        end = time.monotonic() + seconds()
        while (ours := descended({*before, terminal.shell})) and time.monotonic() < end:
            if terminal.descriptor >= 0:
                terminal.read(0.05)
            process.reap_orphans()
            time.sleep(0.02)
        return ours

    try:
        terminal.read_until_it_works(pattern)
        yield terminal, left
    finally:
        kill_all(before)
        if terminal.descriptor >= 0:
            os.close(terminal.descriptor)


def kill_all(before):
    """Kill all that descend from us, but those of `before`; return their process ids. Parents
    come first: a shell whose child ended before it would remove its folder."""
    killed = set()
    while ours := descended(before):
        for pid in ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= set(ours)
        process.reap_orphans()
    process.reap_orphans()
    return killed
