#!/usr/bin/python3
"""Measure the shape of the C sources against its limits.

    tests/shape.py                   the table of limits; status 1 if one is exceeded
    tests/shape.py --no-gcov         without the one that builds and runs 01

A reader must be able to read all of the C, and to see one idea in the diff of two
neighbouring servers. Each limit keeps one part of that promise. Totals are reported,
not limited (`make lines`): a limit on the total would shape the code.
"""

import argparse
import collections
import fcntl
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
FUNCTION, FILE = 50, 400        # lines; of a function, from its heading to its brace
WIDE = 77                       # columns; a line of as many can hardly be edited
WIDE_PERCENT = 3                # of all lines
QUESTIONS = 40                  # lines with `?` in code
# Changed lines between two mains: what `diff A B | grep -c '^[<>]'` counts.
NEIGHBOURS = {("01", "02"): 120, ("01", "03"): 140, ("02", "03"): 170,
              ("03", "05"): 170, ("04", "05"): 170, ("06", "07"): 130}
# Nothing that 01 includes includes what an event loop needs.
NO_EPOLL = {"epoll.h", "event_loop.h", "redis_async.h"}
TOUCHED = 14                    # .c files with a line that a static GET in 01 executes

# What was measured, its value (None: it cannot be), its limit, and a line for each
# place that explains an exceeded limit.
Limit = collections.namedtuple("Limit", "what value limit places")

# clang-format puts the heading of a function and both of its braces in column 1.
FUNCTION_TEXT = re.compile(r"^\w[^;={}/#]*?\b(\w+)\([^;{}]*\) *\n\{\n.*?^\}$", re.M | re.S)
NO_CODE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
                     re.S)


def sources(top):
    """Return {path relative to top: text} of the mains and of common/."""
    found = [*top.glob("0[1-9]_*/main.c"), *top.glob("common/**/*.[ch]")]
    return {str(path.relative_to(top)): path.read_text() for path in sorted(found)}


def lines_of(texts):
    """Yield ("path:line", line) for each line of the sources."""
    for path, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            yield f"{path}:{number}", line


