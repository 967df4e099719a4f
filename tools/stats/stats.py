"""Comparing in pairs: the ratio of two servers in each round, an interval of its median, and
what may be said of it.

A machine that is slower for a while is slower for all servers of a round, so the ratio of
two figures of one round tells more than the two figures do. What moves a round moves it up as
easily as down, so the mean of any two rounds is as likely above the true middle as below.
The median of all these means is the middle (the estimate of Hodges and Lehmann), and two of
them are the ends of the interval: Wilcoxon's signed-rank test inverted. It assumes nothing
else about how the figures are distributed, tolerates wild rounds, and needs two thirds of the
rounds of the sign test. Six rounds are the fewest for an error of 5 %.

Where REPEAT=N says how many rounds there are, one look at the end may use the whole error of
5 %. An adaptive session stops when all is settled. A test that is repeated until it decides
always decides in the end, so there are four looks only, and each uses its own share of the 5 %.
"""

import functools
import itertools
import math
import statistics

ERROR = 0.05            # how often a comparison may find a difference by chance: of 31, one or two
# {rounds after which an adaptive session looks: the share of that look}. Six tosses have no
# error between 2/64 and 0, so the first look takes the most.
SHARES = {6: 0.0313, 12: 0.0064, 24: 0.0067, 48: 0.0056}
LOOKS = tuple(SHARES)
SAME = 0.05             # two servers are "the same" within this
LEAST = 0.02            # and a difference smaller than this is no difference

MORE, LESS, EQUAL, UNKNOWN, FEW = "more", "less", "same", "unknown", "few"


def means(values):
    """Return the means of all pairs of `values`, and the values themselves, sorted."""
    return sorted(sum(pair) / 2 for pair in itertools.combinations_with_replacement(values, 2))


def middle(values):
    """Return the value that `values` lie around; None of no values."""
    return statistics.median(means(values)) if values else None


@functools.cache
def outer(count, error):
    """Return which of the means() of `count` values, counted from the first and from the last, is
    the interval's end; 0 where even the first and the last are too close together.

    Rank the values by their distance from the true middle. The n-th mean is above it if the
    ranks of those below have a sum of less than n. Each rank belongs to these or not, like a
    tossed coin: so count the ways to each sum."""
    ways = [1]
    for rank in range(1, count + 1):
        none = [0] * rank
        ways = [without + with_it for without, with_it in zip(ways + none, none + ways)]
    end, outside = 0, ways[0]
    while 2 * outside <= error * 2 ** count:
        end += 1
        outside += ways[end]
    return end


def interval(values, error=ERROR):
    """Return (low, high), with the true middle of what `values` are a sample of between them,
    except for an error of `error` (0 to 1). None where there are too few values for that."""
    end = outer(len(values), error)
    ordered = means(values) if end else ()
    return (ordered[end - 1], ordered[-end]) if end else None


def compare(mine, other, adaptive=True):
    """Compare {round: figure} with {round: figure} of another server in the rounds that both
    have; return None when there is none, or

    {"rounds", "ratio": the middle of mine / other, "low", "high": its interval, None where there
    are too few rounds for one: fewer than six, and when adaptive also seven and eight; "above": how
    many ratios are above 1; "verdict": MORE or LESS (the interval excludes 1, and the middle is 2 %
    or more away from it), EQUAL (otherwise, where the interval stays within 5 % of 1), UNKNOWN, or
    FEW (no interval)}

    adaptive    whether what was measured decided how many rounds there are
    """
    ratios = [figure / other[number] for number, figure in mine.items()
              if figure and other.get(number)]
    if not ratios:
        return None
    # When adaptive: the share of the first look with at least as many rounds.
    look = next((n for n in LOOKS if n >= len(ratios)), LOOKS[-1])
    # Of the logarithms: twice as much is as far from "the same" as half as much.
    logs = [math.log(ratio) for ratio in ratios]
    found = interval(logs, SHARES[look] if adaptive else ERROR)
    low, high = map(math.exp, found) if found else (None, None)
    ratio = math.exp(middle(logs))
    if low is None:
        verdict = FEW
    elif low > 1 and ratio >= 1 + LEAST:
        verdict = MORE
    elif high < 1 and ratio <= 1 - LEAST:
        verdict = LESS
    else:
        verdict = EQUAL if 1 - SAME <= low and high <= 1 + SAME else UNKNOWN
    return {"rounds": len(ratios), "ratio": ratio, "low": low, "high": high,
            "above": sum(r > 1 for r in ratios), "verdict": verdict}


def said(one, more, less):
    """Return what compare() found in words, without the servers' names. `more` and `less` are
    the words for a figure that is higher and lower."""
    rounds, ratio = one["rounds"], one["ratio"]
    if one["verdict"] == FEW:
        ahead, word = max((one["above"], more), (rounds - one["above"], less))
        return f"{word} in {ahead} of {rounds} rounds; middle: {off(ratio, more, less)}"
    if one["verdict"] == UNKNOWN:
        ends = " and ".join(off(end, more, less) for end in (one["low"], one["high"]))
        return f"between {ends}, {rounds} rounds"
    size = f"{ratio:.2f}, {one['low']:.2f} to {one['high']:.2f}"
    if one["verdict"] == EQUAL:
        return f"the same within {100 * SAME:.0f} % ({size})"
    if ratio >= 2:
        size = f"{one['low']:.1f} to {one['high']:.1f}"
    return f"{off(ratio, more, less)} ({size})"


def off(ratio, more, less):
    """Return in words how far a ratio is from 1: "4 % cheaper", "3.1 times as much"."""
    if ratio >= 2:
        return f"{ratio:.1f} times as much"
    percent = 100 * abs(ratio - 1)
    return f"{percent:.{int(percent < 1)}f} % {more if ratio > 1 else less}"
