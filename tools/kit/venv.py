"""Virtual environments of the project, made when missing or old: build/venv/
has every Python package that the project uses, except those of the book.

    python3 -m tools.kit.venv         makes build/venv/; says why when that is not possible
    python3 -m tools.kit.venv book    makes build/book-venv/
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys

from tools.kit import TOP, procfs, unpacked

FOLDER = os.path.join(TOP, "build", "venv")
PYTHON = os.path.join(FOLDER, "bin", "python")
# A handout for a class has only the lists of the parts that are in it.
WANTED = [path for path in (os.path.join(TOP, part, "requirements.txt")
                            for part in ("tools", "labs", "tests"))
          if os.path.exists(path)]
WHAT = "Python packages (pytest, rich, altair ...)"
BOOK = (os.path.join(TOP, "build", "book-venv"),
        [os.path.join(TOP, "tools", "book", "requirements.txt")], "Sphinx")

# Debian's pip reads the system's list of certificates when it starts, even if it is given
# another one. Without the package ca-certificates, there is none.
FROM_WHEEL = """
import os, sys
wheel, certificates = sys.argv[1:3]
del sys.argv[1:3]
sys.path.insert(0, wheel)
if os.path.exists(certificates):
    from pip._vendor import certifi
    certifi.where = lambda: certificates
from pip._internal.cli.main import main
sys.exit(main())
"""


def restart_inside():
    """Start this program again inside the environment. Returns "" when it
    runs there already, and the reason when that is not possible."""
    if os.path.realpath(sys.prefix) == os.path.realpath(FOLDER):
        return ""
    reason = make()
    if reason:
        return reason
    os.execv(PYTHON, [PYTHON, *sys.orig_argv[1:]])


def make(folder=FOLDER, wanted=WANTED, what=WHAT):
    """Make an environment with the packages that the files `wanted` list, unless it is there;
    return "" or why not. A package is installed only if its file has a hash of the list
    (scripts/pin_requirements.sh). Of two programs that find the environment missing, the second
    waits for the first."""
    python = os.path.join(folder, "bin", "python")
    installed = os.path.join(folder, "requirements.txt")
    shown = os.path.relpath(folder, TOP)
    lists = "".join(map(procfs.read, wanted))
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if procfs.read(installed) == lists and os.access(python, os.X_OK):
            os.utime(installed)     # make compares its time with the lists'
            return ""
        if os.environ.get("NO_INSTALL"):
            return f"NO_INSTALL is set, and {shown} is not there yet"
        print(f"Installing {what} into {shown}, once ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        before, pip = pip_of(python)
        reason = run(sys.executable, "-m", "venv", *before, folder) or run(
            *pip, "install", "--quiet", "--no-deps", "--require-hashes",
            "--retries", "1", "--disable-pip-version-check", "--timeout", "15",
            *(word for path in wanted for word in ("-r", path)))
        if not reason:
            with open(installed, "w", encoding="utf-8") as file:
                file.write(lists)
        return reason


def pip_of(python):
    """Return options for venv, and the words that start pip in the environment of `python`.
    Where Debian's python3-venv is unpacked below build/deps/, pip runs from its wheel."""
    wheels = sorted(unpacked.ROOT.glob("usr/share/python-wheels/pip-*.whl"))
    if not wheels:
        return [], [python, "-m", "pip"]
    return ["--without-pip"], [python, "-c", FROM_WHEEL, str(wheels[-1]),
                               str(unpacked.FOLDER / "certificates.crt")]


def run(*argv):
    """Run a step of the installation; return "" or why it failed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False)
    if not done.returncode:
        return ""
    if "ensurepip" in done.stdout:
        return "python3-venv is not installed"
    error = re.search("^ERROR: (.*)", done.stdout, re.MULTILINE)
    return f"{argv[2]}: {error[1] if error else done.stdout.strip():.160}"


if __name__ == "__main__":
    which = BOOK if sys.argv[1:] == ["book"] else (FOLDER, WANTED, WHAT)
    why = make(*which)
    sys.exit(f"{os.path.relpath(which[0], TOP)} cannot be made: {why}" if why else 0)
