"""Virtual environments of the project, made when missing: build/venv/ has what draws,
build/book-venv/ what builds the book."""

import fcntl
import os
import re
import shutil
import subprocess
import sys

from bench.meter import procfs
from bench.run.servers import TOP

FOLDER = os.path.join(TOP, "build", "venv")
PYTHON = os.path.join(FOLDER, "bin", "python")
WANTED = os.path.join(TOP, "bench", "requirements.txt")


def enter():
    """Start this program again inside the environment. Returns "" when it
    runs there already, and the reason when that is not possible."""
    inside = os.path.realpath(sys.prefix) == os.path.realpath(FOLDER)
    reason = "" if inside else make()
    if not inside and not reason:
        os.execv(PYTHON, [PYTHON, *sys.orig_argv[1:]])
    return reason


def make(folder=FOLDER, wanted=WANTED, what="what draws"):
    """Make an environment with the packages of the file `wanted` unless it is there; return
    "" or why not. Of two programs that find it missing, the second waits for the first."""
    python = os.path.join(folder, "bin", "python")
    installed = os.path.join(folder, "requirements.txt")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if procfs.read(installed) == procfs.read(wanted) and os.access(python, os.X_OK):
            return ""
        shown = os.path.relpath(folder, TOP)
        if os.environ.get("NO_INSTALL"):
            return f"NO_INSTALL is set, and {shown} is not there yet"
        print(f"Installing {what} into {shown}, once ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        reason = run(sys.executable, "-m", "venv", folder) or run(
            python, "-m", "pip", "install", "--quiet", "--no-deps", "--retries", "1",
            "--disable-pip-version-check", "--timeout", "15", "-r", wanted)
        if not reason:
            shutil.copyfile(wanted, installed)
        return reason


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
