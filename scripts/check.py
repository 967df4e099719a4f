#!/usr/bin/python3
"""Run the test suites and count: what `make check` does.

    scripts/check.py                 every suite of `make check`
    scripts/check.py unit blackbox   these suites, and the builds they need
    scripts/check.py --list          their names

A suite's output goes to build/check/NAME.log; a failed suite shows the end of
its log. The last line says `N passed, N failed`, and the exit status is 0 only
when nothing failed. A suite that crashes, hangs or counts nothing has failed.

Environment:
    SERVERS=epoll,poll   runs blackbox and faults on these servers only, in full
    FULL=1               runs every case on every server, instead of a sample,
                         and fuzzes for 30 s per target instead of 10 s
    ARGS='-k guestbook'  passes these words to pytest
    WORKERS=4            runs this many tests at a time
    RETRIES=1            gives a few failed tests of a suite a second attempt,
                         one at a time; CI=true does the same. Without it, a flaky
                         test fails.
"""

import argparse
import collections
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LOGS = TOP / "build" / "check"
FEW = 5                         # failed tests that RETRIES=1 runs again
# What is ours in the environment: make and the suites' programs do not see it.
OURS = ("SERVERS", "FULL", "ARGS", "WORKERS", "RETRIES")
TAIL = 40                       # lines of a failing suite's log that are shown
# How many tests run at a time. Tests over sockets mostly wait, so there are more of
# them than cores.
WAITING = str(4 * (os.cpu_count() or 1))
ASAN = "address,undefined"      # the value of SANITIZE= and the folder's name

# What the sanitizers do beyond their defaults. A test may set its own.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "second_deadlock_stack=1",
}

# flavour: the folder below build/ that the suite uses and that is built first.
# limit: seconds after which the suite counts as hung.
Suite = collections.namedtuple("Suite", "name about flavour limit run")
# again: how many of those that passed did so only at the second attempt.
Count = collections.namedtuple("Count", "passed failed skipped again",
                               defaults=(0,))


# ------------------------------------------------------- what a suite prints

def count_pytest(text):
    """Return the Count of pytest's closing line, or None without one.

    The line reads `=== 2 failed, 10 passed, 1 skipped in 3.21s ===`, with -q
    without the frame; an error in a fixture is a failure here.
    """
    closing = re.findall(
        r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s(?: \([\d:]+\))?\s*=*$",
        text, re.MULTILINE)
    if not closing:
        return None
    words = {word.rstrip("s"): int(number) for number, word in
             re.findall(r"(\d+) ([a-z]+)", closing[-1])}
    return Count(words.get("passed", 0) + words.get("xfailed", 0),
                 words.get("failed", 0) + words.get("error", 0)
                 + words.get("xpassed", 0), words.get("skipped", 0))


def count_cmocka(text):
    """Return the Count that cmocka's closing lines add up to.

    Every group of tests ends with `[  PASSED  ] 3 test(s).` and, if need be,
    `[  FAILED  ] 1 test(s), listed below:`. None when there is no such line.
    """
    found = {word: [int(n) for n in re.findall(
        rf"^\[\s+{word}\s+\] (\d+) test\(s\)", text, re.MULTILINE)]
        for word in ("PASSED", "FAILED", "SKIPPED")}
    if not any(found.values()):
        return None
    return Count(*(sum(numbers) for numbers in found.values()))


def count_plain(text):
    """Return the Count of a last line `N passed, N failed`, or None."""
    found = re.findall(r"(\d+) passed, (\d+) failed$", text, re.MULTILINE)
    return Count(int(found[-1][0]), int(found[-1][1]), 0) if found else None


def judge(count, status):
    """Return the Count of a program that counted `count` and exited `status`.

    A program that counted nothing, or whose exit status tells of a failure
    that it did not count (a crash, a leak found at exit), failed once more.
    """
    if count is None or count.passed + count.failed + count.skipped == 0:
        return Count(0, 1, 0)
    if status != 0 and count.failed == 0:
        return count._replace(failed=1)
    return count


def add_attempts(first, second):
    """Return the Count of a suite whose failed tests were run `second`."""
    return Count(first.passed + second.passed, second.failed, first.skipped,
                 second.passed)


# ------------------------------------------------------------ running a suite

class Hung(Exception):
    """A suite reached its time limit and was ended."""


