"""Compiles a submission and links it with common/."""

import os
import subprocess
from pathlib import Path

from labs.grade.lab import TOP

ARCHIVE = TOP / "build" / "default" / "libzerohttpd.a"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", f"-I{TOP / 'common'}", "-Wall",
         "-Wextra", "-O1", "-g", "-pthread"]


class BuildError(Exception):
    """The submission does not compile; the text is the compiler's."""


def sources(submission):
    """Return the C files of a submission: a folder, or one file.

    Raises BuildError when there is none.
    """
    path = Path(submission)
    found = [path] if path.is_file() else sorted(path.glob("*.c"))
    if not found:
        raise BuildError(f"there is no main.c in {path}")
    return found


def packages(lab):
    """Return the flags of the libraries: (for the compiler, the linker)."""
    def ask(what):
        return subprocess.run(
            ["pkg-config", what, "hiredis", *lab.libraries],
            capture_output=True, text=True, check=True).stdout.split()
    return ask("--cflags"), ask("--libs")


def build(lab, submission, folder):
    """Compile a submission into `folder`.

    Returns (path of the program, the compiler's warnings as text). Raises
    BuildError.
    """
    program = Path(folder) / lab.server
    compiler, linker = packages(lab)
    done = subprocess.run(
        [os.environ.get("CC", "gcc"), *FLAGS, *compiler, "-o", str(program),
         *map(str, sources(submission)), str(ARCHIVE), *linker],
        capture_output=True, text=True, errors="replace", timeout=60,
        check=False)
    if done.returncode != 0:
        raise BuildError(done.stderr)
    return program, done.stderr
