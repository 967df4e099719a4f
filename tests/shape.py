#!/usr/bin/python3
"""Measure the shape of the C sources against its budgets.

    tests/shape.py                   every budget
    tests/shape.py --no-gcov         without the one that builds and runs 01
    tests/shape.py --top DIR         another tree with the same layout

A reader must be able to read all of the C, and to see one idea in the diff of
two neighbouring servers. Each budget below keeps one part of that promise and
counts as one test. The script prints tables of actual values and budgets, names
every function, file and header above its budget, and closes with the line
`N passed, N failed`. The exit status is 0 only if no budget is exceeded.
tests/frame/test_shape.py shows that every check here can fail.
"""

import argparse
import collections
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

FUNCTION = 50                   # from the signature to the closing brace
FILE = 400
MAINS = ("01_iterative", "02_forking", "03_preforking", "04_threaded",
         "05_prethreaded", "06_poll", "07_epoll")

# Changed lines between two mains: what `diff A B | grep -c '^[<>]'` counts.
NEIGHBOURS = {("01", "02"): 120, ("01", "03"): 140, ("02", "03"): 170,
              ("03", "05"): 170, ("04", "05"): 170, ("06", "07"): 130}

# No blocking design borrows what an event loop needs.
CLOSURE_OF = "01_iterative/main.c"
NO_EPOLL = {"sys/epoll.h", "event_loop.h", "redis_async.h"}

# The .c files with a line executed while 01 serves one static GET.
TOUCHED = 14

# One budget: what was measured, its value, its limit, and a line for each place
# that explains an exceeded limit.
Budget = collections.namedtuple("Budget", "what actual limit places",
                                defaults=((),))


# ------------------------------------------------------------------ reading C

LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
                     re.DOTALL)


def without_comments(text, strings=True):
    """Return C source with its comments blanked and all line breaks kept.

    With strings=False the text between quotes is blanked too, so that a brace
    in a string does not look like a block.
    """
    def blank(match):
        word = match[0]
        if word[0] == "/":
            return " " + "\n" * word.count("\n")
        return word if strings else word[0] * 2

    return LITERAL.sub(blank, text)


def count_lines(text):
    """Return (all lines, lines of code) of C source."""
    code = [line for line in without_comments(text).splitlines() if line.strip()]
    return len(text.splitlines()), len(code)


def functions(text):
    """Yield (name, first line, number of lines) of each function defined in text.

    A function is a block at the outermost level whose heading has parentheses
    and no `=`. Its first line is the one where the heading begins.
    """
    code = without_comments(text, strings=False)
    # A directive may have any text, and it may continue on the next line.
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m[0].count("\n"),
                  code, flags=re.MULTILINE)
    depth, line, heading, start = 0, 1, "", 1
    for character in code:
        if character == "{":
            if depth == 0:
                name = name_of_function(heading)
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                if name:
                    yield name, start, line - start + 1
                heading = ""
        elif depth == 0:
            if character == ";":
                heading = ""
            elif heading or not character.isspace():
                if not heading:
                    start = line
                heading += character
        if character == "\n":
            line += 1


def name_of_function(heading):
    """Return the function's name if a block after `heading` is its body."""
    heading = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", heading, flags=re.DOTALL)
    found = re.search(r"(\w+)\s*\(", heading)
    return found[1] if found and "=" not in heading else None


# --------------------------------------------------------------- the C sources

def sources(top):
    """Return {path relative to top: text} of the mains and of common/."""
    found = [*top.glob("0[1-7]_*/main.c"), *top.glob("common/*.[ch]")]
    return {str(path.relative_to(top)): path.read_text() for path in sorted(found)}


def main_of(texts, number):
    """Return the path of the main of a server, given "01" to "07", or None."""
    return next((path for path in texts if path.startswith(f"{number}_")), None)


