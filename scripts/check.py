#!/usr/bin/python3
"""Run the test suites and count: what `make check` does.

    scripts/check.py                 every suite of `make check`
    scripts/check.py unit blackbox   these suites, and the builds they need
    scripts/check.py --list          their names

tests/suites.toml says what a suite is. First come the builds. Then the suites run in two
lines next to each other: those that mostly wait, and those that keep a core busy. Those
that measure come last, alone.

The first line says how long it will take, and then one line how far it has come. A suite's
output goes to build/check/NAME.log; a failed suite shows the end of its log. The last line
says `N passed, N failed`, and the exit status is 0 only when nothing failed. A suite that
crashes, hangs or counts nothing has failed.

scripts/packages.txt says what each suite needs, and of the programs there, a suite finds no
others on its PATH. A suite that needs a program which is missing is left out. The summary
names it and what is missing; the sum does not count it. With CI=true it has failed.

On Ctrl-C, SIGTERM and SIGHUP, each suite that runs gets SIGINT, as a command in the foreground
of a terminal does, and undoes what it did; a suite that does not end is killed. The TMPDIR of all
suites is a folder that the run makes, and removes at its end.

Environment:
    SERVERS=epoll,poll   runs these servers only, in full
    FULL=1               runs every case on every server, instead of a sample, takes
                         longer over what searches, and adds suites that take minutes
    ARGS='-k guestbook'  passes these words to pytest
    WITHOUT='browser'    leaves these suites out, and with CI=true too
    WORKERS=4            runs this many tests of a suite at a time
"""

import argparse
import contextlib
import os
import re
import shlex
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
# tools.kit also finds the programs that are unpacked below build/deps/.
# pylint: disable=wrong-import-position
from scripts import counts, own_path, suites      # noqa: E402
from scripts.counts import Count        # noqa: E402
from scripts.suites import OURS, SETTING, TOP        # noqa: E402
from tools.kit import process, procfs, progress, scratch, wait     # noqa: E402

