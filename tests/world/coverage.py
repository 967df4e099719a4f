#!/usr/bin/python3
"""Count the branches of common/ that the simulated worlds take.

    tests/world/coverage.py [ARGUMENT of the worlds' programs ...]

Builds the programs for gcov in build/coverage/world/, runs 20,000 worlds of each
server or what the arguments say, and prints for each file how many of its branches
were taken, and those that never were. The exit status is 0 if each file has at
least 95 %.
"""

import json
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
OUT = TOP / "build" / "coverage" / "world"
# The program of a world: the folder of its Makefile, where its objects are, and which
# files of common/ it is for.
PROGRAMS = {
    "drivers": (TOP / "tests/world", OUT / "common",
                ("event_loop", "serve_blocking", "redis_async", "redis")),
    "processes": (TOP / "tests/world/processes", OUT / "processes-objects/common",
                  ("worker_processes",)),
}
ENOUGH = 95             # percent


def branches(objects, name):
    """Return [(line, how often each branch of it was taken), ...] of a file."""
    text = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities", f"{name}.o"],
        cwd=objects, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        for file in json.loads(line)["files"]:
            if file["file"].endswith(f"/common/{name}.c"):
                return [(entry["line_number"],
                         [b["count"] for b in entry["branches"]])
                        for entry in file["lines"] if entry["branches"]]
    raise SystemExit(f"coverage.py: gcov says nothing about {name}.c")


def count(program, arguments):
    """Run the program of a world; print what it took. Returns for each file whether
    it is enough."""
    folder, objects, files = PROGRAMS[program]
    subprocess.run(["make", "-s", "-C", folder, "COVERAGE=1", f"OUT={OUT}"], check=True,
                   stdout=subprocess.DEVNULL)
    for old in objects.glob("*.gcda"):
        old.unlink()
    subprocess.run([OUT / program, *arguments], check=False)
    enough = []
    for name in files:
        source = (TOP / "common" / f"{name}.c").read_text().splitlines()
        lines = branches(objects, name)
        total = sum(len(counts) for _, counts in lines)
        taken = sum(count > 0 for _, counts in lines for count in counts)
        enough.append(taken * 100 >= total * ENOUGH)
        print(f"{name}.c: {taken} of {total} branches, {100 * taken / total:.1f} %")
        for number, counts in lines:
            if 0 in counts:
                print(f"  {number:4d} {counts.count(0)} never: "
                      f"{source[number - 1].strip()}")
    return enough


def main():
    arguments = sys.argv[1:] or ["--worlds", "20000"]
    enough = [yes for program in PROGRAMS for yes in count(program, arguments)]
    print(f"{sum(enough)} passed, {len(enough) - sum(enough)} failed")
    return not all(enough)


if __name__ == "__main__":
    sys.exit(main())