def size_budgets(texts):
    """Return the Budgets for the longest function and the longest file."""
    spans = [(length, f"{path}:{start}: {name} has {length} lines")
             for path, text in texts.items()
             for name, start, length in functions(text)]
    sizes = [(lines, f"{path} has {lines} lines") for path, text in texts.items()
             for lines, _ in [count_lines(text)]]
    budgets = []
    for what, found, limit in [("longest function", spans, FUNCTION),
                               ("longest file", sizes, FILE)]:
        above = [place for length, place in sorted(found, reverse=True)
                 if length > limit]
        # None at all means that this script no longer understands the sources.
        longest = max((length for length, _ in found), default=None)
        budgets.append(Budget(what, longest, limit, tuple(above)))
    return budgets


def changed_lines(top, first, second):
    """Return how many lines of two files diff(1) marks with < or >."""
    output = subprocess.run(["diff", top / first, top / second],
                            capture_output=True, text=True, check=False).stdout
    return sum(line[:1] in "<>" for line in output.splitlines() if line)


def neighbour_budgets(top, texts):
    """Return the Budgets for the changed lines between neighbouring mains."""
    budgets = []
    for (left, right), limit in NEIGHBOURS.items():
        pair = [main_of(texts, left), main_of(texts, right)]
        changed = changed_lines(top, *pair) if all(pair) else None
        budgets.append(Budget(f"changed lines {left}-{right}", changed, limit))
    return budgets


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def include_closure(texts, start):
    """Return (our files, headers of others) that `start` includes.

    A name in quotes is looked up next to the file that includes it and then in
    common/, as the compiler does. Our files are a dictionary: each file with the
    path of includes that leads to it.
    """
    ours, others = {start: start}, {}
    waiting = [start]
    while waiting:
        path = waiting.pop()
        for quoted, system in INCLUDE.findall(without_comments(texts[path])):
            where = [os.path.normpath(os.path.join(folder, quoted))
                     for folder in (os.path.dirname(path), "common")]
            file = next((w for w in where if quoted and w in texts), None)
            if file is None:
                others.setdefault(quoted or system, f"{ours[path]} > {quoted or system}")
            elif file not in ours:
                ours[file] = f"{ours[path]} > {file}"
                waiting.append(file)
    return ours, others


def closure_budgets(texts):
    """Return the Budgets for what a reader of 01's main has to include."""
    ours, others = {}, {}
    if CLOSURE_OF in texts:
        ours, others = include_closure(texts, CLOSURE_OF)
    epoll = tuple(way for name, way in {**ours, **others}.items()
                  if name in NO_EPOLL or os.path.basename(name) in NO_EPOLL)
    return [Budget("include closure of 01, epoll headers",
                   len(epoll) if ours else None, 0, epoll)]


def line_table(texts):
    """Return rows (folder, lines, lines of code): reported, not limited."""
    rows = collections.defaultdict(lambda: (0, 0))
    for path, text in texts.items():
        folder = path.partition("/")[0]
        rows[folder] = tuple(map(sum, zip(rows[folder], count_lines(text))))
    return [(folder, *counts) for folder, counts in sorted(rows.items())]


# ------------------------------------------------------ one GET, seen by gcov

GCOV = Path("build/gcov")       # the flavour, below the top of the tree
# accept_window.c decides which part of the run gcov counts.
WINDOW = Path(__file__).resolve().with_name("accept_window.c")
WRAP = "-Wl,--wrap=accept,--wrap=accept4,--wrap=syscall"


