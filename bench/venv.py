"""build/venv/: the virtual environment with every Python package that the project
uses, except those of the book. Made when missing or out of date.

    python3 -m bench.venv       makes it; says why when that is not possible
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(TOP, "build", "venv")
PYTHON = os.path.join(FOLDER, "bin", "python")
# A handout for a class has only the lists of the parts that are in it.
WANTED = [path for path in (os.path.join(TOP, part, "requirements.txt")
                            for part in ("bench", "labs", "tests"))
          if os.path.exists(path)]
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
    wanted = "".join(map(read, WANTED))
    with open(FOLDER + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if read(INSTALLED) == wanted and os.access(PYTHON, os.X_OK):
            os.utime(INSTALLED)     # make compares its time with the lists'
            return ""
        if os.environ.get("NO_INSTALL"):
            return "NO_INSTALL is set, and build/venv is not there yet"
        print("Installing Python packages (pytest, rich, altair ...) into "
              "build/venv, once ...", flush=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
        reason = run(sys.executable, "-m", "venv", FOLDER) or run(
            PYTHON, "-m", "pip", "install", "--quiet", "--no-deps",
            "--disable-pip-version-check", "--retries", "1", "--timeout",
            "15", *(word for path in WANTED for word in ("-r", path)))
        if not reason:
            with open(INSTALLED, "w", encoding="utf-8") as file:
                file.write(wanted)
        return reason


def read(path):
    """Return the text of a file, "" when there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


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
    why = make()
    sys.exit(f"build/venv cannot be made: {why}" if why else 0)
