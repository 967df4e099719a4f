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
HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = os.path.join(HERE, "requirements.txt")
INSTALLED = os.path.join(FOLDER, "requirements.txt")


def enter():
    """Start this program again inside the environment. Returns "" when it
    runs there already, and the reason when that is not possible."""
    if os.path.realpath(sys.prefix) == os.path.realpath(FOLDER):
        return ""
    reason = make()
    if reason:
        return reason
    os.execv(PYTHON, [PYTHON, *sys.orig_argv[1:]])


def make():
    """Make the environment unless it is there; return "" or why not. Of two
    programs that find it missing, the second waits for the first."""
    os.makedirs(os.path.dirname(FOLDER), exist_ok=True)
    with open(FOLDER + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _make()


def _make():
    if procfs.read(INSTALLED) == procfs.read(WANTED) \
            and os.access(PYTHON, os.X_OK):
        return ""
    if os.environ.get("NO_INSTALL"):
        return "NO_INSTALL is set, and build/venv is not there yet"
    print("Installing what draws (rich, altair, vl-convert) into build/venv, "
          "once ...", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    for argv in ([sys.executable, "-m", "venv", FOLDER],
                 [PYTHON, "-m", "pip", "install", "--quiet", "--no-deps",
                  "--disable-pip-version-check", "--retries", "1",
                  "--timeout", "15", "-r", WANTED]):
        try:
            done = subprocess.run(argv, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True,
                                  check=False)
        except OSError as error:
            return f"{argv[0]}: {error.strerror}"
        if done.returncode:
            shutil.rmtree(FOLDER, ignore_errors=True)
            if "ensurepip" in done.stdout:
                return "python3-venv is not installed"
            error = re.search(r"^ERROR: (.*)", done.stdout, re.MULTILINE)
            return "pip: " + (error.group(1) if error
                              else done.stdout.strip())[:160]
    shutil.copyfile(WANTED, INSTALLED)
    return ""
