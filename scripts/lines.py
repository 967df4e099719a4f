#!/usr/bin/python3
"""Print how many lines of C and Python each folder has.

    scripts/lines.py             now
    scripts/lines.py REV         at that commit, and now
"""

import collections
import io
import subprocess
import sys
import tarfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


def lines_by_folder(revision):
    """Return {(folder, "C" or "Python"): lines} of a commit; None: of the files that git
    tracks, as they are now."""
    counts = collections.Counter()
    if revision:
        archive = subprocess.run(["git", "archive", revision], cwd=TOP, check=True,
                                 capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            texts = [(one.name, tar.extractfile(one).read()) for one in tar if one.isfile()]
    else:
        names = subprocess.run(["git", "ls-files"], cwd=TOP, check=True, text=True,
                               capture_output=True).stdout.splitlines()
        texts = [(name, (TOP / name).read_bytes()) for name in names
                 if (TOP / name).is_file()]
    for name, text in texts:
        language = {".c": "C", ".h": "C", ".py": "Python"}.get(Path(name).suffix)
        depth = 2 if name.split("/")[0] in ("tests", "tools", "labs") else 1
        if language:
            folder = "/".join(Path(name).parent.parts[:depth]) or "."
            counts[folder, language] += text.count(b"\n")
            counts["total", language] += text.count(b"\n")
    return counts


def print_lines(revision):
    """Print lines by folder, now and, with a revision, before."""
    columns = {"now": lines_by_folder(None)}
    if revision:
        columns = {revision[:10]: lines_by_folder(revision), **columns}
    print(f"{'lines':<34}" + "".join(f"{name:>10}" for name in columns))
    every = {row for counts in columns.values() for row in counts}
    for row in sorted(every, key=lambda row: (row[1], row[0] == "total", row[0])):
        print(f"{row[1]:<8}{row[0]:<26}" + "".join(f"{counts[row]:>10}"
                                                   for counts in columns.values()))


if __name__ == "__main__":
    try:
        print_lines(sys.argv[1] if len(sys.argv) > 1 else None)
    except subprocess.CalledProcessError as error:
        sys.exit(f"lines.py: {error.stderr.decode().strip()}")
