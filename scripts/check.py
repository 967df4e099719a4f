#!/usr/bin/python3
"""Run the test suites and count: what `make check` does.

    scripts/check.py                 every suite of `make check`
    scripts/check.py unit blackbox   these suites, and the builds they need
    scripts/check.py --list          their names

tests/suites.toml says what a suite is. First come the builds. Then the suites run in two
lines next to each other: those that mostly wait, and those that keep a core busy. Those
that measure come last, alone.

A suite's output goes to build/check/NAME.log; a failed suite shows the end of its log.
The last line says `N passed, N failed`, and the exit status is 0 only when nothing
failed. A suite that crashes, hangs or counts nothing has failed.

A suite that needs a program which is not installed is left out. The summary names it
and what is missing; the sum does not count it. With CI=true it has failed.
scripts/packages.txt says what each suite needs.

Environment:
    SERVERS=epoll,poll   runs these servers only, in full
    FULL=1               runs every case on every server, instead of a sample, takes
                         longer over what searches, and adds suites that take minutes
    ARGS='-k guestbook'  passes these words to pytest
    WITHOUT='browser'    leaves these suites out, and with CI=true too
    WORKERS=4            runs this many tests of a suite at a time
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
LOGS = TOP / "build/check"
# The settings of this script: make and the suites' programs do not see them.
OURS = ("SERVERS", "FULL", "ARGS", "WITHOUT", "WORKERS")
SETTING = {name: os.environ.get(name, "") for name in OURS}
FULL = SETTING["FULL"] not in ("", "0")
CORES = os.cpu_count() or 1
TEST_LIMIT, SUITE_LIMIT = 300, 2400     # seconds for one test, and for a suite
TAIL, NAMED, WIDTH = 40, 5, 200         # of a failed suite: lines of its log, tests named
PYTHON = str(TOP / "build/venv/bin/python")
PLACES = {"top": TOP, "qemu": shutil.which("qemu-aarch64-static") or "qemu-aarch64"}
SANITIZER_OPTIONS = {                   # beyond their defaults; a test may set its own
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1", "TSAN_OPTIONS": "second_deadlock_stack=1"}


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


def read_suites():
    """Return {name: its table} of tests/suites.toml, with what FULL=1 changes."""
    tables = tomllib.loads((TOP / "tests/suites.toml").read_text(encoding="utf-8"))
    return {name: {**table, **(table.get("full", {}) if FULL else {})}
            for name, table in tables.items()}


def usual(suites):
    """Return the names of the suites that run when none is named."""
    return [name for name, suite in suites.items() if not name.startswith("build")
            and not suite.get("spare") and (FULL or not suite.get("rare"))]


def builds_of(name, suite):
    """Return the names of the builds that come before a suite."""
    return [] if name.startswith("build") else suite.get("needs", ["build"])


def commands(suite, make):
    """Return the commands of a suite, as lists of words."""
    real = {"make": make, "python": [sys.executable], "venv": [PYTHON]}
    under = shlex.split(suite.get("under", "").format(**PLACES))
    flavour = suite.get("flavour", suite.get("units", "default"))
    # Newer kernels spread addresses wider than older sanitizer runtimes expect. setarch
    # switches that off; containers may forbid it.
    if flavour in ("address,undefined", "thread") and shutil.which("setarch") and \
            not subprocess.call(["setarch", "-R", "true"], stderr=subprocess.DEVNULL):
        under = ["setarch", "-R"]
    if "pytest" in suite:
        return [[*under, *pytest(suite, flavour)]]
    if "units" in suite:
        return [[*under, f"build/{flavour}/tests/{source.stem}"]
                for source in sorted(TOP.glob("tests/unit/test_*.c"))]
    return [[word for name in shlex.split(text.format(**PLACES))
             for word in real.get(name, [name])]
            for text in suite.get("run") or suite["make"]]


def pytest(suite, flavour):
    """Return the words that run pytest for a suite. -vv: name each test as it ends, and
    say in full what was wrong."""
    words = [PYTHON, "-m", "pytest", suite["pytest"], "-vv", f"--timeout={TEST_LIMIT}",
             *shlex.split(suite.get("words", ""))]
    # More tests at a time than cores, since most wait for a server. A worker that has
    # nothing left takes tests from another.
    workers = suite.get("workers") or SETTING["WORKERS"] or 4 * CORES
    if workers != 1:
        words += [f"-n{workers}", "--dist=worksteal"]
    if flavour != "default":
        words += [f"--bin-dir=build/{flavour}/bin"]
    servers, chosen = suite.get("servers", ""), SETTING["SERVERS"].replace(" ", ",")
    if servers and chosen:
        both = [name for name in chosen.split(",") if name in servers or servers == "all"]
        servers = ",".join(both) or servers
    elif "sample" in suite and not FULL:
        words += ["--sample", suite["sample"]]
    if servers not in ("", "all"):
        words += ["--servers", servers]
    return words + shlex.split(SETTING["ARGS"])


def count(text):
    """Return the Count of what a program printed, None without one: the last line of
    pytest, the last `N passed, N failed`, or all closing lines of cmocka."""
    last = re.findall(r"^=+ (.* in [\d.]+s).* =+$|^(\d+ passed, \d+ failed)$", text, re.M)
    if last:
        numbers = {word: int(number) for number, word in re.findall(
            r"(\d+) (passed|failed|error|skipped)", "".join(last[-1]))}
        return Count(numbers.get("passed", 0), numbers.get("failed", 0)
                     + numbers.get("error", 0), numbers.get("skipped", 0))
    found = {word: [int(number) for number in re.findall(
        rf"^\[\s+{word}\s+\] (\d+) test\(s\)", text, re.M)]
        for word in ("PASSED", "FAILED", "SKIPPED")}
    return Count(*map(sum, found.values())) if any(found.values()) else None


def judge(counted, status):
    """Return the Count of a program that exited with `status`. If it counted nothing, or
    no failure although its status tells of one (a crash, a leak), it failed once more."""
    if counted is None or not any(counted):
        return Count(0, 1)
    return counted._replace(failed=1) if status and not counted.failed else counted


def call(command, log, stop, deadline):
    """Run a command in a session of its own, so that what it started ends with it, and
    return its exit status. Raises TimeoutError, and KeyboardInterrupt when `stop` is set."""
    log.write(f"$ {shlex.join(command)}\n".encode())
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", *OURS)}
    child = subprocess.Popen(command, cwd=TOP, env={**environment, **SANITIZER_OPTIONS},
                             stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                             start_new_session=True)
    try:
        while True:
            try:
                return child.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    raise KeyboardInterrupt from None
                if time.monotonic() > deadline:
                    raise TimeoutError(f"took more than {SUITE_LIMIT} s and was ended") from None
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(child.pid, number)
                child.wait(timeout=5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass


def run(name, suite, make, stop):
    """Run a suite; return its Count and why it was ended, "" if it was not."""
    counts, deadline = [], time.monotonic() + SUITE_LIMIT
    path = LOGS / f"{name}.log"
    with open(path, "wb", buffering=0) as log:
        try:
            for words in commands(suite, make):
                begin = os.fstat(log.fileno()).st_size
                nice = ["nice"] if suite.get("line") == "busy" else []
                status = call(nice + words, log, stop, deadline)
                if "make" in suite:
                    counts = [Count(int(status == 0), int(status != 0))]
                    if status:
                        break
                else:
                    text = path.read_bytes()[begin:].decode(errors="replace")
                    counts.append(judge(count(text), status))
            return judge(total(counts), 0), ""
        except KeyboardInterrupt:
            stop.set()
            return total([*counts, Count(0, 1)]), "interrupted"
        except OSError as error:        # TimeoutError is one too
            return total([*counts, Count(0, 1)]), str(error)


def run_all(plan, make):
    """Run {name: suite}. Returns {name: (Count, seconds)} and whether the user has
    interrupted it."""
    results, stop = {}, threading.Event()

    def line(suites):
        for name, suite in suites.items():
            broken = [one for one in builds_of(name, suite)
                      if one in results and results[one][0].failed]
            if stop.is_set():
                return
            print(f"{name}: {suite['about']}", flush=True)
            began, counted, why = time.monotonic(), Count(0, 1), "not run: its build failed"
            if not broken:
                counted, why = run(name, suite, make, stop)
            results[name] = counted, time.monotonic() - began
            log = log_of(name)[-TAIL:] if counted.failed and not broken else []
            print(*(f"        | {text}" for text in log),
                  f"        {name}: {counted} ({results[name][1]:.1f} s)"
                  + (f": {why}" if why else ""), sep="\n", flush=True)

    lines = {kind: {name: suite for name, suite in plan.items() if kind == (
        "build" if name.startswith("build") else suite.get("line", "waits"))}
        for kind in ("build", "waits", "busy", "alone")}
    try:
        line(lines["build"])
        with ThreadPoolExecutor() as pool:
            busy = pool.submit(line, lines["busy"])
            try:
                line(lines["waits"])
                busy.result()           # raises what was raised there
            except BaseException:
                stop.set()
                raise
        line(lines["alone"])
    except KeyboardInterrupt:
        stop.set()
    return {name: results[name] for name in plan if name in results}, stop.is_set()


def log_of(name):
    """Return the lines of a suite's log."""
    path = LOGS / f"{name}.log"
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def missing(names):
    """Return {suite: what it lacks}, for those of the names that lack something."""
    done = subprocess.run([TOP / "scripts/deps.sh", "--missing", *names], check=True,
                          stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHON": sys.executable})
    found = {}
    for name, what in (text.split(": ", 1) for text in done.stdout.splitlines()):
        found[name] = f"{found[name]}, {what}" if name in found else what
    return found


def left_out(names):
    """Return {suite: why it cannot run, or is not wanted}. Makes build/venv/ if one of
    the suites needs it."""
    unwanted = SETTING["WITHOUT"].replace(",", " ").split()
    wanted = [name for name in names if name not in unwanted]
    found, reason = missing(wanted), ""
    if any("build/venv" in what for what in found.values()):
        reason = subprocess.run([sys.executable, "-m", "tools.kit.venv"], cwd=TOP, text=True,
                                stderr=subprocess.PIPE, check=False).stderr.strip()
        found = {name: f"{what}; {reason}" if "build/venv" in what else what
                 for name, what in missing(wanted).items()}
    return {name: f"needs {found[name]}" if name in found else "WITHOUT names it"
            for name in names if name in found or name in unwanted}


def report(results, left):
    """Print the table and the closing line. Returns whether all is well: something ran,
    nothing failed and, in CI, no suite was left out because a program is missing."""
    lacking = [name for name, why in left.items() if why.startswith("needs")]
    print("\nSummary")
    for name, (counted, seconds) in results.items():
        path = os.path.relpath(LOGS / f"{name}.log", TOP)
        print(f"  {name:<15} {'FAILED' if counted.failed else 'ok':<7} {counted!s:<30} "
              f"{seconds:6.1f} s{'   ' + path if counted.failed else ''}")
        # At the end, since a long log is often cut to it.
        failed = [text for text in log_of(name) if counted.failed and re.match(
            r"FAILED |ERROR |\[  FAILED  \] (?!\d+ test)", text)]
        for text in failed[:NAMED]:
            print(f"    {text[:WIDTH]}")
    for name, why in left.items():
        print(f"  {name:<15} left out: {why}")
    whole = total(counted for counted, _ in results.values())
    if whole.skipped:
        print(f"  {whole.skipped} skipped: the logs say which")
    if lacking:
        ran = sum(not name.startswith("build") for name in results)
        print(f"This was only a part: {len(lacking)} of {len(lacking) + ran} suites did not "
              f"run. What they need:\n  NO_INSTALL=1 scripts/deps.sh {' '.join(lacking)}")
    if lacking and os.environ.get("CI") in ("1", "true"):
        print("With CI=true, each of them has failed.")
        whole = total([whole, Count(0, len(lacking))])
    print(f"{whole.passed} passed, {whole.failed} failed", flush=True)
    return whole.passed > 0 and whole.failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--make", default="make", help="how make is called")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("words", nargs="*", metavar="SUITE|NAME=VALUE",
                        help="a suite to run, or a variable for make")
    options = parser.parse_args()
    known = read_suites()
    if options.list:
        for name, suite in known.items():
            print(f"{name:<15} {suite['about']}")
        return 0
    names = [word for word in options.words if "=" not in word] or usual(known)
    for name in names:
        if name not in known:
            sys.exit(f"check.py: no suite {name!r}; there are: {' '.join(known)}")
    seven = [path.parent.name.split("_")[1] for path in sorted(TOP.glob("0?_*/main.c"))]
    for name in re.findall(r"[^,\s]+", SETTING["SERVERS"]):
        if name not in (*seven, "all"):
            sys.exit(f"check.py: SERVERS={name}: there are {', '.join(seven)}")

    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    left = left_out(names)
    for name, why in left.items():
        print(f"{name} is left out: {why}", flush=True)
    wanted = {name for name in names if name not in left}
    wanted |= {build for name in wanted for build in builds_of(name, known[name])}
    # Every suite names its own SANITIZE and FLAVOUR.
    variables = [word for word in options.words if "=" in word
                 and word.split("=")[0] not in ("SANITIZE", "FLAVOUR", *OURS)]
    results, interrupted = run_all(
        {name: suite for name, suite in known.items() if name in wanted},
        [options.make, f"-j{CORES}", *variables])
    good = report(results, left)
    return 130 if interrupted else int(not good)


if __name__ == "__main__":
    sys.exit(main())
