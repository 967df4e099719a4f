#!/usr/bin/env python3
"""Do two runs of `make compare` agree?

    make compare-runs RUNS="results/A results/B"

Sets the median rate of each cell of the second beside that of the first. A
cell that is noisy in one of the two, as its report marks it, is left out of
the verdict. Prints the cells that differ by more than 10 %, and those that
have a rate in one run and none in the other, then how many agree. Where a
core was slower all through one of the runs, what differs may be the machine's
doing: that is said, and nothing else can be. Exit status: 0 when all do, 1
when some do not, 2 when that cannot be told, as when every cell is noisy.
"""

import os
import sys

from bench.store import rundir as results
from bench.analyse import summary

AGREE = 10.0            # per cent
CELL = ("experiment", "variant", "server", "x")


def cells(rows):
    """Return {cell: its point, see summary.point()}."""
    typical = summary.typical_cores(rows)
    found, experiments = {}, {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in CELL), []).append(row)
    points = {cell: summary.point(mine, typical)
              for cell, mine in found.items()}
    for cell, one in points.items():
        experiments.setdefault(cell[0], []).append(one)
    for mine in experiments.values():
        summary.mark_lucky(mine)
    return points


def compare(first, second):
    """Return [(cell, rate, rate in the second, [why it is in doubt])] of the
    cells that both runs (lists of rows) tried. No rate is 0, and is never in
    doubt."""
    one, two = cells(first), cells(second)
    pairs = []
    for cell in [cell for cell in one if cell in two]:
        points = one[cell], two[cell]
        rates = [point["rate"]["median"] if point["rate"] else 0
                 for point in points]
        if any(rates):
            why = [] if 0 in rates else [
                word for point in points for word in point["noisy"]]
            pairs.append((cell, *rates, why))
    return pairs


def slower(first, second):
    """Return sentences on the cores that were slower in one of the runs from
    its beginning to its end, by more than rates may differ."""
    one, two = summary.typical_cores(first), summary.typical_cores(second)
    changes = {summary.GAUGES[gauge]: difference(one[gauge], two[gauge])
               for gauge in one if gauge in two}
    return [f"the {core} took {change:+.0f} % time for the same work all "
            "through the second run: what differs may be the machine"
            for core, change in changes.items() if abs(change) > AGREE]


def difference(rate, other):
    """Return per cent of the first; without one, infinitely many."""
    return 100 * (other / rate - 1) if rate else float("inf")


def show(pairs, machine=()):
    """Print what differs, and the verdict; return the exit status. `machine`
    are sentences that forbid to blame the servers."""
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
    for sentence in machine:
        print(sentence)
    if apart and not machine:
        return 1
    return 0 if quiet and not apart else 2


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
    return show(pairs, slower(first, second))


if __name__ == "__main__":
    sys.exit(main())
