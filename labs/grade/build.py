"""Compiles a submission and links it with common/, inside the sandbox."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from labs.grade import starter
from labs.grade.lab import LabError, find
from labs.grade.sandbox import COMPILER, MIB, Sandboxed, SandboxError
from tools.kit import TOP, unpacked

ARCHIVE = TOP / "build" / "default" / "libzerohttpd.a"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-I{common}", "-Wall", "-Wextra", "-O1", "-g", "-pthread"]
CPU_SECONDS = 10        # a main.c compiles in one
SECONDS = 60            # ... which takes longer on a busy machine
LIMITS = {"nproc": 32, "cpu": CPU_SECONDS, "fsize": 32 * MIB}
LIBRARIES = ("hiredis", "uring")        # that submissions are linked with
MOST_FILES, MOST_BYTES = 20, MIB        # of a submission


class BuildError(Exception):
    """The submission does not compile; the text is the compiler's."""


def prepare(folder):
    """Copy what each submission needs into `folder`: common/, the archive of
    its objects, the site, with a file public/large of 16 MiB.

    All users may read the copies, wherever the project lies. Returns
    {name: path}. Raises BuildError when `make` has not been run.
    """
    folder = Path(folder)
    if not ARCHIVE.exists():
        raise BuildError(f"{ARCHIVE.relative_to(TOP)} is not built yet; `make` builds it")
    shutil.copytree(TOP / "common", folder / "common", ignore=shutil.ignore_patterns("*.c"))
    shutil.copy(ARCHIVE, folder / "common")
    for name in ("public", "templates"):
        shutil.copytree(TOP / name, folder / "site" / name)
    with open(folder / "site" / "public" / "large", "wb") as file:
        file.truncate(16 * MIB)     # no socket's buffer takes all of it
    names = ["common", "site"]
    if unpacked.ROOT.is_dir():
        names.append("unpacked")
        copy_libraries(unpacked.ROOT, folder / "unpacked")
    for path in [folder, *folder.rglob("*")]:
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    return {name: folder / name for name in names}


def copy_libraries(root, target):
    """Copy headers and static libraries of unpacked packages; a program that is linked
    with them needs nothing of `root` when it runs."""
    target.mkdir()
    if (root / "usr/include").is_dir():     # there may be programs only
        shutil.copytree(root / "usr/include", target / "usr/include", dirs_exist_ok=True)
    for library in LIBRARIES:
        for path in (root / "usr/lib").rglob(f"lib{library}.a"):
            copy = target / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


def take(lab, submission, folder):
    """Copy the C files of a submission (a folder, or one file) into `folder`; return their names.
    Raises BuildError when there are none, or too many. The collection's own server comes with the
    files of common/ that it uses for what the lab asks for.

    No link is followed: it might lead to files that only the grader may read.
    """
    path = Path(submission)
    names = [path] if path.is_file() else sorted(
        one for one in path.glob("*") if one.suffix in (".c", ".h"))
    if lab.is_solution(path):
        names = lab.solution_files()
    if len(names) > MOST_FILES:
        raise BuildError(f"more than {MOST_FILES} files in {path}")
    for name in names:
        try:
            with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                data = file.read(MOST_BYTES + 1) \
                    if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except OSError as error:
            raise BuildError(f"{name.name}: {error.strerror}") from error
        if data is None or len(data) > MOST_BYTES:
            raise BuildError(f"{name.name} is not a file of at most {MOST_BYTES // MIB} MiB")
        target = Path(folder) / name.name
        target.write_bytes(data)
        os.chmod(target, 0o644)
    found = [name.name for name in names if name.suffix == ".c"]
    if not found:
        raise BuildError(f"there is no main.c in {path}")
    return found


