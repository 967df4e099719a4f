#!/usr/bin/python3
"""Run the test suites and count: what `make check` does.

    scripts/check.py                 every suite of `make check`
    scripts/check.py unit blackbox   these suites, and the builds they need
    scripts/check.py --list          their names

A suite's output goes to build/check/NAME.log; a failed suite shows the end of
its log. The last line says `N passed, N failed`, and the exit status is 0 only
when nothing failed. A suite that crashes, hangs or counts nothing has failed.

A suite that needs a program which is not installed is left out. The summary names
it and what is missing; the sum does not count it. With CI=true it has failed.
scripts/packages.txt says what each suite needs.

Environment:
    SERVERS=epoll,poll   runs blackbox and faults on these servers only, in full
    FULL=1               runs every case on every server, instead of a sample,
                         fuzzes for 30 s per target instead of 5 s, and adds the
                         suites that take minutes
    ARGS='-k guestbook'  passes these words to pytest
    WITHOUT='browser'    leaves these suites out, and with CI=true too
    WORKERS=4            runs this many tests at a time
"""

import argparse
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, NamedTuple, Optional
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP))

from tools.kit import venv    # noqa: E402

LOGS = TOP / "build" / "check"
# The settings of this script: make and the suites' programs do not see them.
OURS = ("SERVERS", "FULL", "ARGS", "WITHOUT", "WORKERS")
TEST_LIMIT = 300                # seconds for one test
SUITE_LIMIT = 2400              # seconds for a suite
TAIL = 40                       # lines of a failing suite's log that are shown
NAMED = 5                       # its failed tests that the summary names
TEST_WIDTH = 100                # characters of a test's name, and of what it said
CORES = os.cpu_count() or 1
# Tests that run at a time: more than cores, since most of them wait for a server.
WORKERS = str(4 * CORES)
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"
ASAN = "address,undefined"      # the value of SANITIZE= and the folder's name

# What the sanitizers do beyond their defaults. A test may set its own.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "second_deadlock_stack=1",
}


class Suite(NamedTuple):
    """A suite: `run` takes a Runner and returns a Count."""
    name: str
    about: str
    flavour: Optional[str]      # what is built for it
    run: Callable
    beside: bool = False        # uses one core, so it may run alongside the next ones
    rare: bool = False          # only with FULL=1, or when asked for by its name


class Count(NamedTuple):
    """How many tests passed, failed and were skipped."""
    passed: int
    failed: int
    skipped: int = 0

    def __str__(self):
        return (f"{self.passed} passed, {self.failed} failed"
                + (f", {self.skipped} skipped" if self.skipped else ""))


def total(counts):
    """Return the sum of Counts."""
    return Count(*map(sum, zip(Count(0, 0), *counts)))


# ------------------------------------------------------- what a suite reports

def count_junit(path):
    """Return the Count of a JUnit XML file that pytest wrote.

    An error in a fixture is a failure. None if there is no complete file:
    pytest writes it at its end.
    """
    try:
        suites = ElementTree.parse(path).getroot().findall("testsuite")
        tests, failures, errors, skipped = (
            sum(int(suite.get(name)) for suite in suites)
            for name in ("tests", "failures", "errors", "skipped"))
    except (OSError, ElementTree.ParseError, TypeError, ValueError):
        return None
    return Count(tests - failures - errors - skipped, failures + errors, skipped)


def failed_tests(path):
    """Return [(test, the first line of what it said), ...] of a JUnit XML file.

    Empty without a complete file: the suite may not be pytest's.
    """
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
        return [(f"{case.get('classname')}::{case.get('name')}"[:TEST_WIDTH],
                 (wrong.get("message") or "").partition("\n")[0][:TEST_WIDTH])
                for case in cases for wrong in case if wrong.tag in ("failure", "error")]
    except (OSError, ElementTree.ParseError):
        return []


def count_cmocka(text):
    """Return the Count that cmocka's closing lines add up to.

    Every group of tests ends with `[  PASSED  ] 3 test(s).` and, if need be,
    `[  FAILED  ] 1 test(s), listed below:`. None when there is no such line.
    (cmocka's XML would leave the log empty, and a message that quotes any bytes
    makes it invalid.)
    """
    found = {word: [int(n) for n in re.findall(
        rf"^\[\s+{word}\s+\] (\d+) test\(s\)", text, re.MULTILINE)]
        for word in ("PASSED", "FAILED", "SKIPPED")}
    return Count(*map(sum, found.values())) if any(found.values()) else None