class Runner:
    """Runs programs one after the other, each with its log and its deadline."""

    def __init__(self, make, overrides):
        self.make = make
        self.overrides = overrides
        self.child = None
        self.log = None         # the open log of the suite that runs now
        self.began = self.deadline = 0.0
        self.interval = 60      # seconds between two lines of progress
        # The make that called us handed down its own switches.
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL",
                                            *OURS)}

    def program(self, command, env=None):
        """Run a command, wait for it, and return (exit status, its output).

        Its standard output and error go to the log. It gets a session of its
        own, so that all it started can be ended with it. Raises Hung.
        """
        begin = os.fstat(self.log.fileno()).st_size
        self.note(f"$ {shlex.join(command)}")
        self.child = subprocess.Popen(
            command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**self.environment, **(env or {})})
        try:
            while True:
                try:
                    status = self.child.wait(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    if time.monotonic() > self.deadline:
                        raise Hung(shlex.join(command)) from None
                    self.tick()
        finally:
            self.end_child()
        output = Path(self.log.name).read_bytes()[begin:]
        return status, output.decode(errors="replace")

    def note(self, line):
        """Write a line of our own to the log."""
        self.log.write(f"{line}\n".encode())

    def end_child(self):
        """End what is left of the program: politely, then not."""
        if self.child.poll() is None:
            self.signal_child(signal.SIGTERM)
            try:
                self.child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                pass
        self.signal_child(signal.SIGKILL)
        self.child.wait()

    def signal_child(self, number):
        """Send a signal to the program's whole process group, if it is there."""
        try:
            os.killpg(self.child.pid, number)
        except ProcessLookupError:
            pass

    # What suites are made of: each returns a Count.

    def build(self, *arguments):
        """Call make; one thing that passes or fails."""
        jobs = os.cpu_count() or 1
        status, _ = self.program([self.make, f"-j{jobs}", *self.overrides,
                                  *arguments])
        return Count(int(status == 0), int(status != 0), 0)

    def cmocka(self, flavour):
        """Run every program of tests/unit."""
        total = Count(0, 0, 0)
        for source in sorted(TOP.glob("tests/unit/test_*.c")):
            program = TOP / "build" / flavour / "tests" / source.stem
            status, text = self.program([*fixed_addresses(flavour),
                                         str(program)], SANITIZER_OPTIONS)
            count = judge(count_cmocka(text), status)
            if count.failed:
                self.note(f"^^^ {source.stem}: {count.failed} failed, "
                          f"exit status {status}")
            total = Count(*map(sum, zip(total, count)))
        return judge(total, 0)

    def pytest(self, folder, *options, flavour="default", workers="auto"):
        """Run pytest on a folder; workers=None runs one test at a time."""
        parallel = ["-n", os.environ.get("WORKERS", workers)] if workers else []
        # Where pytest notes which tests failed.
        notes = Path(self.log.name).with_suffix(".cache")
        shutil.rmtree(notes, ignore_errors=True)
        command = [*fixed_addresses(flavour), sys.executable, "-m", "pytest",
                   "-v", "-o", f"cache_dir={notes}", folder, *options,
                   *shlex.split(os.environ.get("ARGS", ""))]
        status, text = self.program([*command, *parallel], SANITIZER_OPTIONS)
        first = judge(count_pytest(text), status)
        if not retries() or status != 1 or not 0 < first.failed <= FEW or \
                not any(notes.rglob("lastfailed")):
            return first
        self.note("The failed tests again, one at a time (RETRIES=1):")
        status, text = self.program([*command, "--last-failed",
                                     "--last-failed-no-failures=none"],
                                    SANITIZER_OPTIONS)
        return add_attempts(first, judge(count_pytest(text), status))

    def servers(self, folder, flavour, marker, servers=None, sample=None,
                workers="auto"):
        """Run the tests of a folder on the executables of a flavour.

        `servers` are those that the suite is for. `sample` runs each case of the
        protocol on fewer servers (see tests/blackbox/sampling.py), unless the
        user has chosen the servers or asks for all.
        """
        options = ["-m", marker]
        if flavour != "default":
            options += ["--bin-dir", f"build/{flavour}/bin"]
        chosen = os.environ.get("SERVERS", "").replace(" ", ",")
        if sample and not chosen and not full():
            options += ["--sample", sample]
        if servers and chosen:
            chosen = ",".join(s for s in chosen.split(",") if s in servers)
        if chosen or servers:
            options += ["--servers", chosen or ",".join(servers)]
        return self.pytest(folder, *options, flavour=flavour, workers=workers)

    def browser(self):
        """Run the end-to-end test, on systems that have a browser."""
        if not (shutil.which("chromium") or shutil.which("chromium-browser")):
            self.note("no Chromium here: skipped (scripts/deps.sh says why)")
            return Count(0, 0, 1)
        return self.servers("tests/blackbox", "default", "browser",
                            workers=None)

    def script(self, *command, **environment):
        """Run a script that closes with `N passed, N failed`."""
        status, text = self.program(list(command), environment)
        return judge(count_plain(text), status)

    # What the user sees while a suite runs.

    def tick(self):
        """Show the progress of the suite: called once a second."""
        seconds = int(time.monotonic() - self.began)
        doing = " ".join(tail(Path(self.log.name), 1)).strip()
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns - 1
            print("\r" + f"    {seconds:4d} s  {doing}"[:width].ljust(width),
                  end="", flush=True)
        elif seconds > 0 and seconds % self.interval == 0:
            print(f"    {seconds:4d} s  {doing[:100]}", flush=True)

    def suite(self, suite):
        """Run one suite; return its Count and a word on why, if it failed."""
        self.began = time.monotonic()
        self.deadline = self.began + suite.limit
        self.interval = 5 if suite.name in EXTRA else 60
        # Unbuffered and appending: the programs write to the same file.
        with open(log_of(suite), "ab", buffering=0) as self.log:
            try:
                count, why = suite.run(self), ""
            except Hung as hung:
                count = Count(0, 1, 0)
                why = f"took more than {suite.limit} s and was ended: {hung}"
            except OSError as error:
                count, why = Count(0, 1, 0), str(error)
        if sys.stdout.isatty():
            print("\r\033[K", end="")
        return count, why


def log_of(suite):
    """Return the path of the suite's log."""
    return LOGS / f"{suite.name}.log"


def full():
    """Return whether the user wants every case, not a sample."""
    return os.environ.get("FULL", "") not in ("", "0")


def retries():
    """Return whether failed tests get a second attempt. They get none by default:
    the person who works on a flaky test has to see it fail."""
    setting = os.environ.get("RETRIES") or os.environ.get("CI", "")
    return setting in ("1", "true")


def tail(path, lines):
    """Return the last lines of a file, as many as are asked for, without \\n."""
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 400 * lines))
        return file.read().decode(errors="replace").splitlines()[-lines:]


