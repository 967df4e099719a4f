"""Figures that are committed: the options that the scripts behind
docs/results/cost/ share, and the file that each of them writes."""

import argparse
import json
import os
import random
import statistics
import time
from pathlib import Path

from bench.machine import facts as machine
from bench.run import servers

FOLDER = Path(servers.TOP) / "docs" / "results" / "cost"


def parser(doc, name, repeat=5, seconds=2.0):
    """Return a parser with the options --repeat, --seconds (of a run) and
    --out, by default FOLDER/name; `doc` is the head of the script."""
    env = os.environ.get
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawTextHelpFormatter)
    made.add_argument("--repeat", type=int,
                      default=int(env("REPEAT") or repeat))
    made.add_argument("--seconds", type=float,
                      default=float(env("SECONDS") or seconds))
    made.add_argument("--out", type=Path, default=FOLDER / name)
    return made


def in_rounds(cells, repeat, measure, say):
    """Measure each of `cells` (tuples) `repeat` times, in rounds, shuffled.
    `measure(*cell)` returns a row, `say(row)` what the line about it shall
    tell beside cell and time left. Returns {cell: rows}, in that order."""
    found = {cell: [] for cell in cells}
    began, done = time.monotonic(), 0
    for number in range(repeat):
        for cell in random.sample(cells, len(cells)):
            row = measure(*cell)
            found[cell].append(row)
            done += 1
            left = (time.monotonic() - began) / done \
                * (repeat * len(cells) - done)
            print(f"{number + 1}/{repeat} {' '.join(map(str, cell)):40} "
                  f"{say(row)}   {left:4.0f} s left", flush=True)
    return found


def medians(rows):
    """Return {key: median} of rows that all have the same keys."""
    return {key: statistics.median(row[key] for row in rows)
            for key in rows[0]}


def write(options, command, **found):
    """Write what was `found` (members of a JSON object) to options.out, with
    how, when and on which machine. Raises OSError."""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(
        {"schema_version": 1, "machine": machine.facts(),
         "sources": machine.commit(), "command": command,
         "repeat": options.repeat, "seconds": options.seconds, **found},
        indent=1) + "\n")
    print(f"written to {os.path.relpath(options.out)}")
