#!/usr/bin/python3
"""Count the branches of the drivers that the simulated world takes.

    tests/world/coverage.py [ARGUMENT of drivers ...]

Builds the drivers for gcov in build/coverage/world/, runs 20,000 worlds of each
server or what the arguments say, and prints for each file how many of its branches were taken, and those that
never were. The exit status is 0 if each file has at least 95 %.
"""

import json
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
OUT = TOP / "build" / "coverage" / "world"
FILES = ("event_loop", "serve_blocking", "redis_async", "redis")
ENOUGH = 95             # percent


def branches(name):
    """Return [(line, how often each branch of it was taken), ...] of a file."""
    text = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities", f"{name}.o"],
        cwd=OUT / "common", check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        for file in json.loads(line)["files"]:
            if file["file"].endswith(f"/common/{name}.c"):
                return [(entry["line_number"],
                         [b["count"] for b in entry["branches"]])
                        for entry in file["lines"] if entry["branches"]]
    raise SystemExit(f"coverage.py: gcov says nothing about {name}.c")


def main():
    arguments = sys.argv[1:] or ["--worlds", "20000"]
    subprocess.run(["make", "-s", "-C", TOP / "tests" / "world", "COVERAGE=1",
                    f"OUT={OUT}"], check=True, stdout=subprocess.DEVNULL)
    for old in OUT.glob("common/*.gcda"):
        old.unlink()
    subprocess.run([OUT / "drivers", *arguments], check=False)
    passed = 0
    for name in FILES:
        source = (TOP / "common" / f"{name}.c").read_text().splitlines()
        lines = branches(name)
        total = sum(len(counts) for _, counts in lines)
        taken = sum(count > 0 for _, counts in lines for count in counts)
        passed += taken * 100 >= total * ENOUGH
        print(f"{name}.c: {taken} of {total} branches, {100 * taken / total:.1f} %")
        for number, counts in lines:
            if 0 in counts:
                print(f"  {number:4d} {counts.count(0)} never: "
                      f"{source[number - 1].strip()}")
    print(f"{passed} passed, {len(FILES) - passed} failed")
    return passed < len(FILES)


if __name__ == "__main__":
    sys.exit(main())
