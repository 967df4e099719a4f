"""`make watch-05`: starts a server and watches it, or watches a process."""

import argparse
import contextlib
import os
import sys
import tempfile
import time

from bench import venv
from observe import lab
from observe.watch import plain, proc
from observe.watch.sampler import Sampler


class Started:
    """One of the seven with a private Redis: a context manager.

    `redis`, `server`: of lab. As our child, the server lets us see its
    system calls even where Yama's ptrace_scope is 1.
    """

    def __init__(self, folder, options=()):
        self._stack = contextlib.ExitStack()
        with self._stack:
            root = self._stack.enter_context(tempfile.TemporaryDirectory())
            self.redis = self._stack.enter_context(lab.Redis())
            self.server = self._stack.enter_context(lab.start(
                folder, self.redis.port, "--root", lab.site(root), *options))
            self._stack = self._stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.redis.frozen:
            self.redis.freeze()
        self._stack.close()


# Watching must not slow down what is watched: where the server needs all CPUs,
# we get little, and draw fewer frames.
NICE = 12


def main(words):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m observe watch",
                                     description=__doc__)
    parser.add_argument("what", help="a process id, the name of a process "
                        "that runs, or one of the seven, which is started: "
                        "05, prethreaded")
    parser.add_argument("--redis", type=int, action="append", default=[],
                        metavar="PORT", help="where its Redis listens")
    parser.add_argument("--rate", type=int, default=50,
                        help="samples a second (50)")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="without a terminal: how long")
    parser.epilog = "Options after -- are for the server that is started."
    own = words.index("--") if "--" in words else len(words)
    chosen = parser.parse_args(words[:own])
    why = venv.enter() if sys.stdout.isatty() else ""
    if why:
        print(f"No live view, a line a second instead: {why}", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        started = None
        if chosen.what.isdigit() and len(chosen.what) > 2:
            pid, title = int(chosen.what), chosen.what
        else:
            started, pid, title = _by_name(stack, chosen.what,
                                            words[own + 1:])
        os.nice(NICE)               # the server has started already
        if not proc.threads(pid):
            raise lab.LabError(f"there is no process {pid}")
        redis = [*chosen.redis, *([started.redis.port] if started else [])]
        sampler = stack.enter_context(Sampler(
            pid, title if started else
            f"{proc.read(f'/proc/{pid}/comm').strip()} {pid}", redis,
            chosen.rate))
        if not sys.stdout.isatty() or why:
            return print_lines(sampler, chosen.seconds)
        return _show(sampler, started)


def _by_name(stack, name, options):
    """Return (Started or None, pid, title) of what a name stands for."""
    try:
        folder = lab.folder_of(name)
    except lab.LabError:
        return None, proc.find(name), name
    started = stack.enter_context(Started(folder, options))
    host, port = started.server.address
    return started, started.server.pid, \
        f"{folder.replace('_', ' ')}   http://{host}:{port}/"


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


def _show(sampler, started):
    from observe.watch.app import Watch     # not there without build/venv/
    Watch(sampler, started).run()
    return 0
