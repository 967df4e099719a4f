"""Do two runs agree?

    python3 -m bench diff RUN RUN           (make compare-runs RUNS="RUN RUN")

RUN is a folder of `make compare`. Two runs disagree about a comparison when
they name opposite winners, or when one says "the same", the other does not,
and their intervals do not overlap. Exit status: 0 when none disagrees, 1 when
some do, 2 when the runs have no comparison in common.
"""

import json
import os
import sys

from bench.analyse.stats import EQUAL, LESS, MORE

DECIDED = (MORE, LESS, EQUAL)
NAMES = ("variant", "x", "server", "base", "metric")


def table(summary):
    """Return {(experiment, *NAMES): comparison} of a summary. Raises KeyError
    for one that is older than comparisons."""
    return {(experiment["name"], *(one[name] for name in NAMES)): one
            for experiment in summary["experiments"]
            for one in experiment["comparisons"]}


def disagree(one, other):
    """Whether two decided comparisons of the same servers contradict each
    other."""
    verdicts = {one["verdict"], other["verdict"]}
    if EQUAL in verdicts:
        return one["high"] < other["low"] or other["high"] < one["low"]
    return verdicts == {MORE, LESS}


def show(first, second):
    """Print how two tables compare; return the exit status."""
    both = [key for key in first if key in second]
    decided = [key for key in both if first[key]["verdict"] in DECIDED
               and second[key]["verdict"] in DECIDED]
    apart = [key for key in decided if disagree(first[key], second[key])]
    if not both:
        print("bench diff: the runs have no comparison in common",
              file=sys.stderr)
        return 2
    for experiment, variant, x, server, base, metric in apart:
        key = experiment, variant, x, server, base, metric
        print(" ".join(filter(None, (experiment, variant))) + f" at {x:,}, "
              f"{metric}: {server} compared with {base}: "
              f"{first[key]['words']}; then {second[key]['words']}")
    print(f"{len(both)} comparisons in both runs, {len(decided)} of them "
          f"decided in both, {len(apart)} of these disagree")
    return 1 if apart else 0


def main(words=None):
    """Do what the head of this file says; return the exit status."""
    words = sys.argv[1:] if words is None else words
    if len(words) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    tables = []
    for run in words:
        try:
            with open(os.path.join(run, "summary.json"),
                      encoding="utf-8") as file:
                tables.append(table(json.load(file)))
        except (OSError, ValueError, KeyError) as error:
            print(f"bench diff: {run}/summary.json: {error!r}; give two "
                  "folders that `make compare` left in results/ (`python3 -m "
                  f"bench report {run}` makes the summary again)",
                  file=sys.stderr)
            return 2
    return show(*tables)