def fixed_addresses(flavour):
    """Return the words to put before a program of a sanitizer build.

    Older sanitizer runtimes expect memory where newer kernels, which spread
    addresses wider, may have put a library. setarch switches the spreading
    off, where that is allowed (containers may forbid it).
    """
    command = ["setarch", "-R"]
    if flavour not in (ASAN, "thread") or not shutil.which("setarch"):
        return []
    probe = subprocess.run([*command, "true"], stderr=subprocess.DEVNULL,
                           check=False)
    return command if probe.returncode == 0 else []


# ----------------------------------------------------------------- the suites

THREADED = ["threaded", "prethreaded"]  # for the thread sanitizer
QUICK = ["prethreaded", "epoll"]        # one blocking server, one event loop

# The scripts that may check variants/: the first one that exists.
VARIANTS = ("variants/check.sh", "scripts/variant.py")

# The builds. A suite names its flavour, and that build runs before it, once.
BUILDS = {
    "default": Suite(
        "build", "all programs and unit tests", None, 600,
        lambda r: r.build("all", "unit-tests")),
    ASAN: Suite(
        "build-asan", "the same, for address and undefined behaviour", None, 600,
        lambda r: r.build(f"SANITIZE={ASAN}", "all", "unit-tests")),
    "thread": Suite(
        "build-tsan", "the same, for data races", None, 600,
        lambda r: r.build("SANITIZE=thread", "all")),
}

SUITES = [
    Suite("clang", "a build with clang that must not warn", None, 600,
          lambda r: r.build("CC=clang", "FLAVOUR=clang", "WERROR=1", "all",
                            "unit-tests")),
    Suite("layering", "what the modules of common/ may call", "default", 60,
          lambda r: r.script("tests/layering.py", "build/default/common")),
    Suite("shape", "sizes of the C, differences between neighbours", None, 120,
          lambda r: r.script("tests/shape.py")),
    Suite("frame", "this runner, the Makefile, the scripts", "default", 300,
          lambda r: r.pytest("tests/frame", workers=WAITING)),
    Suite("unit", "the pure modules, with cmocka", "default", 300,
          lambda r: r.cmocka("default")),
    Suite("unit-asan", "the same, sanitized", ASAN, 600,
          lambda r: r.cmocka(ASAN)),
    Suite("blackbox", "every server over real sockets", "default", 1800,
          lambda r: r.servers("tests/blackbox", "default", "not browser",
                              sample="three", workers=WAITING)),
    Suite("browser", "the guestbook in a headless Chromium", "default", 300,
          lambda r: r.browser()),
    Suite("blackbox-asan", "every server, sanitized", ASAN, 2400,
          lambda r: r.servers("tests/blackbox", ASAN, "not browser",
                              sample="two", workers=WAITING)),
    Suite("blackbox-tsan", "the threaded servers, for data races", "thread", 1800,
          lambda r: r.servers("tests/blackbox", "thread", "not browser",
                              servers=THREADED, sample="two",
                              workers=WAITING)),
    Suite("cost", "instructions per request, under callgrind", "default", 300,
          lambda r: r.script(sys.executable, "-m",
                             "tests.cost.instructions")),
    Suite("faults", "every server, with what it depends on failing", "default",
          1800, lambda r: r.servers("tests/faults", "default", "not browser",
                                    workers=WAITING)),
    Suite("fuzz", "made-up input, 5 s for each target (FULL=1: 30 s)", "default",
          900, lambda r: r.script("tests/fuzz/run.sh",
                                  TIME="30" if full() else "5")),
    Suite("differential", "our parser and others read the same requests",
          "default", 300,
          lambda r: r.script(sys.executable, "tests/fuzz/differential.py")),
    Suite("variants", "each patch of variants/, applied and tested", "default",
          900, lambda r: r.script(first_of(VARIANTS))),
    Suite("bench", "the measuring programs", "default", 300,
          lambda r: r.pytest("tests/bench", workers=WAITING)),
    Suite("docs", "figures, links and commands in docs/", "default", 300,
          lambda r: r.pytest("tests/docs", workers=None)),
]

