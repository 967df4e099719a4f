"""The virtual environment with what draws: build/venv/, made when missing."""

import os
import shutil
import subprocess
import sys

from bench.run.servers import TOP

FOLDER = os.path.join(TOP, "build", "venv")
PYTHON = os.path.join(FOLDER, "bin", "python")
HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = os.path.join(HERE, "requirements.txt")
INSTALLED = os.path.join(FOLDER, "requirements.txt")


def enter():
    """Go on inside the environment, by starting this program again in it.

    Returns only when that is so already, with "", or when it cannot be had:
    then with the reason.
    """
    if os.path.realpath(sys.prefix) == os.path.realpath(FOLDER):
        return ""
    reason = make()
    if reason:
        return reason
    os.execv(PYTHON, [PYTHON, *sys.orig_argv[1:]])


def make():
    """Make the environment unless it is there; return "" or why not."""
    if _read(INSTALLED) == _read(WANTED) and os.access(PYTHON, os.X_OK):
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
            return _reason(done.stdout)
    shutil.copyfile(WANTED, INSTALLED)
    return ""


def _reason(text):
    """Return the line of what venv or pip printed that tells most."""
    if "ensurepip" in text:
        return "python3-venv is not installed"
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    said = (errors or lines or ["nothing was said"])[0]
    return "pip: " + said.replace("ERROR: ", "")[:160]


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
