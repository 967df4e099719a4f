"""Submissions that resemble each other, for a person to look at: similarity-tester's sim_c
compares their words, whatever the names, comments and spaces.

Lines that the starter has are left out: all share them.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from labs.grade import starter
from labs.grade.build import MOST_BYTES
from labs.grade.lab import LabError
from tools.kit import scratch

PROGRAM = "sim_c"
MISSING = ("similar submissions are not listed: there is no sim_c "
           "(Debian's package similarity-tester)")
RUN = 16                # words that are the same one after the other count
LEAST = 60              # percent that make a pair worth a look
MOST = 50               # pairs in a report, at most
SECONDS = 300
FEW = 8                 # lines of one's own; fewer say nothing
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
LINE = re.compile(r"^(\d+)\.c consists for (\d+) % of (\d+)\.c material$", re.MULTILINE)
OURS = "the server of the collection"


@dataclass(frozen=True)
class Pair:
    """Two submissions by name, and the percentage of the first that is in the second."""

    one: str
    other: str
    percent: int


def code_lines(paths):
    """Return the lines of files, without comments and the spaces around."""
    lines = []
    for path in sorted(paths):
        if path.is_file() and not path.is_symlink():
            with open(path, encoding="utf-8", errors="replace") as file:
                lines += COMMENT.sub(" ", file.read(MOST_BYTES)).splitlines()
    return [line.strip() for line in lines if line.strip()]


def known_lines(lab):
    """Return the set of lines of a lab's starter. Raises LabError."""
    with scratch.folder("similar") as folder:
        starter.write(lab, Path(folder, "starter"))
        return set(code_lines(Path(folder, "starter").glob("*.[ch]")))


def pairs(lab, submissions):
    """Return (Pairs with the most similar first, "" or why there are none).

    `submissions`: {name: folder}. The collection's own server is compared, too, if it is there."""
    if not shutil.which(PROGRAM):
        return [], MISSING
    try:
        known = known_lines(lab)
    except LabError as error:
        return [], f"similar submissions are not listed: {error}"
    files = {name: Path(folder).glob("*.[ch]") for name, folder in submissions.items()}
    files[OURS] = lab.solution_files()
    texts = {name: [line for line in code_lines(paths) if line not in known]
             for name, paths in files.items()}
    names = [name for name, lines in texts.items() if len(lines) >= FEW]
    with scratch.folder("similar") as folder:
        for number, name in enumerate(names):
            Path(folder, f"{number}.c").write_text("\n".join(texts[name]) + "\n", encoding="utf-8")
        try:
            said = subprocess.run(
                [PROGRAM, "-p", "-a", "-e", "-s", "-r", str(RUN), "-t", str(LEAST),
                 *(f"{number}.c" for number in range(len(names)))], cwd=folder, timeout=SECONDS,
                capture_output=True, text=True, check=False).stdout if names else ""
        except subprocess.TimeoutExpired:
            return [], f"similar submissions are not listed: {PROGRAM} took more than {SECONDS} s"
    return in_order((names[int(one)], names[int(other)], int(percent))
                    for one, percent, other in LINE.findall(said)), ""


def in_order(found):
    """Return Pairs, each two submissions once, the most similar first."""
    best = {}
    for one, other, percent in found:
        key = frozenset((one, other))
        if key not in best or best[key].percent < percent:
            best[key] = Pair(one, other, percent)
    return sorted(best.values(), key=lambda pair: (-pair.percent, pair.one, pair.other))[:MOST]
