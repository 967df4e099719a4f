#!/usr/bin/env python3
"""Do two runs of `make compare` agree?

    make compare-runs RUNS="results/A results/B"

Sets the median rate of each cell of the second beside that of the first. A
cell that is noisy in one of the two is left out of the verdict; and noisy is
here also what was measured once only, or on a core more than 5 % slower than
it was at its best in either run. Prints the cells that differ by more than
10 %, and those that have a rate in one run and none in the other, then how
many agree. Exit status: 0 when all do, 1 when some do not, 2 when that cannot
be told, as when every cell is noisy.
"""

import os
import sys

import results
import summary

AGREE = 10.0            # per cent
SLOWER = 5.0            # per cent: else a slow core is taken for a difference
CELL = ("experiment", "variant", "server", "x")


def cells(rows, fastest):
    """Return {cell: its point, see summary.point()}."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in CELL), []).append(row)
    return {cell: summary.point(mine, fastest)
            for cell, mine in found.items()}


def doubts(point, fastest):
    """Return in words why a point says nothing about a difference."""
    slow = [f"{summary.GAUGES[gauge]} slower"
            for gauge, best in fastest.items()
            if (point["values"].get(gauge) or 0) > best * (1 + SLOWER / 100)]
    return point["noisy"] + slow + ["one run"] * (point["runs"] < 2)


def compare(first, second):
    """Return [(cell, rate, rate in the second, [why it is in doubt])] of the
    cells that both runs (lists of rows) tried. No rate is 0, and is never in
    doubt."""
    fastest = summary.fastest_cores(first + second)
    one, two = cells(first, fastest), cells(second, fastest)
    pairs = []
    for cell in [cell for cell in one if cell in two]:
        points = one[cell], two[cell]
        rates = [point["rate"]["median"] if point["rate"] else 0
                 for point in points]
        if any(rates):
            why = [] if 0 in rates else [
                word for point in points for word in doubts(point, fastest)]
            pairs.append((cell, *rates, why))
    return pairs


def difference(rate, other):
    """Return per cent of the first; without one, infinitely many."""
    return 100 * (other / rate - 1) if rate else float("inf")


def show(pairs):
    """Print what differs, and the verdict; return the exit status."""
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
    return 1 if apart else 0 if quiet else 2


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
    return show(pairs)


if __name__ == "__main__":
    sys.exit(main())
