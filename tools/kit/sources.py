"""Which C sources a figure holds for: a hash of their tokens, and which hashes cost the same.

    sources.hashed()                    of the work tree: "bdaba32ce438c990"
    sources.costs_as("bdaba32c...")     whether figures of that hash hold for the work tree
"""

import hashlib
import json
import math
import re
from pathlib import Path

from tools.kit import TOP, servers

# What `make exact AGAINST=COMMIT` has written for two hashes, a file for each pair.
SAME_COST = "docs/results/same_cost"
LIMIT = 0.01            # share of a request's instructions; what differs by more is not the same
# What must have been counted of each of the seven: all that a run may have measured.
CELLS = {"answer", "answer-kept", "hello", "hello-kept", "guestbook", "guestbook-kept", "redirect",
         "post", "pipelined", "file-10k", "file-1m"}


def tokens(text):
    """Return C source as its tokens with one blank between them, without comments."""
    words = re.findall(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\w+|\S""",
                       text, re.DOTALL)
    return " ".join(word for word in words if not word.startswith(("/*", "//")))


def hashed(top=TOP):
    """Return a hash of the tokens of the servers' C sources in the tree `top`: figures that were
    measured on other ones are stale, unless costs_as() says that they cost the same. Comments, the
    layout of lines and the version do not count."""
    found, top = hashlib.sha256(), Path(top)
    for path in sorted((*top.glob("0?_*/*.[ch]"), *top.glob("common/**/*.[ch]"))):
        text = re.sub(r'(?<=SERVER_VERSION )"[^"]*"', "", tokens(path.read_text(encoding="utf-8")))
        found.update(f"{path.name} {text}\n".encode())
    return found.hexdigest()[:16]


def difference(was, now):
    """Return by how much a cell's two costs differ, (user, kernel) each, as a share of the first:
    0.02 means that the second has 2 % more instructions."""
    return sum(now) / sum(was) - 1


def largest(cells):
    """Return the largest difference(), without its sign, in {server: {cell: (was, now)}}."""
    return max(abs(difference(*both)) for by_cell in cells.values() for both in by_cell.values())


def whole(cells):
    """Return whether {server: {cell: ...}} has all CELLS of each of the seven."""
    return all(CELLS <= cells.get(one.name, {}).keys() for one in servers.ARCHITECTURES)


def costs_as(one, top=TOP):
    """Return whether a request costs in the tree `top` what it costs in the sources with the hash
    `one`: they are the same, or have been counted side by side. There may be several steps between
    them, whose differences together stay within LIMIT."""
    steps = [json.loads(path.read_text(encoding="utf-8"))
             for path in sorted(Path(top, SAME_COST).glob("*.json"))]
    steps = [step for step in steps if whole(step["cells"])]
    pairs = [(step[first]["hash"], step[second]["hash"], largest(step["cells"]))
             for step in steps for first, second in (("was", "now"), ("now", "was"))]
    far, reached = {hashed(top): 0.0}, [hashed(top)]
    for here in reached:        # which grows
        for other, ours, step in pairs:
            away = far[here] + step
            if ours == here and away <= LIMIT and away < far.get(other, math.inf):
                far[other] = away
                reached.append(other)
    return one in far


def age(one):
    """Return how the sources with the hash `one`, which a run names, compare with the work tree's:
    words for a table."""
    if one == hashed():
        return "as now"
    return "cost the same" if costs_as(one) else "stale: the C code has changed since"
