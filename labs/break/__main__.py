"""Break-it labs: servers with one planted fault each.

    python3 -m labs.break list              what there is
    python3 -m labs.break build NAME [DIR]  writes the faulty server, and builds it
    python3 -m labs.break check NAME [DIR]  builds DIR and runs the lab's test
    python3 -m labs.break source NAME DIR   writes its sources only, for a class

DIR is build/break/NAME unless it is given. The exit status of check is 0 when the
test passes, 1 when it fails, and 2 when the server could not be tested.
"""

import argparse
import dataclasses
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.kit import TOP, process, scratch

HERE = TOP / "labs" / "break"
SOLUTIONS = HERE / "solutions"                  # absent in a handout


class BreakError(Exception):
    """There is no such lab, or it cannot be built; the text says why."""


@dataclasses.dataclass(frozen=True)
class BreakLab:
    """One lab: what the head of its README.md says."""

    name: str
    about: str
    folder: str             # "05_prethreaded"
    options: tuple          # for the command line of the server

    @property
    def home(self):
        """The folder with its README.md and test_regression.py."""
        return HERE / self.name

    @property
    def server(self):
        """The name of the executable."""
        return self.folder.partition("_")[2]


def names():
    """Return the names of all labs, in order."""
    return sorted(path.parent.name for path in HERE.glob("*/README.md"))


def find(name):
    """Return the BreakLab called `name`; an instructor may also use the name
    of the fault, the first word of its solution. Raises BreakError."""
    for page in SOLUTIONS.glob("*.md"):
        if page.read_text().startswith(f"# {name}:"):
            name = page.stem
    page = HERE / name / "README.md"
    if not name or not page.exists():
        raise BreakError(f"there is no lab {name!r}; there are: " + ", ".join(names()))
    text = page.read_text()
    title = re.match(r"# (.+)\n", text)
    told = dict(re.findall(r"^- (Server|Options): `?(.+?)`?$", text, re.MULTILINE))
    if not title or "Server" not in told:
        raise BreakError(f"{page.relative_to(TOP)} must begin with `# ...` and `- Server: ...`")
    return BreakLab(name, title[1], told["Server"], tuple(shlex.split(told.get("Options", ""))))


def write(lab, target, built=False):
    """Write the sources of the faulty server into the folder `target`, which
    must not exist, and build them if `built`. Raises BreakError."""
    if target.exists():
        raise BreakError(f"{target} exists; delete it to begin again")
    given = lab.home / "source"
    if given.is_dir():      # in a handout, which has no tools/variant
        shutil.copytree(given, target)
        if built:
            make(lab, target)
        return
    from tools.variant import copy, what

    class Faulty(what.Variant):
        """The lab as a variant, with its patch and its copy in other places."""
        patch = lab.home / "fault.patch"
        copy = target

    try:
        (copy.build if built else copy.apply)(
            Faulty(lab.name, lab.about, (lab.folder,), lab.options, "one-shot-100"))
    except what.VariantError as error:
        raise BreakError(str(error)) from error


def make(lab, target):
    """Build a folder that write() wrote; return the path of the executable.
    Raises BreakError with the compiler's output."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    if not (target / "Makefile").exists():
        raise BreakError(f"there is no {target}/Makefile; "
                         f"make break NAME={lab.name} writes that folder")
    done = subprocess.run(["make", "-C", target, lab.server], text=True,
                          check=False, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise BreakError(f"{target} does not build:\n{done.stdout}")
    return target / lab.server


def check(lab, program):
    """Run the lab's test on an executable; return pytest's exit status."""
    # Not in the folder of pytest's own choice: in a user namespace we are root by name, and on
    # a machine of many users that folder belongs to the first one.
    with scratch.folder("break") as folder:
        return pytest.main([
            str(lab.home), "--program", str(Path(program).resolve()), "--options",
            shlex.join(lab.options), "-q", "--tb=line", "--no-header", "-p",
            "no:cacheprovider", "-c", os.devnull, "--rootdir", str(HERE),
            "--confcutdir", str(HERE), "--basetemp", f"{folder}/pytest"])


def shown(path):
    """Return a path as a user would type it here."""
    path = Path(path).resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def say_how(lab, target):
    """Print how to start the server that write() has built."""
    folder = shown(target)
    words = " ".join(lab.options)
    print(f"The sources are in {folder}/{lab.folder} and {folder}/common.")
    for what, command in (
            ("start", f"scripts/with_redis.sh {folder}/{lab.server} --redis "
             f"@REDIS@ {words}".rstrip()),
            ("watch", f"make watch-{lab.folder[:2]} FROM={folder}"
             + (f" ARGS='{words}'" if words else "")),
            ("build", f"make -C {folder} {lab.server}"),
            ("check", f"make break-check NAME={lab.name}")):
        print(f"  {what}   {command}")


def main():
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m labs.break", description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=("list", "build", "check", "source"))
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--program", type=Path,
                        help="check this executable, which is built already")
    options = parser.parse_args()
    if options.command == "list":
        for lab in map(find, names()):
            print(f"{lab.name:25}{lab.folder:16}{lab.about}")
        return 0
    lab = find(options.name)
    target = (options.folder or TOP / "build" / "break" / lab.name).resolve()
    if options.command == "source":
        write(lab, target)
    elif options.command == "build":
        write(lab, target, built=True)
        say_how(lab, target)
    else:
        process.end_on_signals()        # so that sandbox and folder are removed
        status = check(lab, options.program or make(lab, target))
        return status if status in (0, 1) else 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BreakError as error:
        print(f"labs.break: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nlabs.break: stopped", file=sys.stderr)
        sys.exit(130)
