#!/usr/bin/env python3
"""Do two runs of `make compare` agree?

    make compare-runs RUNS="results/A results/B"

Sets the median rate of each cell of the second beside that of the first. A cell
that is noisy in one of the two is left out of the verdict; and noisy is here
also what was measured on a core slower than it was at its best in either run.
Prints the cells that differ by more than 10 %, then how many do not. Exit
status: 0 when none does, 1 when some do, 2 when that cannot be told.
"""

import os
import sys

import results
import summary

AGREE = 10.0            # per cent
CELL = ("experiment", "variant", "server", "x")


def cells(rows, fastest):
    """Return {cell: its point, see summary.point()}."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in CELL), []).append(row)
    return {cell: summary.point(mine, fastest)
            for cell, mine in found.items()}


def compare(first, second):
    """Return [(cell, rate, rate in the second, [why it is noisy])] of what
    both runs (lists of rows) have a rate for."""
    fastest = summary.fastest_cores(first + second)
    one, two = cells(first, fastest), cells(second, fastest)
    return [(cell, one[cell]["rate"]["median"], two[cell]["rate"]["median"],
             list(dict.fromkeys(one[cell]["noisy"] + two[cell]["noisy"])))
            for cell in one if cell in two
            and one[cell]["rate"] and two[cell]["rate"]
            and one[cell]["rate"]["median"] > 0]


def difference(rate, other):
    """Return per cent of the first."""
    return 100 * (other / rate - 1)


def show(pairs):
    """Print what differs, and the verdict; return how many do."""
    quiet = [pair for pair in pairs if not pair[3]]
    apart = [pair for pair in quiet
             if abs(difference(*pair[1:3])) > AGREE]
    for cell, rate, other, _ in apart:
        where = " ".join(str(part) for part in cell
                         if part not in (None, ""))
        print(f"{where:44} {rate:10.0f} {other:10.0f} "
              f"{difference(rate, other):+6.1f} %")
    print(f"{len(pairs)} cells in both runs, {len(pairs) - len(quiet)} of them "
          f"noisy; of the other {len(quiet)}, {len(quiet) - len(apart)} agree "
          f"within {AGREE:.0f} %, {len(apart)} do not")
    return len(apart)


def main():
    """Do what the head of this file says; return the exit status."""
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        first, second = (results.read_rows(os.path.join(run, "samples.csv"))
                         for run in sys.argv[1:])
    except OSError as error:
        print(f"agree.py: {error.filename}: {error.strerror}; give two "
              "folders that `make compare` left in results/", file=sys.stderr)
        return 2
    pairs = compare(first, second)
    if not pairs:
        print("agree.py: the two runs have no cell in common",
              file=sys.stderr)
        return 2
    return 1 if show(pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
