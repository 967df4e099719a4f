"""Do two runs agree?

    python3 -m tools.bench diff RUN RUN           (make compare-runs RUNS="RUN RUN")

RUN is a folder of `make compare`, or, for one with FULL=1, docs/results/reference. Two runs
disagree about a comparison when they name opposite winners, or when one says "the same", the other
does not, and their intervals do not overlap.
Exit status: 0 when none disagrees, 1 when some do, 2 when the runs have no comparison in common.
"""

import sys

from tools.report import summaries
from tools.stats.stats import EQUAL, LESS, MORE


def table(run):
    """Return {(experiment, variant, x, server, base, metric): comparison} of a run. Raises
    OSError, ValueError and KeyError for another folder."""
    summary = summaries.read(run)
    keys = ("variant", "x", "server", "base", "metric")
    return {(experiment["name"], *map(one.get, keys)): one
            for experiment in summary["experiments"] for one in experiment["comparisons"]}


def disagree(one, other):
    """Return whether two decided comparisons contradict each other."""
    verdicts = {one["verdict"], other["verdict"]}
    if EQUAL in verdicts:
        return one["high"] < other["low"] or other["high"] < one["low"]
    return verdicts == {MORE, LESS}


def main(words):
    """Do what the head of this file says; return the exit status."""
    if len(words) != 2:
        print(f"compare-runs: RUNS has to name two folders, and names {len(words)}: "
              'RUNS="results/A results/B", as `make compare` leaves them', file=sys.stderr)
        return 2
    tables = []
    for folder in words:
        try:
            tables.append(table(folder))
        except (OSError, ValueError, KeyError) as error:
            print(f"compare-runs: RUNS: {folder} is no folder of a run ({error!r}). "
                  "`make compare` leaves such folders in results/", file=sys.stderr)
            return 2
    first, second = tables
    both = [(key, first[key], second[key]) for key in first if key in second]
    if not both:
        print("bench diff: the runs have no comparison in common", file=sys.stderr)
        return 2
    decided = [pair for pair in both if all(
        one["verdict"] in (MORE, LESS, EQUAL) for one in pair[1:])]
    apart = [pair for pair in decided if disagree(*pair[1:])]
    for (experiment, variant, x, server, base, metric), one, other in apart:
        print(f"{experiment} {variant}".strip(), f"at {x:,}, {metric}: {server} compared with "
              f"{base}: {one['words']}; then {other['words']}")
    print(f"{len(both)} comparisons in both runs, {len(decided)} of them "
          f"decided in both, {len(apart)} of these disagree")
    return 1 if apart else 0
