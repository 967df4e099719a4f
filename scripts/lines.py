#!/usr/bin/python3
"""Print how many lines of C and Python each folder has.

    scripts/lines.py             now
    scripts/lines.py REV         at that commit, and now
"""

import collections
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LANGUAGES = {".c": "C", ".h": "C", ".py": "Python"}


def lines_by_folder(revision):
    """Return {(language, folder): lines} of a commit; None: of the files that git tracks, as they
    are now."""
    words = ["git", "grep", "--count", "-e", "", *([revision] if revision else []), "--",
             *(f"*{ending}" for ending in LANGUAGES)]
    done = subprocess.run(words, cwd=TOP, check=True, text=True, capture_output=True)
    counts = collections.Counter()
    for line in done.stdout.splitlines():       # REV:PATH:LINES
        name, _, lines = line.removeprefix(f"{revision}:").rpartition(":")
        path = Path(name)
        depth = 2 if path.parts[0] in ("tests", "tools", "labs") else 1
        folder = "/".join(path.parent.parts[:depth]) or "."
        for row in (folder, "total"):
            counts[LANGUAGES[path.suffix], row] += int(lines)
    return counts


def print_lines(revision):
    """Print lines by folder, now and, with a revision, before."""
    columns = {"now": lines_by_folder(None)}
    if revision:
        columns = {revision[:10]: lines_by_folder(revision), **columns}
    print(f"{'lines':<34}" + "".join(f"{name:>10}" for name in columns))
    every = {row for counts in columns.values() for row in counts}
    for language, folder in sorted(every, key=lambda row: (row[0], row[1] == "total", row[1])):
        print(f"{language:<8}{folder:<26}" + "".join(
            f"{counts[language, folder]:>10}" for counts in columns.values()))


if __name__ == "__main__":
    try:
        print_lines(sys.argv[1] if len(sys.argv) > 1 else None)
    except subprocess.CalledProcessError as error:
        sys.exit(f"lines.py: {error.stderr.strip()}")
