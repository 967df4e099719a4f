"""What many runs would find, from the rounds of one long run of the study
self-check. Each cell starts its server anew, so rounds do not depend on each other.
"""

import random

from bench.analyse import stats
from bench.analyse.comparisons import METRICS, by_round

RUN, SESSIONS = 12, 100


def verdict(mine, base, rounds):
    """Return what an adaptive session finds that measures the figures of two servers,
    {round: figure}, in the order of `rounds`: it stops at the look that settles it."""
    for look in stats.LOOKS:
        one = stats.compare({number: mine[number] for number in rounds[:look]}, base)["verdict"]
        if one not in (stats.UNKNOWN, stats.FEW):
            break
    return one


def different(mine, base, seed=0):
    """Return how many of SESSIONS call two servers different. Each draws its rounds anew,
    none of them twice: a round that counts twice would look like evidence."""
    both, draw = sorted(mine.keys() & base.keys()), random.Random(seed)
    return sum(verdict(mine, base, draw.sample(both, min(len(both), stats.LOOKS[-1])))
               in (stats.MORE, stats.LESS) for _ in range(SESSIONS))


def found(mine, base, expected):
    """Return (in how many runs of RUN rounds the verdict is `expected`, how many there are)."""
    both = sorted(mine.keys() & base.keys())
    runs = [both[at:at + RUN] for at in range(0, len(both) - RUN + 1, RUN)]
    return sum(stats.compare({number: mine[number] for number in one}, base, adaptive=False)
               ["verdict"] == expected for one in runs), len(runs)


def tell(rows, baseline, same, slower, unmetered):
    """Return lines about the servers with these names, compared with `baseline`, from the
    rows of a run with one load."""
    lines = []
    for metric, expected in zip(METRICS, (stats.MORE, stats.LESS)):
        told = next(iter(by_round(rows, metric).values()), {})
        if any(len(told.get(name, ())) < RUN for name in (baseline, same, slower, unmetered)):
            return [f"The self-check needs {RUN} rounds or more."]
        base = told[baseline]
        hits, runs = found(told[slower], base, expected)
        lines += [f"{metric}: {different(told[same], base)} of {SESSIONS} sessions call "
                  f"{same} different",
                  f"{metric}: {slower} is found in {hits} of {runs} runs of {RUN} rounds"]
    one = stats.compare(base, told[unmetered], adaptive=False)
    return [*lines, "the meters take {:.1f} % of the rate ({:.1f} to {:.1f})".format(
        *(100 * (1 - one[key]) for key in ("ratio", "high", "low")))]