def packages(lab):
    """Return the flags of the libraries: (for the compiler, the linker).

    Raises BuildError when one is not installed.
    """
    def ask(what):
        done = subprocess.run(
            ["pkg-config", what, "hiredis", *lab.libraries],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            needed = " ".join(f"{name}-dev" for name in lab.libraries)
            raise BuildError(f"{done.stderr.strip()}\nlab {lab.number} needs: "
                             f"apt-get install libhiredis-dev {needed}")
        return [word.replace(str(unpacked.ROOT), "{unpacked}")
                for word in done.stdout.split() if not word.startswith("-Wl,-rpath")]
    return ask("--cflags"), ask("--libs")


def build(lab, submission, folder, shown, isolation):
    """Compile a submission into `folder`; `shown` is what prepare() returned.

    Returns (path of the program, the compiler's warnings as text). Raises
    BuildError, also when compiling takes too much time or memory.
    """
    folder = Path(folder)
    source = folder / "submission"
    for path in (source, folder / "program"):
        path.mkdir()
        os.chmod(path, 0o755)
    names = take(lab, submission, source)
    for name in sorted(set(lab.required) - set(names)):
        raise BuildError(f"there is no {name}: lab {lab.number} asks for it")
    compiler, linker = packages(lab)
    command = [
        # The sandbox has /usr, and no folder of links that may be on the PATH.
        os.path.realpath(shutil.which(os.environ.get("CC", "gcc")) or "/usr/bin/gcc"), *FLAGS,
        *compiler, "-o", "{scratch}/program",
        *(f"{{submission}}/{name}" for name in names),
        f"{{common}}/{ARCHIVE.name}", *linker,
        *(f"-Wl,--trace-symbol={name}" for name in lab.forbidden)]
    box = folder / "compiler"
    box.mkdir()
    with Sandboxed(command, {**shown, "submission": source}, isolation, box,
                   LIMITS, system=COMPILER) as run:
        status = run.wait(SECONDS)
        if status != 0 or run.fault:
            why = run.fault or (f"the compiler took more than {SECONDS} s"
                                if status is None else "")
            run.end()
            text = run.output.replace("/submission/", "")[-20_000:]
            raise BuildError("\n".join(filter(None, [text.strip(), why])))
        try:
            data = run.read("program")
        except SandboxError as error:
            raise BuildError(str(error)) from error
    program = folder / "program" / lab.server
    program.write_bytes(data)
    os.chmod(program, 0o755)
    said, called = without_trace(run.output)
    if called:
        raise BuildError("it uses " + ", ".join(f"{name}()" for name in called)
                         + " of common/, which is what the lab asks you to write")
    return program, said.replace("/submission/", "")


def without_trace(output):
    """Return (the output without the linker's lines about forbidden symbols,
    those that the submission uses and an object of common/ defines). The
    linker names such an object as ARCHIVE(OBJECT)."""
    rest, used, given = [], {}, set()
    for line in output.splitlines(keepends=True):
        match = re.match(r"(?:\S+: )?(\S+): (reference to|definition of) (\w+)$", line)
        if not match:
            rest.append(line)
        elif not match[1].endswith(")"):
            used[match[3]] = True   # or defined, by a weak symbol too
        elif match[2] == "definition of":
            given.add(match[3])
    return "".join(rest), [name for name in used if name in given]


def by_hand(words):
    """Compile one's own submission (without one, the starter) into build/labs/NN_name/ and print
    the path of the program; return the exit status. Not for programs of strangers."""
    if len(words) not in (1, 2):
        print("usage: python3 -m labs.grade.build LAB [SUBMISSION]", file=sys.stderr)
        return 2
    try:
        lab = find(words[0])
        if len(words) > 1 and not Path(words[-1]).exists():
            raise BuildError(f"SUBMISSION={words[-1]}: there is no such file or folder")
        compiler, linker = packages(lab)
        program = TOP / "build" / "labs" / lab.folder.name / lab.server
        program.parent.mkdir(parents=True, exist_ok=True)
        path = Path(words[-1])
        if len(words) == 1:
            path = program.parent / "starter"
            shutil.rmtree(path, ignore_errors=True)
            starter.write(lab, path)
    except (LabError, BuildError) as error:
        print(error, file=sys.stderr)
        return 2
    sources = [path] if path.is_file() else sorted(path.glob("*.c"))
    done = subprocess.run(
        ["gcc", *(flag.format(common=TOP / "common") for flag in FLAGS),
         *compiler, "-o", str(program), *map(str, sources), str(ARCHIVE), *linker], check=False)
    if done.returncode == 0:
        print(program.relative_to(TOP))
    return done.returncode


if __name__ == "__main__":
    sys.exit(by_hand(sys.argv[1:]))
