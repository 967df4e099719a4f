"""Comparing in pairs: the ratio of two servers in each round, an interval of
its median, and what may be said of it.

A machine that is slower for a while is slower for all servers of a round, so the ratio of
two figures of one round tells more than the two figures do. Each ratio lies above or below
the true median like a tossed coin, whatever the distribution, so the interval lies between
order statistics (the sign test inverted). Six rounds are the fewest for an error of 5 %.

How wide the interval must be depends on who decides when to stop:

fixed       REPEAT=N says how many rounds there are. One look at the end may use the whole
            error of 5 %.
adaptive    Measuring stops when all is settled. A test that is repeated until it decides
            always decides in the end, so there are four looks only, and each uses its own
            share of the 5 %.
"""

import math
import statistics

ERROR = 0.05            # how often a session may find a difference by chance
# {rounds after which an adaptive session looks: the share of that look}. Six
# tosses have no error between 2/64 and 0, so the first look takes the most.
SHARES = {6: 0.0313, 12: 0.0064, 24: 0.0067, 48: 0.0056}
LOOKS = tuple(SHARES)
SAME = 0.05             # two servers are "the same" within this

MORE, LESS, EQUAL, UNKNOWN, FEW = "more", "less", "same", "unknown", "few"


def interval(values, error=ERROR):
    """Return (low, high): the median of what `values` are a sample of lies between, except
    for an error of `error` (0 to 1). None where there are too few values for that."""
    ordered, count = sorted(values), len(values)
    cut, outside = 0, 2 / 2 ** count    # all values on one side of the median
    while outside <= error:
        cut += 1
        outside += 2 * math.comb(count, cut) / 2 ** count
    return (ordered[cut - 1], ordered[-cut]) if cut else None


def tight(values):
    """Return whether the median of a cell's figures is known to 5 %: its interval is that close
    to it. False for fewer than six values."""
    found = interval(values)
    middle = statistics.median(values)
    return bool(found) and max(found[1] - middle, middle - found[0]) <= 0.05 * middle


def compare(mine, other, adaptive=True):
    """Compare {round: figure} with {round: figure} of another server in the
    rounds that both have; return None when there is none, or

    {"rounds", "ratio": the median of mine / other, "low", "high": its
    interval, None with fewer than six rounds; "above": how many ratios are
    above 1; "verdict": MORE or LESS (the interval excludes 1), EQUAL (it
    includes 1 and stays within 5 % of it), UNKNOWN, or FEW (no interval)}

    adaptive    whether what was measured decided how many rounds there are
    """
    ratios = [mine[number] / other[number] for number in mine if other.get(number)]
    if not ratios:
        return None
    # When adaptive: the share of the first look that is not before the end.
    look = next((n for n in LOOKS if n >= len(ratios)), LOOKS[-1])
    low, high = interval(ratios, SHARES[look] if adaptive else ERROR) or (None, None)
    verdict = UNKNOWN
    if low is None:
        verdict = FEW
    elif low > 1 or high < 1:
        verdict = MORE if low > 1 else LESS
    elif 1 - SAME <= low and high <= 1 + SAME:
        verdict = EQUAL
    return {"rounds": len(ratios), "ratio": statistics.median(ratios), "low": low, "high": high,
            "above": sum(r > 1 for r in ratios), "verdict": verdict}


def said(one, more, less):
    """Return what compare() found in words, without the servers' names.
    `more` and `less` are the words for a figure that is higher and lower."""
    rounds, ratio = one["rounds"], one["ratio"]
    if one["verdict"] == FEW:
        ahead, word = max((one["above"], more), (rounds - one["above"], less))
        return f"{word} in {ahead} of {rounds} rounds"
    if one["verdict"] == UNKNOWN:
        return f"cannot tell with {rounds} rounds"
    size = f"{ratio:.2f}, {one['low']:.2f} to {one['high']:.2f}"
    if one["verdict"] == EQUAL:
        return f"the same within {100 * SAME:.0f} % ({size})"
    if ratio >= 2:
        return f"{ratio:.1f} times as much ({one['low']:.1f} to {one['high']:.1f})"
    percent = 100 * abs(ratio - 1)
    word = more if one["verdict"] == MORE else less
    return f"{percent:.{int(percent < 1)}f} % {word} ({size})"
