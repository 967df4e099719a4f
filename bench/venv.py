"""The virtual environment with what draws: build/venv/, made when missing."""

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
INSTALLED = os.path.join(FOLDER, "requirements.txt")


def enter():
    """Start this program again inside the environment. Returns "" when it
    runs there already, and the reason when that is not possible."""
    inside = os.path.realpath(sys.prefix) == os.path.realpath(FOLDER)
    reason = "" if inside else make()
    if not inside and not reason:
        os.execv(PYTHON, [PYTHON, *sys.orig_argv[1:]])
    return reason


def make():
    """Make the environment unless it is there; return "" or why not. Of two
    programs that find it missing, the second waits for the first."""
    os.makedirs(os.path.dirname(FOLDER), exist_ok=True)
    with open(FOLDER + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if procfs.read(INSTALLED) == procfs.read(WANTED) and os.access(PYTHON, os.X_OK):
            return ""
        if os.environ.get("NO_INSTALL"):
            return "NO_INSTALL is set, and build/venv is not there yet"
        print("Installing what draws (rich, altair, vl-convert) into "
              "build/venv, once ...", flush=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
        reason = run(sys.executable, "-m", "venv", FOLDER) or run(
            PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--retries", "1",
            "--disable-pip-version-check", "--timeout", "15", "-r", WANTED)
        if not reason:
            shutil.copyfile(WANTED, INSTALLED)
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