SILENT_LIMIT = 2400     # seconds without a line of a suite, which is ended then
LOOK = 0.2              # seconds between two looks at a suite
UNDO = 1.5              # seconds for a suite to undo what it did; half of what guardian.c gives us
PATIENCE = 10           # seconds until killed processes are gone, at most
SANITIZER_OPTIONS = {               # beyond their defaults; a test may set its own
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1", "TSAN_OPTIONS": "second_deadlock_stack=1"}


class Run:
    """A run of {name: suite}. `results`: {name: (Count, seconds, CPU seconds)}; `stop` is true when
    the user has interrupted it."""

    def __init__(self, plan, make, own=()):
        self.plan, self.make, self.own = plan, make, dict(own)
        self.lines = {kind: [name for name, suite in plan.items() if kind == (
            "build" if suites.is_build(name) else suite.get("line", "waits"))]
            for kind in ("build", "waits", "busy", "alone")}
        self.results, self.began = {}, {}
        self.stop, self.lock = False, threading.Lock()
        self.shown = progress.Line(self.left())

    def heed_signals(self):
        """From now on, Ctrl-C, SIGTERM and SIGHUP end the suites, however often they come, and
        nothing else: what follows is not cut short."""
        def heed(*_):
            self.stop = True

        for number in process.ENDING:
            signal.signal(number, heed)

    def left(self):
        """Return how many seconds are left when nothing else runs on this machine."""
        now = time.monotonic()

        def of(name):
            planned = suites.seconds(self.plan[name])       # one that is late has a little left
            return max(planned / 20, planned - (now - self.began.get(name, now)))

        line = {kind: sum(of(name) for name in names if name not in self.results)
                for kind, names in self.lines.items()}
        return line["build"] + max(line["waits"], line["busy"]) + line["alone"]

    def announce(self):
        """Say how long it will take."""
        minutes, load = self.left() / 60, os.getloadavg()[0]
        print(f"{len(self.plan)} suites and builds: about "
              + (f"{minutes:.0f} minutes" if minutes > 1.5 else f"{60 * minutes:.0f} s")
              + f" on {suites.CORES} core{'s' if suites.CORES > 1 else ''}"
              + (", and more with FULL=1" if suites.FULL else "")
              + (f"; longer, because other programs use the machine (load {load:.0f})"
                 if suites.crowd() > 1 else ""), flush=True)

    def look(self):
        """Show how far it has come."""
        with self.lock:
            running = [name for name in list(self.began) if name not in self.results]
            self.shown.show(self.left(), ", ".join(running))

    def say(self, *lines):
        """Print lines above the one that changes."""
        with self.lock:
            self.shown.clear()
            print(*lines, sep="\n", flush=True)

    def call(self, command, log):
        """Run a command, and end what it has started; return its process.Exit. Raises OSError when
        there is no such program, or it was ended: it hangs, or the user has interrupted us."""
        log.write(f"$ {shlex.join(command)}\n".encode())
        child = process.spawn(command, os.sched_getaffinity(0), log, TOP)
        size, since = 0, time.monotonic()
        try:
            while not (ended := process.wait(child, LOOK)):
                process.reap_orphans()
                self.look()
                if self.stop:
                    raise InterruptedError("interrupted")
                before, size = size, os.fstat(log.fileno()).st_size
                since = time.monotonic() if size > before else since
                if time.monotonic() - since > SILENT_LIMIT:
                    raise TimeoutError(f"printed nothing for {SILENT_LIMIT} s and was ended")
            return ended
        finally:
            end(child)

    def suite(self, name):
        """Run a suite; return its Count, the CPU seconds of its commands, and why it was ended,
        "" if it was not."""
        suite, found, cpu, path = self.plan[name], [], 0.0, counts.LOGS / f"{name}.log"
        first = ["env", *self.own[name]] if name in self.own else []
        if suite.get("line") == "busy":
            first.append("nice")
        with open(path, "wb", buffering=0) as log:
            try:
                for words in suites.commands(suite, self.make):
                    begin = os.fstat(log.fileno()).st_size
                    ended = self.call(first + words, log)
                    status, cpu = ended.code, cpu + ended.cpu
                    if "make" in suite:
                        found = [Count(int(status == 0), int(status != 0))]
                        if status:
                            break
                    else:
                        text = path.read_bytes()[begin:].decode(errors="replace")
                        found.append(counts.judge(counts.count(text), status))
                return counts.judge(counts.total(found), 0), cpu, ""
            except OSError as error:
                return counts.total([*found, Count(0, 1)]), cpu, str(error)

    def line(self, kind):
        """Run the suites of a line. On a terminal only what failed is said."""
        for name in self.lines[kind]:
            if self.stop:
                return
            if not self.shown.terminal:
                self.say(f"{name}: {self.plan[name]['about']}")
            self.began[name] = time.monotonic()
            self.look()
            if any(one in self.results and self.results[one][0].failed
                   for one in suites.builds_of(name, self.plan[name])):
                (counts.LOGS / f"{name}.log").unlink(missing_ok=True)   # of an earlier run
                counted, cpu, why = Count(0, 1), 0, "not run: its build failed"
            else:
                counted, cpu, why = self.suite(name)
            self.results[name] = counted, time.monotonic() - self.began[name], cpu
            if counted.failed or not self.shown.terminal:
                log = counts.log_of(name)[-counts.TAIL:] if counted.failed else []
                self.say(*(f"        | {text}" for text in log),
                         f"        {name}: {counted} ({self.results[name][1]:.1f} s)"
                         + (f": {why}" if why else ""))

    def all(self):
        """Run everything; return the results in the order of the plan."""
        self.line("build")
        with ThreadPoolExecutor() as pool:
            busy = pool.submit(self.line, "busy")
            try:
                self.line("waits")
                busy.result()       # raises what was raised there
            except BaseException:   # for example, the terminal is gone
                self.stop = True
                raise
        self.line("alone")
        self.shown.clear()
        return {name: self.results[name] for name in self.plan if name in self.results}


def prepare(environment):
    """Make `environment` that of the suites."""
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", *OURS):
        environment.pop(name, None)
    environment.update(SANITIZER_OPTIONS)
    # On a crowded machine tests may wait longer for what they wait for.
    environment.setdefault("TEST_DEADLINE", f"{60 * suites.crowd():.0f}")


def below(session=None):
    """Return the ids of the processes that run below us: all, or those in a session."""
    found = []
    for one in procfs.tree(os.getpid())[1:]:
        with contextlib.suppress(ProcessLookupError):
            if one.state not in "ZX" and session in (None, os.getsid(one.pid)):
                found.append(one.pid)
    return found


def end(child):
    """End a command that process.spawn() started, if it still runs, with all of its session. They
    get SIGINT first, so that pytest, its workers and a grader run their fixtures to the end. These
    remove namespaces and control groups, which would outlive a killed process."""
    if not process.wait(child, 0):
        os.killpg(child.pid, signal.SIGINT)
        wait.until(lambda: process.wait(child, 0) and not below(child.pid),
                   UNDO * suites.crowd())
    process.stop(child, seconds=0)


def end_the_rest():
    """Kill the processes that suites have left, and wait until they are gone: none may write into
    a folder that is being removed."""
    def is_gone():
        process.reap_orphans()
        for pid in (rest := below()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return not rest

    wait.until(is_gone, PATIENCE)


@contextlib.contextmanager
def temporary():
    """TMPDIR is a new folder in the block. After it, all processes that still run below us are
    killed, and the folder is removed with all that is in it. Raises OSError."""
    # Its name is short: the path of a Unix socket has at most 107 bytes, and ssh's socket in a
    # folder below takes them all.
    folder = scratch.make("")
    try:
        # Tests that run as another user, or as root of a user namespace, write here, too. pytest
        # names its folder after a user: left in /tmp by another one, it keeps that user out.
        os.chmod(folder, 0o1777)
        os.environ["TMPDIR"] = folder
        yield
    finally:
        end_the_rest()
        scratch.remove(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--make", default="make", help="how make is called")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("words", nargs="*", metavar="SUITE|NAME=VALUE",
                        help="a suite to run, or a variable for make")
    options = parser.parse_args()
    known = suites.read()
    if options.list:
        for name, suite in known.items():
            print(f"{name:<15} {suite['about']}")
        return 0
    names = [word for word in options.words if "=" not in word] or suites.usual(known)
    for name in names:
        if name not in known:
            sys.exit(f"check.py: no suite {name!r}; there are: {' '.join(known)}")
    seven = [path.parent.name.split("_")[1] for path in sorted(TOP.glob("0?_*/main.c"))]
    for name in re.findall(r"[^,\s]+", SETTING["SERVERS"]):
        if name not in (*seven, "all"):
            sys.exit(f"check.py: SERVERS={name}: there are {', '.join(seven)}")

    counts.LOGS.mkdir(parents=True, exist_ok=True)
    process.end_on_signals()
    prepare(os.environ)
    left = suites.left_out(names)
    for name, why in left.items():
        print(f"{name} is left out: {why}", flush=True)
    wanted = {name for name in names if name not in left}
    wanted |= {build for name in wanted for build in suites.builds_of(name, known[name])}
    # Every suite names its own SANITIZE and FLAVOUR.
    variables = [word for word in options.words if "=" in word
                 and word.split("=")[0] not in ("SANITIZE", "FLAVOUR", *OURS)]
    process.adopt_orphans()
    with scratch.folder("path") as folder, temporary():
        run = Run({name: suite for name, suite in known.items() if name in wanted},
                  [options.make, f"-j{suites.CORES}", *variables],
                  own_path.lay(folder, wanted & {*names}, os.environ["PATH"]))
        run.heed_signals()
        run.announce()
        good = counts.report(run.all(), left)
    return 130 if run.stop else int(not good)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:       # before the suites started
        sys.exit(130)