def text_limits(texts):
    """Return the Limits for what can be counted in each file alone."""
    code = {path: NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
            for path, text in texts.items()}
    functions = [(len(found[0].splitlines()),
                  f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {found[1]}")
                 for path, text in code.items()
                 for found in FUNCTION_TEXT.finditer(text)]
    # Otherwise this script no longer understands the sources.
    if len(functions) != sum(line == "}" for _, line in lines_of(texts)):
        functions = []
    files = [(len(text.splitlines()), path) for path, text in texts.items()]
    wide = [place for place, line in lines_of(texts) if len(line) >= WIDE]
    questions = [place for place, line in lines_of(code) if "?" in line]
    return [longest("longest function", functions, FUNCTION),
            longest("longest file", files, FILE),
            Limit(f"% of lines with {WIDE} columns or more",
                  round(100 * len(wide) / max(sum(1 for _ in lines_of(texts)), 1), 1),
                  WIDE_PERCENT, wide),
            Limit("lines with `?` in code", len(questions), QUESTIONS, questions)]


def longest(what, found, limit):
    """Return the Limit for the largest of [(lines, place)]."""
    return Limit(what, max(found)[0] if found else None, limit,
                 [f"{place} has {lines} lines" for lines, place in found if lines > limit])


def epoll_limit(texts):
    """Return the Limit for the epoll headers that 01 includes, directly or not."""
    files = {os.path.basename(path): text for path, text in texts.items()
             if path.startswith("common/")}
    found = {"main.c": "01_iterative/main.c"}
    for name in (waiting := ["main.c"]):
        text = texts.get(found[name], "") if name == "main.c" else files.get(name, "")
        for header in re.findall(r'^\s*#\s*include\s*["<](?:.*/)?(\S+)[">]', text, re.M):
            if header not in found:
                found[header] = f"{found[name]} > {header}"
                waiting.append(header)
    ways = [way for header, way in found.items() if header in NO_EPOLL]
    return Limit("epoll headers that 01 includes", len(ways), 0, ways)


def neighbour_limits(top):
    """Return the Limits for the changed lines between neighbouring mains."""
    def changed(*numbers):
        mains = [next(top.glob(f"{number}_*/main.c"), None) for number in numbers]
        if None in mains:
            return None
        said = subprocess.run(["diff", *mains], capture_output=True, text=True, check=False)
        return sum(line[:1] in ("<", ">") for line in said.stdout.splitlines())

    return [Limit(f"changed lines {left}-{right}", changed(left, right), limit, [])
            for (left, right), limit in NEIGHBOURS.items()]


def touched_files(top):
    """Return the .c files with a line that one static GET executes in 01: builds it with
    gcov's counters and sends three. accept_window.c counts only the second one. Another of us
    that runs in this tree waits: both would build and count in the same folder."""
    build = top / "build/gcov"
    build.mkdir(parents=True, exist_ok=True)
    with open(build / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return executed_files(top, build)


def executed_files(top, build):
    """Return what touched_files() does, with the folder `build` for ourselves."""
    window = build / "accept_window.o"
    run("gcc", "-O0", "-g", "-fPIE", "-c", "-o", window, TOP / "tests/accept_window.c")
    for old in (build / "bin/iterative", *build.rglob("*.gcda")):
        old.unlink(missing_ok=True)     # libgcov would add to its counters
    run("make", "-C", top, f"-j{os.cpu_count()}", "FLAVOUR=gcov", "CC=gcc",
        "CFLAGS=-O0 -g --coverage", "LDFLAGS=-Wl,--wrap=accept,--wrap=accept4,"
        f"--wrap=syscall {window}", "build/gcov/bin/iterative")
    with subprocess.Popen([build / "bin/iterative", "--port", "0", "--redis", "none",
                           "--root", top], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as server:
        try:
            url = next(filter(None, (re.search(r"http://\S+?/", line)
                                     for line in server.stdout)))[0]
            for _ in range(3):
                with urllib.request.urlopen(f"{url}index.html", timeout=60) as answer:
                    answer.read()
        finally:
            server.kill()
    documents = run("gcov", "--json-format", "--stdout", *build.rglob("*.gcda"))
    return sorted({os.path.normpath(file["file"]) for document in documents.splitlines()
                   for file in json.loads(document)["files"] if file["file"].endswith(".c")
                   and any(line["count"] for line in file["lines"])})


def run(*command):
    """Run a command without the switches of the make that may have called us; return
    its output. Raises OSError if it fails."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(list(map(str, command)), env=environment, text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{command[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def touched_limit(top):
    """Return the Limit for the files that one static GET touches."""
    try:
        files = touched_files(top)
    except (OSError, StopIteration) as error:
        files = [f"cannot be measured: {error!r}"]
        return Limit("files that one static GET executes in 01", None, TOUCHED, files)
    return Limit("files that one static GET executes in 01", len(files), TOUCHED, files)


def report(limits):
    """Print the table and what exceeds it; return whether all limits hold."""
    failed = [one for one in limits if one.value is None or one.value > one.limit]
    print(f"{'limit':<46} {'value':>7} {'limit':>7}")
    for one in limits:
        print(f"{one.what:<46} {'-' if one.value is None else one.value:>7} "
              f"{one.limit:>7}" + ("  FAILED" if one in failed else ""))
    for one in failed:
        value = "missing" if one.value is None else one.value
        print(f"\nFAILED: {one.what}: {value}, limit {one.limit}", *one.places,
              sep="\n    ")
    print(f"{len(limits) - len(failed)} passed, {len(failed)} failed")
    return not failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--top", type=Path, metavar="DIR", default=TOP,
                        help="the tree to measure (default: this one)")
    parser.add_argument("--no-gcov", action="store_true",
                        help="skip the limit that builds and runs 01_iterative")
    options = parser.parse_args()
    top = options.top.resolve()
    texts = sources(top)
    limits = [*text_limits(texts), *neighbour_limits(top), epoll_limit(texts)]
    return not report(limits if options.no_gcov else [*limits, touched_limit(top)])


if __name__ == "__main__":
    sys.exit(main())
