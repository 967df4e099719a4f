"""`make watch-05`: starts a server and watches it, or watches a process."""

import argparse
import asyncio
import contextlib
import curses
import os
import sys
import time

from tools.kit import procfs, scratch
from tools.observe import lab
from tools.observe.watch import plain, proc
from tools.observe.watch.app import Board, Watch
from tools.observe.watch.sampler import Sampler


class Started:
    """One of the seven with a private Redis: a context manager. `redis`, `server`: of lab. As our
    child, the server lets us see its system calls even where Yama's ptrace_scope is 1."""

    def __init__(self, folder, options=()):
        with contextlib.ExitStack() as stack:
            root = stack.enter_context(scratch.folder("site"))
            self.redis = stack.enter_context(lab.Redis())
            self.server = stack.enter_context(lab.start(
                folder, self.redis.port, "--root", lab.site(root), "--compute", *options))
            self._stack = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.redis.frozen:
            self.redis.freeze()
        self._stack.close()


# Watching must not slow down what is watched: where the server needs all CPUs,
# we get little, and draw fewer frames.
NICE = 19
AUTOGROUP = "/proc/self/autogroup"


@contextlib.contextmanager
def aside(pid):
    """Let a process and its descendants go first. We leave their CPUs if there are others. nice(2)
    counts only among the processes of a session where the kernel shares CPUs among sessions
    (CONFIG_SCHED_AUTOGROUP), so the session is made nice too, until the end."""
    os.nice(NICE)
    theirs = set()
    for one in procfs.tree(pid):
        with contextlib.suppress(OSError):
            theirs |= os.sched_getaffinity(one.pid)
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, own - theirs or own)
    before = procfs.read(AUTOGROUP).rpartition(" ")[2].strip()
    shared = os.getsid(0) != os.getsid(pid) and before
    if shared:
        _set_autogroup(str(max(NICE, int(before))))
    try:
        yield
    finally:
        if shared:
            _set_autogroup(before)


def _set_autogroup(nice):
    """Write our session's nice value; where that is refused, the server pays a little more."""
    for _ in range(2):
        try:
            with open(AUTOGROUP, "w", encoding="ascii") as file:
                file.write(nice)
            return
        except BlockingIOError:     # ten times a second, for all users
            time.sleep(0.2)
        except OSError:
            return


def main(words):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.observe watch", description=__doc__)
    parser.add_argument("what", help="a process id, the name of a process "
                        "that runs, or one of the seven, which is started: 05, prethreaded")
    parser.add_argument("--redis", type=int, action="append", default=[],
                        metavar="PORT", help="where its Redis listens")
    parser.add_argument("--rate", type=lab.above_zero(int), default=50,
                        help="samples a second (50)")
    parser.add_argument("--seconds", type=lab.above_zero(float), default=float("inf"),
                        help="without a terminal: how long")
    parser.epilog = "Options after -- are for the server that is started."
    own = words.index("--") if "--" in words else len(words)
    chosen = parser.parse_args(words[:own])
    with contextlib.ExitStack() as stack:
        started = None
        if chosen.what.isdigit() and len(chosen.what) > 2:
            pid, title = int(chosen.what), chosen.what
        else:
            started, pid, title = _by_name(stack, chosen.what, words[own + 1:])
        if not procfs.threads(pid):
            raise lab.LabError(f"there is no process {pid}")
        stack.enter_context(aside(pid))     # it has started already
        redis = [*chosen.redis, *([started.redis.port] if started else [])]
        sampler = stack.enter_context(Sampler(
            pid, title if started else f"{procfs.read(f'/proc/{pid}/comm').strip()} {pid}", redis,
            chosen.rate))
        if not sys.stdout.isatty():
            return print_lines(sampler, chosen.seconds)
        watch = Watch(sampler, started)
        watch.end_on_signals()
        try:
            curses.wrapper(lambda screen: asyncio.run(watch.run(Board(screen))))
        except curses.error as error:
            raise lab.LabError(f"this terminal shows no live view ({error}); set "
                               "TERM, or add |cat for a line a second") from error
        return 0


def _by_name(stack, name, options):
    """Return (Started or None, pid, title) of what a name stands for."""
    try:
        folder = lab.folder_of(name)
    except lab.LabError:
        return None, proc.find(name), name
    started = stack.enter_context(Started(folder, options))
    host, port = started.server.address
    return started, started.server.pid, f"{folder.replace('_', ' ')}   http://{host}:{port}/"


def print_lines(sampler, seconds):
    """Print a line a second until the process ends; return 0."""
    cpu, end = plain.Cpu(), time.monotonic() + seconds
    noted = False
    while time.monotonic() < end:
        frame = sampler.frame()
        if not frame.rows:
            print(f"{sampler.title} has ended")
            break
        for note in [] if noted else frame.notes:
            print(note)
            noted = True
        print(plain.line(frame, cpu.update(frame)), flush=True)
        time.sleep(min(1, max(0, end - time.monotonic())))
    return 0
