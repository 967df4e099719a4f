"""Comparing in pairs: the ratio of two servers in each round, an interval of
its median, and what may be said of it.

A machine that is slower for a while is slower for all servers of a round, so
the ratio of two figures of one round says more than the two figures do. The
interval of the median of these ratios lies between order statistics: each
ratio is above or below the true median like a tossed coin, whatever the
distribution (the sign test inverted). Six rounds are the fewest for 95 %.

A test that is repeated after every round until it decides always decides in
the end. So there are four looks only, and the error of 5 % is divided among
them: each look takes a wider interval.
"""

import math
import statistics
from dataclasses import dataclass

ERROR = 0.05            # of all looks together
LOOKS = (6, 12, 24, 48)
# What each look may spend. As a tossed coin has no error between 2/64 and 0 at
# six tosses, the first look takes the most; together 0.05.
SPENT = dict(zip(LOOKS, (0.0313, 0.0064, 0.0067, 0.0056)))
SAME = 0.05             # two servers are "the same" within this

MORE, LESS, EQUAL, UNKNOWN, FEW = "more", "less", "same", "unknown", "few"


def error_at(rounds):
    """Return the error that an interval of `rounds` rounds may have, where
    measuring may go on: that of the first look that is not before them."""
    return next((SPENT[look] for look in LOOKS if rounds <= look),
                SPENT[LOOKS[-1]])


def interval(values, error=ERROR):
    """Return (low, high), between which the median of what `values` are a
    sample of lies, but for an error of `error` (0 to 1); None where there are
    too few values for that."""
    ordered, n = sorted(values), len(values)
    outside, cut = 0.0, 0
    for place in range(n // 2):     # all but `place` values on one side
        outside += 2 * math.comb(n, place) / 2 ** n
        if outside > error:
            break
        cut = place + 1
    return (ordered[cut - 1], ordered[n - cut]) if cut else None


def tight(values):
    """Whether the median of a cell's figures is known to 5 %: its own
    interval (95 %) is that close to it. False for fewer than six values."""
    found = interval(values)
    if found is None:
        return False
    middle = statistics.median(values)
    return bool(middle) and max(found[1] - middle,
                                middle - found[0]) <= 0.05 * abs(middle)


@dataclass(frozen=True)
class Comparison:
    """The figure of one server over that of another, in pairs of a round.

    `low` and `high` are None with fewer than six rounds. `above` is in how
    many rounds the ratio was above 1. `verdict` is one of MORE and LESS (the
    interval excludes 1), EQUAL (it includes 1 and stays within 5 % of it),
    UNKNOWN, and FEW (there is no interval).
    """

    rounds: int
    ratio: float
    low: float
    high: float
    above: int
    verdict: str


def compare(mine, other):
    """Compare {round: figure} with {round: figure} of another server in the
    rounds that both have; return a Comparison, None when there is none."""
    ratios = [mine[number] / other[number] for number in sorted(mine)
              if other.get(number)]
    if not ratios:
        return None
    found = interval(ratios, error_at(len(ratios)))
    low, high = found or (None, None)
    return Comparison(len(ratios), statistics.median(ratios), low, high,
                      sum(ratio > 1 for ratio in ratios), _verdict(low, high))


def _verdict(low, high):
    if low is None:
        return FEW
    if low > 1:
        return MORE
    if high < 1:
        return LESS
    return EQUAL if low >= 1 - SAME and high <= 1 + SAME else UNKNOWN


def said(comparison, more="slower", less="faster"):
    """Return a Comparison in words, without the servers' names: what the
    terminal, the report and the book print. `more` and `less` are the words
    for a figure that is higher and lower."""
    one = comparison
    if one.verdict == FEW:
        ahead, word = max((one.above, more), (one.rounds - one.above, less))
        return f"{word} in {ahead} of {one.rounds} rounds"
    if one.verdict == UNKNOWN:
        return f"cannot tell with {one.rounds} rounds"
    size = f"{one.ratio:.2f}, {one.low:.2f} to {one.high:.2f}"
    if one.verdict == EQUAL:
        return f"the same within {100 * SAME:.0f} % ({size})"
    percent = 100 * abs(one.ratio - 1)
    word = more if one.verdict == MORE else less
    return f"{percent:.{int(percent < 1)}f} % {word} ({size})"