def count_plain(text):
    """Return the Count of the last line `N passed, N failed`, or None."""
    found = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.MULTILINE)
    return Count(*map(int, found[-1])) if found else None


def judge(count, status):
    """Return the Count of a program that counted `count` and exited `status`.

    A program that counted nothing, or whose exit status tells of a failure
    that it did not count (a crash, a leak found at exit), failed once more.
    """
    if count is None or count.passed + count.failed + count.skipped == 0:
        return Count(0, 1)
    if status != 0 and count.failed == 0:
        return count._replace(failed=1)
    return count


# ------------------------------------------------------------ running a suite

class Runner:
    """Runs the programs of one suite, with a log and a deadline.

    `stop` is an Event that ends the suite. One that runs alongside another leaves
    it the processor and the terminal: its programs are nice, and show no progress.
    """

    def __init__(self, suite, make=("make",), stop=None, beside=False):
        self.about = suite
        self.make = make
        self.stop = stop or threading.Event()
        self.beside = beside
        self.began = time.monotonic()
        self.log_path = LOGS / f"{suite.name}.log"
        self.log = None         # the log, open while the suite runs
        # The make that called us handed down its own switches.
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL",
                                            *OURS)}

    def suite(self):
        """Run the suite; return its Count and the reason why it was ended, if so."""
        self.log_path.unlink(missing_ok=True)
        self.log_path.with_suffix(".xml").unlink(missing_ok=True)
        # Unbuffered and appending: the programs write to the same file.
        with open(self.log_path, "ab", buffering=0) as self.log:
            try:
                return self.about.run(self), ""
            except KeyboardInterrupt:
                self.stop.set()
                return Count(0, 1), "interrupted"
            except OSError as error:    # TimeoutError is one too
                return Count(0, 1), str(error)

    def program(self, command, env=None):
        """Run a command, wait for it, and return (exit status, its output).

        Its standard output and error go to the log. It gets a session of its own,
        so that everything it started can be ended with it. Raises TimeoutError, and
        KeyboardInterrupt when `stop` is set.
        """
        begin = os.fstat(self.log.fileno()).st_size
        self.note(f"$ {shlex.join(command)}")
        child = subprocess.Popen(
            ["nice", *command] if self.beside else command, cwd=TOP,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**self.environment, **(env or {})})
        try:
            while True:
                try:
                    status = child.wait(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    self.tick()
        finally:
            end_group(child)
        output = self.log_path.read_bytes()[begin:]
        return status, output.decode(errors="replace")

    def note(self, line):
        """Write a line of our own to the log."""
        self.log.write(f"{line}\n".encode())

    def tick(self):
        """Stop a suite whose time is up, or show its progress: once a second."""
        seconds = int(time.monotonic() - self.began)
        if self.stop.is_set():
            raise KeyboardInterrupt
        if seconds >= SUITE_LIMIT:
            raise TimeoutError(f"took more than {SUITE_LIMIT} s and was ended")
        if self.beside:
            return
        doing = " ".join(tail(self.log_path, 1)).strip()
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns - 1
            print("\r" + f"    {seconds:4d} s  {doing}"[:width].ljust(width),
                  end="", flush=True)
        elif seconds % (5 if self.about.name in EXTRA else 60) == 0:
            say(f"    {seconds:4d} s  {doing[:100]}")

    # What suites are made of: each returns a Count.

    def build(self, *arguments):
        """Call make; one thing that passes or fails."""
        status, _ = self.program([*self.make, f"-j{CORES}", *arguments])
        return Count(int(status == 0), int(status != 0))

    def cmocka(self, flavour, emulator=()):
        """Run every program of tests/unit, as built for a flavour."""
        counts = []
        for source in sorted(TOP.glob("tests/unit/test_*.c")):
            program = TOP / "build" / flavour / "tests" / source.stem
            status, text = self.program([*emulator, *fixed_addresses(flavour),
                                         str(program)], SANITIZER_OPTIONS)
            counts.append(judge(count_cmocka(text), status))
            if counts[-1].failed:
                self.note(f"^^^ {source.stem}: {counts[-1]}, exit status {status}")
        return judge(total(counts), 0)

    def pytest(self, folder, *options, flavour="default", workers=WORKERS):
        """Run pytest on a folder; workers=None runs one test at a time."""
        report = self.log_path.with_suffix(".xml")
        command = [*fixed_addresses(flavour), venv.PYTHON, "-m", "pytest", "-v",
                   f"--junit-xml={report}",
                   "-o", f"cache_dir={self.log_path.with_suffix('.cache')}",
                   f"--timeout={TEST_LIMIT}"]
        if workers:
            # A worker that has nothing left takes tests from another: else the long
            # tests of the last file would begin when all others have ended.
            command += ["-n", os.environ.get("WORKERS") or workers, "--dist=worksteal"]
        command += [folder, *options, *shlex.split(os.environ.get("ARGS", ""))]
        status, _ = self.program(command, SANITIZER_OPTIONS)
        return judge(count_junit(report), status)

    def servers(self, folder, marker, flavour="default", servers=None, sample=None,
                more=(), **settings):
        """Run the tests of a folder on the executables of a flavour.

        `servers` are those that the suite is for. `sample` runs each case of the
        protocol on fewer servers (see tests/conftest.py), unless the
        user has chosen the servers or asks for all. `more` are words for pytest.
        """
        options = ["-m", marker, *more]
        if flavour != "default":
            options += ["--bin-dir", f"build/{flavour}/bin"]
        chosen = os.environ.get("SERVERS", "").replace(" ", ",")
        if sample and not chosen and not full():
            options += ["--sample", sample]
        if servers and chosen:
            chosen = ",".join(s for s in chosen.split(",") if s in servers)
        if chosen or servers:
            options += ["--servers", chosen or ",".join(servers)]
        return self.pytest(folder, *options, flavour=flavour, **settings)

    def unit_tests(self, flavour="default"):
        """Build and run every program of tests/unit."""
        built = self.build(*([] if flavour == "default" else
                             [f"SANITIZE={flavour}"]), "unit-tests")
        return built if built.failed else self.cmocka(flavour)

    def world(self):
        """Build the simulated worlds and run them for a fixed number of seeds."""
        out = TOP / "build/default/world"
        counts = []
        for folder, program, worlds in (
                ("tests/world", "drivers", "50000" if full() else "12000"),
                ("tests/world/processes", "processes", "500000" if full() else "50000")):
            counts.append(self.build("-C", folder, f"OUT={out}"))
            if not counts[-1].failed:
                counts.append(self.script(str(out / program), "--worlds", worlds))
        return total(counts)

    def aarch64(self):
        """Build for 64-bit Arm without a warning; run the unit tests in qemu.

        Debian's libraries for Arm go to build/arm64/ first, once.
        """
        root = TOP / "build" / "arm64"
        status, _ = self.program(["scripts/arm64_root.sh", str(root)])
        if status:
            return Count(0, 1)
        libraries = root / "usr/lib/aarch64-linux-gnu"
        self.environment.update(
            PKG_CONFIG_SYSROOT_DIR=str(root),
            PKG_CONFIG_LIBDIR=f"{libraries}/pkgconfig:{root}/usr/share/pkgconfig")
        built = self.build(f"CC=aarch64-linux-gnu-gcc --sysroot={root}",
                           "AR=aarch64-linux-gnu-ar", "FLAVOUR=aarch64", "WERROR=1",
                           "all", "unit-tests")
        qemu = shutil.which("qemu-aarch64-static") or "qemu-aarch64"
        return built if built.failed else total(
            [built, self.cmocka("aarch64", [qemu, "-L", str(root)])])

    def workflows(self):
        """Run actionlint, which Go builds into build/tools/ first, once."""
        tool = TOP / "build" / "tools" / "bin" / "actionlint"
        if not tool.exists():
            self.program(["go", "install", ACTIONLINT], {"GOBIN": str(tool.parent)})
        status, _ = self.program([str(tool), "-verbose"])
        return Count(int(status == 0), int(status != 0))

    def script(self, *command, **environment):
        """Run a script that closes with `N passed, N failed`."""
        status, text = self.program(list(command), environment)
        return judge(count_plain(text), status)


def end_group(child):
    """End what is left of a child and of its process group: politely, then not."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def full():
    """Return whether the user wants every case, not a sample."""
    return os.environ.get("FULL", "") not in ("", "0")


def seeds(most):
    """Return the words that ask for one seed, or with FULL=1 for `most`."""
    return [f"--seeds={most if full() else 1}"]


def in_ci():
    """Return whether a left-out suite has failed."""
    return os.environ.get("CI") in ("1", "true")


def tail(path, lines):
    """Return the last lines of a file, as many as are asked for, without \\n."""
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 400 * lines))
        return file.read().decode(errors="replace").splitlines()[-lines:]


def fixed_addresses(flavour):
    """Return the words to put before a program of a sanitizer build.

    Newer kernels spread addresses wider than older sanitizer runtimes expect.
    setarch switches the spreading off; containers may forbid that.
    """
    command = ["setarch", "-R"]
    allowed = flavour in (ASAN, "thread") and shutil.which("setarch") and \
        not subprocess.call([*command, "true"], stderr=subprocess.DEVNULL)
    return command if allowed else []


# ----------------------------------------------------------------- the suites

THREADED = ["threaded", "prethreaded"]  # for the thread sanitizer
QUICK = ["prethreaded", "epoll"]        # one blocking server, one event loop
BALANCED = ["iterative", "preforking", "epoll"]     # behind a balancer
USUAL = ""                              # all tests, whatever their marker
FIRST = "--timeout=1200"                # where the first test lays out a Debian

# The builds. A suite names its flavour, and that build runs before it, once.
BUILDS = {
    "default": Suite("build", "all programs", None, lambda r: r.build("all")),
    ASAN: Suite("build-asan", "the same, for address and undefined behaviour", None,
                lambda r: r.build(f"SANITIZE={ASAN}", "all")),
    "thread": Suite("build-tsan", "the same, for data races", None,
                    lambda r: r.build("SANITIZE=thread", "all")),
}

# Those that run alongside others stand before the long ones that wait most of the time,
# from blackbox on. Nothing runs alongside clang, the unit tests, world and frame, which
# build.
SUITES = [
    Suite("clang", "a build with clang that must not warn", None, lambda r: r.build(
        "CC=clang", "FLAVOUR=clang", "WERROR=1", "all", "unit-tests")),
    Suite("unit", "the pure modules, with cmocka", "default",
          lambda r: r.unit_tests()),
    Suite("unit-asan", "the same, sanitized", ASAN, lambda r: r.unit_tests(ASAN)),
    Suite("world", "drivers and parents in simulated worlds, whatever a seed decides",
          None, lambda r: r.world()),
    Suite("frame", "this runner, the Makefile, the scripts", "default",
          lambda r: r.pytest("tests/frame")),
    Suite("mutants", "faults planted in the servers: does a world find each?", None,
          lambda r: r.script(sys.executable, "tests/world/mutants.py",
                             *([] if full() else ["--sample", "16"])), True),
    Suite("layering", "what the modules of common/ may call", "default",
          lambda r: r.script(sys.executable, "tests/layering.py",
                             "build/default/common"), True),
    Suite("shape", "sizes of the C, differences between neighbours", None,
          lambda r: r.script(sys.executable, "tests/shape.py"), True),
    Suite("cost", "instructions per request, under callgrind", "default",
          lambda r: r.script(sys.executable, "-m", "tests.cost.instructions"), True),
    Suite("differential", "our parser and others read the same requests", "default",
          lambda r: r.script(venv.PYTHON, "tests/fuzz/differential.py"), True),
    Suite("variants", "each patch of variants/, applied and tested", "default",
          lambda r: r.script(sys.executable, "-m", "tools.variant"), True),
    Suite("docs", "the book: figures, links, commands, pages", "default",
          lambda r: r.pytest("tests/docs", workers=None), True),
    Suite("fuzz", "made-up input, 5 s for each target (FULL=1: 30 s)", "default",
          lambda r: r.script("tests/fuzz/run.sh", TIME="30" if full() else "5",
                             JOBS=str(1 if r.beside else CORES)), True),
    Suite("peers", "other servers do the same work, and floors the same calls", "default",
          lambda r: r.pytest("tests/peers", workers=None), True),
    Suite("balancer", "servers behind HAProxy and nginx, killed and restarted",
          "default", lambda r: r.servers(
              "tests/balancer", USUAL, workers="2", servers=None
              if full() or os.environ.get("SERVERS") else BALANCED), True),
    Suite("browser", "the guestbook in a headless Chromium", "default",
          lambda r: r.servers("tests/browser", "", workers=None), True),
    Suite("blackbox", "every server over real sockets", "default",
          lambda r: r.servers("tests/blackbox", USUAL, sample="protocol")),
    Suite("blackbox-asan", "every server, sanitized", ASAN,
          lambda r: r.servers("tests/blackbox", USUAL, ASAN, sample="shared")),
    Suite("blackbox-tsan", "the threaded servers, for data races", "thread",
          lambda r: r.servers("tests/blackbox", USUAL, "thread", THREADED, "shared")),
    Suite("faults", "every server, with what it depends on failing", "default",
          lambda r: r.servers("tests/faults", USUAL)),
    Suite("shim", "every server, while system calls fail", "default",
          lambda r: r.servers("tests/shim", USUAL, more=seeds(20))),
    Suite("shim-asan", "the same, sanitized", ASAN,
          lambda r: r.servers("tests/shim", "not clock", ASAN,
                              more=seeds(3))),
    Suite("hostile", "honest clients that keep books, among hostile ones", ASAN,
          lambda r: r.script(venv.PYTHON, "-m", "tests.hostile", "--seconds", "20"),
          rare=True),
    Suite("containers", "the image and compose.yaml, built and run", None,
          lambda r: r.pytest("tests/containers", FIRST, workers=None), rare=True),
    Suite("aarch64", "built for 64-bit Arm; unit tests in an emulator", None,
          lambda r: r.aarch64(), rare=True),
    Suite("install", "what a user without root is told on a bare Debian", None,
          lambda r: r.pytest("tests/install", FIRST, workers=None), rare=True),
    Suite("workflows", "actionlint on .github/workflows/", None,
          lambda r: r.workflows(), rare=True),
    Suite("bench", "the measuring programs", "default",
          lambda r: r.pytest("tests/bench")),
    Suite("labs", "starters, solutions, mutants and hostile submissions",
          "default", lambda r: r.pytest("tests/labs", workers="2")),
    Suite("fleet", "hosts in namespaces, prepared over ssh", "default",
          lambda r: r.pytest(
              "tests/fleet", *([] if full() else ["-m", "not slow"]), workers="2")),
    # Two at a time: these tests measure how long things take.
    Suite("observe", "watch, timeline, demo-stuck, predict, the model", "default",
          lambda r: r.pytest("tests/observe", workers="2")),
]

# Suites that `make check` does not run, since others do the same and more.
EXTRA = {
    "quick": Suite(
        "quick", "two servers, without the slow tests", "default",
        lambda r: r.servers("tests/blackbox", "not slow",
                            servers=None if os.environ.get("SERVERS") else QUICK)),
}


def choose(names):
    """Return the suites of these names, or those of `make check` when there is none.

    Raises SystemExit for an unknown name.
    """
    known = {**{suite.name: suite for suite in SUITES}, **EXTRA}
    for name in names:
        if name not in known:
            sys.exit(f"check.py: no suite {name!r}; there are: {' '.join(known)}")
    return [known[name] for name in names] or [
        suite for suite in SUITES if full() or not suite.rare]


def with_builds(suites):
    """Return the suites with each build before the first that needs it."""
    plan = []
    for suite in suites:
        if suite.flavour and BUILDS[suite.flavour] not in plan:
            plan.append(BUILDS[suite.flavour])
        plan.append(suite)
    return plan


# ------------------------------------------------------- what cannot run here

def missing(names):
    """Return {suite: what it lacks} for those of the named suites that lack something.

    scripts/deps.sh knows; what it lacks is a sentence.
    """
    done = subprocess.run([TOP / "scripts/deps.sh", "--missing", *names], check=True,
                          stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHON": sys.executable})
    found = {}
    for line in done.stdout.splitlines():
        name, _, what = line.partition(": ")
        found.setdefault(name, []).append(what)
    return {name: ", ".join(things) for name, things in found.items()}


def left_out(suites):
    """Return {suite: why it cannot run or is not wanted}, in the suites' order.

    Makes the environment of Python packages if one of them needs it.
    """
    unwanted = os.environ.get("WITHOUT", "").replace(",", " ").split()
    names = [suite.name for suite in suites if suite.name not in unwanted]
    found = missing(names)
    if any("build/venv" in what for what in found.values()):
        reason = venv.make()
        found = {name: what + (f"; {reason}" if "build/venv" in what else "")
                 for name, what in missing(names).items()}
    return {suite.name: "WITHOUT names it" if suite.name in unwanted
            else f"needs {found[suite.name]}"
            for suite in suites if suite.name in unwanted or suite.name in found}


# ---------------------------------------------------------- running all of them

def say(*lines):
    """Print lines, in place of the line that shows progress on a terminal."""
    clear = "\r\033[K" if sys.stdout.isatty() else ""
    print(clear + "\n".join(lines), flush=True)


def run_all(plan, make):
    """Run a plan: one suite at a time, and alongside it one of those that use one core.

    Returns [(suite, Count, seconds), ...] and whether the user interrupted it.
    """
    results, beside, stop, numbers = [], [], threading.Event(), itertools.count(1)
    lanes = [0.0, 0.0]          # seconds of the suites in line, and alongside them

    def run(suite, is_beside):
        if stop.is_set():
            return
        say(f"[{next(numbers):2d}/{len(plan)}] {suite.name}: {suite.about}")
        runner, log = Runner(suite, make, stop, is_beside), ()
        if any(s is BUILDS.get(suite.flavour) and c.failed for s, c, _ in results):
            count, why = Count(0, 1), "not run, because its build failed"
        else:
            count, why = runner.suite()
            log = tail(runner.log_path, TAIL) if count.failed else ()
        seconds = time.monotonic() - runner.began
        lanes[is_beside] += seconds
        results.append((suite, count, seconds))
        say(*(f"        | {line}" for line in log),
            f"        {suite.name}: {count} ({seconds:.1f} s)"
            + (f": {why}" if why else ""))

    with ThreadPoolExecutor(max_workers=1) as second:
        try:
            for index, suite in enumerate(plan, 1):
                if suite.beside and not all(later.beside for later in plan[index:]):
                    beside.append(second.submit(run, suite, True))
                else:
                    run(suite, False)
            for future in beside:
                future.result()     # raises what has been raised there
        except KeyboardInterrupt:
            stop.set()
    if beside:
        say(f"{lanes[0]:.0f} s one after the other, alongside them {lanes[1]:.0f} s")
    return sorted(results, key=lambda result: plan.index(result[0])), stop.is_set()


def report(results, left=None):
    """Print the table of what ran and was left out, and the closing line.

    `left` is what left_out() returned. Returns whether all is well: something ran,
    nothing failed and, with CI=true, no suite was left out because a program is missing.
    """
    left = left or {}
    lacking = [name for name, why in left.items() if why.startswith("needs")]
    print("\nSummary")
    for suite, count, seconds in results:
        log = f"   {LOGS.relative_to(TOP)}/{suite.name}.log" if count.failed else ""
        print(f"  {suite.name:<14} {'FAILED' if count.failed else 'ok':<7} "
              f"{count!s:<30} {seconds:6.1f} s{log}")
        # At the end, since a long log is often cut to it.
        if count.failed:
            for test, said in failed_tests(LOGS / f"{suite.name}.xml")[:NAMED]:
                print(f"    {test}\n      {said}")
    for name, why in left.items():
        print(f"  {name:<14} left out: {why}")
    whole = total(count for _, count, _ in results)
    if whole.skipped:
        print(f"  {whole.skipped} skipped: the logs say which")
    if lacking:
        print(f"This was only a part: {len(lacking)} of "
              f"{len(lacking) + sum(s not in BUILDS.values() for s, _, _ in results)} "
              "suites did not run. What they need:\n"
              f"  NO_INSTALL=1 scripts/deps.sh {' '.join(lacking)}")
    if lacking and in_ci():
        print("With CI=true, each of them has failed.")
        whole = whole._replace(failed=whole.failed + len(lacking))
    print(f"{whole.passed} passed, {whole.failed} failed", flush=True)
    return whole.passed > 0 and whole.failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--make", default="make", help="how make is called")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("words", nargs="*", metavar="SUITE|NAME=VALUE",
                        help="a suite to run, or a variable for make")
    options = parser.parse_args()
    if options.list:
        for suite in [*SUITES, *EXTRA.values()]:
            print(f"{suite.name:<14} {suite.about}")
        return 0

    # Every suite names its own SANITIZE and FLAVOUR.
    ours = ("SANITIZE", "FLAVOUR", *OURS)
    variables = [word for word in options.words if "=" in word
                 and word.split("=")[0] not in ours]
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    suites = choose([word for word in options.words if "=" not in word])
    left = left_out(suites)
    for name, why in left.items():
        say(f"{name} is left out: {why}")
    results, interrupted = run_all(
        with_builds(suite for suite in suites if suite.name not in left),
        [options.make, *variables])
    good = report(results, left)
    return 130 if interrupted else int(not good)


if __name__ == "__main__":
    sys.exit(main())
