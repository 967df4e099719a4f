"""What many runs would find, from the rounds of one long run of the study self-check. Each
cell starts a new server, so rounds do not depend on each other."""

import random

from tools.stats.comparisons import METRICS, by_round
from tools.stats.stats import FEW, LESS, LOOKS, MORE, UNKNOWN, compare

RUN, SESSIONS = 12, 100


def different(mine, base):
    """Return how many of SESSIONS call two servers different, {round: figure} each. A session
    draws its rounds, none twice, and stops at the look that settles it."""
    both, draw, count = sorted(mine.keys() & base.keys()), random.Random(0), 0
    for _ in range(SESSIONS):
        rounds = draw.sample(both, min(len(both), LOOKS[-1]))
        seen = (compare({n: mine[n] for n in rounds[:look]}, base)["verdict"] for look in LOOKS)
        count += next((one for one in seen if one not in (UNKNOWN, FEW)), FEW) in (MORE, LESS)
    return count


def found(mine, base, expected):
    """Return (in how many runs of RUN rounds the verdict is `expected`, how many there are)."""
    both = sorted(mine.keys() & base.keys())
    runs = [both[at:at + RUN] for at in range(0, len(both) - RUN + 1, RUN)]
    return sum(compare({number: mine[number] for number in one}, base, adaptive=False)
               ["verdict"] == expected for one in runs), len(runs)


def tell(rows, baseline, same, slower, unmetered):
    """Return lines about the servers with these names, from the rows of a run with one load."""
    lines = []
    for metric, expected in zip(METRICS, (MORE, LESS)):
        told = next(iter(by_round(rows, metric).values()), {})
        if any(len(told.get(name, ())) < RUN for name in (baseline, same, slower, unmetered)):
            return [f"The self-check needs {RUN} rounds or more."]
        base = told[baseline]
        lines += [f"{metric}: {different(told[same], base)} of {SESSIONS} sessions call {same} "
                  "different", "{}: {} is found in {} of {} runs of {} rounds".format(
                      metric, slower, *found(told[slower], base, expected), RUN)]
    one = compare(base, told[unmetered], adaptive=False)
    return [*lines, "the meters take {:.1f} % of the rate ({:.1f} to {:.1f})".format(
        *(100 * (1 - one[key]) for key in ("ratio", "high", "low")))]