def touched_files(top):
    """Return the .c files with a line that one static GET executes in 01.

    Builds a flavour with gcov's counters, sends one GET to warm up, one to
    count, and one that makes the server write its counters.
    """
    build = top / GCOV
    build.mkdir(parents=True, exist_ok=True)
    window = build / "accept_window.o"
    run(["gcc", "-O0", "-g", "-fPIE", "-c", "-o", window, WINDOW])
    # make does not know that the executable depends on the window.
    (build / "bin/iterative").unlink(missing_ok=True)
    run(["make", f"-j{os.cpu_count() or 1}", "FLAVOUR=gcov", "CC=gcc",
         "CFLAGS=-O0 -g --coverage", f"LDFLAGS={WRAP} {window}",
         f"{GCOV}/bin/iterative"], cwd=top)
    for old in build.rglob("*.gcda"):
        old.unlink()            # libgcov would add to its counters
    with subprocess.Popen([build / "bin/iterative", "--port", "0", "--redis",
                           "none", "--root", top], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as server:
        try:
            port = ready_port(server.stdout)
            for _ in range(3):
                get_index(port)
        finally:
            server.kill()
    return executed(build)


def ready_port(lines):
    """Return the port that a server's ready line names; warnings may precede it."""
    said = []
    for line in lines:
        if port := re.search(r"http://\S+:(\d+)/", line):
            return int(port[1])
        said.append(line)
    raise RuntimeError(f"the gcov build of 01 did not start: {''.join(said)}")


def get_index(port):
    """Send a GET for the home page and read the answer to its end."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n"
                       b"Connection: close\r\n\r\n")
        answer = b""
        while data := client.recv(65536):
            answer += data
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"01 answered {answer[:40]!r}")


def executed(build):
    """Return the .c files with an executed line, by the counters in build/."""
    counters = [str(path.resolve()) for path in build.rglob("*.gcda")]
    if not counters:
        raise RuntimeError(f"the server wrote no counters to {build}")
    output = run(["gcov", "--json-format", "--stdout", *counters])
    found = set()
    for document in output.splitlines():
        for file in json.loads(document)["files"]:
            if file["file"].endswith(".c") and \
                    any(line["count"] for line in file["lines"]):
                found.add(os.path.normpath(file["file"]))
    return sorted(found)


def run(command, **settings):
    """Run a command and return its output; RuntimeError if it fails."""
    # The make that may have called us has handed down its own switches.
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run([str(word) for word in command], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, **settings)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} exited with status {done.returncode}:\n"
                           f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def touched_budget(top):
    """Return the Budget for the files that one static GET touches."""
    what = "files that one static GET executes in 01"
    try:
        files = touched_files(top)
    except (RuntimeError, OSError) as error:
        return Budget(what, None, TOUCHED, (f"could not be measured: {error}",))
    return Budget(what, len(files), TOUCHED, tuple(files))


# ------------------------------------------------------------------ the report

def passes(budget):
    """Return whether a Budget holds. What could not be measured does not."""
    return budget.actual is not None and budget.actual <= budget.limit


def print_report(budgets, lines):
    """Print the tables and the closing line; return how many budgets failed."""
    print(f"{'budget':<46} {'actual':>7} {'limit':>7}")
    for budget in budgets:
        actual = "-" if budget.actual is None else budget.actual
        print(f"{budget.what:<46} {actual:>7} {budget.limit:>7}"
              + ("" if passes(budget) else "  FAILED"))
    print(f"\n{'lines of C (no limit)':<46} {'all':>7} {'code':>7}")
    total = ("total", sum(row[1] for row in lines), sum(row[2] for row in lines))
    for name, count, code in [*lines, total]:
        print(f"{name:<46} {count:>7} {code:>7}")
    failed = [budget for budget in budgets if not passes(budget)]
    for budget in failed:
        actual = "missing" if budget.actual is None else budget.actual
        print(f"\nFAILED: {budget.what}: {actual}, limit {budget.limit}")
        for place in budget.places:
            print(f"    {place}")
    print(f"{len(budgets) - len(failed)} passed, {len(failed)} failed")
    return len(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--top", type=Path, metavar="DIR",
                        default=Path(__file__).resolve().parent.parent,
                        help="the tree to measure (default: this one)")
    parser.add_argument("--no-gcov", action="store_true",
                        help="skip the budget that builds and runs 01_iterative")
    options = parser.parse_args()
    top = options.top.resolve()
    texts = sources(top)
    budgets = [*size_budgets(texts), *neighbour_budgets(top, texts),
               *closure_budgets(texts)]
    if not options.no_gcov:
        budgets.append(touched_budget(top))
    return int(print_report(budgets, line_table(texts)) > 0)


if __name__ == "__main__":
    sys.exit(main())
