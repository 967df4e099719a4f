"""What tests/suites.toml says: which suites there are, how each is called, how long it takes, and
what it lacks here."""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
# The settings of check.py: make and the suites' programs do not see them.
OURS = ("SERVERS", "FULL", "ARGS", "WITHOUT", "WORKERS")
SETTING = {name: os.environ.get(name, "") for name in OURS}
FULL = SETTING["FULL"] not in ("", "0")
CORES = os.cpu_count() or 1
TEST_LIMIT = 300        # seconds for one test
PYTHON = str(TOP / "build/venv/bin/python")
PLACES = {"top": TOP, "qemu": shutil.which("qemu-aarch64-static") or "qemu-aarch64"}


def crowd():
    """Return how many times as long as alone a program may take now, because others run: 1 to 5.
    """
    return min(5.0, max(1.0, os.getloadavg()[0] / CORES))


def read():
    """Return {name: its table}, with what FULL=1 changes."""
    tables = tomllib.loads((TOP / "tests/suites.toml").read_text(encoding="utf-8"))
    return {name: {**table, **(table.get("full", {}) if FULL else {})}
            for name, table in tables.items()}


def is_build(name):
    """Return whether it compiles what suites need."""
    return name.startswith("build")


def usual(suites):
    """Return the names of the suites that run when none is named."""
    return [name for name, suite in suites.items() if not is_build(name)
            and not suite.get("spare") and (FULL or not suite.get("rare"))]


def builds_of(name, suite):
    """Return the names of the builds that come before a suite."""
    return [] if is_build(name) else suite.get("needs", ["build"])


def seconds(suite):
    """Return how long a suite takes here, when nothing else runs. What takes as many cores as
    there are is faster with more of them than the two that the table means."""
    many = "make" in suite or "pytest" in suite and "workers" not in suite
    return suite.get("seconds", 10) * (2 / CORES if many or CORES < 2 else 1)


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
    words = [PYTHON, "-m", "pytest", suite["pytest"], "-vv",
             f"--timeout={TEST_LIMIT * crowd():.0f}"]
    # More tests at a time than cores, since most wait for a server. A worker that has
    # nothing left takes tests from another.
    workers = suite.get("workers") or SETTING["WORKERS"] or 4 * CORES
    if workers != 1:
        words += [f"-n{workers}", "--dist=worksteal"]
    words += shlex.split(suite.get("words", ""))
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