# Suites that `make check` does not run, since others do the same and more.
EXTRA = {
    "quick": Suite(
        "quick", "two servers, without the slow tests", "default", 120,
        lambda r: r.servers("tests/blackbox", "default",
                            "not browser and not slow", workers=WAITING,
                            servers=None if os.environ.get("SERVERS") else QUICK)),
}

# Suites of parts that may be absent, each with the files of which one must exist.
OPTIONAL = {"bench": ("tests/bench",), "docs": ("tests/docs",),
            "faults": ("tests/faults",), "fuzz": ("tests/fuzz/run.sh",),
            "cost": ("tests/cost/instructions.py",),
            "differential": ("tests/fuzz/differential.py",),
            "variants": VARIANTS}


def first_of(paths):
    """Return the first of these paths that exists, else the first."""
    return next((path for path in paths if (TOP / path).exists()), paths[0])


def is_there(suite):
    """Return whether the project has the files of a suite."""
    return suite.name not in OPTIONAL or \
        (TOP / first_of(OPTIONAL[suite.name])).exists()


def choose(names):
    """Return the suites of these names (all if none), each build before them.

    Raises SystemExit for an unknown name.
    """
    known = {**{suite.name: suite for suite in SUITES}, **EXTRA}
    for name in names:
        if name not in known:
            sys.exit(f"check.py: no suite {name!r}; there are: "
                     f"{' '.join(known)}")
    wanted = [known[name] for name in names] or list(filter(is_there, SUITES))
    plan = []
    for suite in wanted:
        if suite.flavour and BUILDS[suite.flavour] not in plan:
            plan.append(BUILDS[suite.flavour])
        plan.append(suite)
    return plan


def plural(count):
    """Return a Count in words."""
    skipped = f", {count.skipped} skipped" if count.skipped else ""
    again = f", {count.again} at the 2nd attempt" if count.again else ""
    return f"{count.passed} passed, {count.failed} failed{skipped}{again}"


def report(results):
    """Print the table of what ran and the closing line; return the total."""
    print("\nSummary")
    for suite, count, seconds in results:
        mark = "FAILED" if count.failed else "ok"
        print(f"  {suite.name:<14} {mark:<7} {plural(count):<30} {seconds:6.1f} s"
              + (f"   {log_of(suite).relative_to(TOP)}"
                 if count.failed and log_of(suite).exists() else ""))
    total = Count(*(sum(numbers) for numbers in
                    zip(*(count for _, count, _ in results))))
    if total.again:
        print(f"  {total.again} passed only at the second attempt (RETRIES=1): "
              "the logs say which")
    if total.skipped:
        print(f"  {total.skipped} skipped: the logs say why")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return total


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
    runner = Runner(options.make, [word for word in options.words if "=" in word
                                   and word.split("=")[0] not in ours])
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    plan = choose([word for word in options.words if "=" not in word])
    broken = set()              # flavours that could not be built
    results = []
    interrupted = False
    for number, suite in enumerate(plan, 1):
        print(f"[{number:2d}/{len(plan)}] {suite.name}: {suite.about}",
              flush=True)
        began = time.monotonic()
        log_of(suite).unlink(missing_ok=True)
        if suite.flavour in broken:
            count, why = Count(0, 1, 0), "not run, because its build failed"
        else:
            try:
                count, why = runner.suite(suite)
            except KeyboardInterrupt:
                count, why = Count(0, 1, 0), "interrupted"
                interrupted = True
        seconds = time.monotonic() - began
        results.append((suite, count, seconds))
        if count.failed:
            broken.update(f for f, build in BUILDS.items() if build is suite)
            if log_of(suite).exists():
                print("\n".join(f"        | {line}"
                                for line in tail(log_of(suite), TAIL)))
        print(f"        {plural(count)} ({seconds:.1f} s)"
              + (f": {why}" if why else ""), flush=True)
        if interrupted:
            break
    total = report(results)
    return 130 if interrupted else int(total.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
