"""Comparisons in pairs, and how often they are wrong."""

import math
import random

import pytest

from bench.analyse import stats


def test_the_looks_together_spend_no_more_than_the_error():
    """What each look's interval really misses adds up to 5 % at most."""
    spent = 0
    for look in stats.LOOKS:
        low, _ = stats.interval(range(1, look + 1), stats.SPENT[look])
        spent += 2 * sum(math.comb(look, k) for k in range(low)) / 2 ** look
    assert spent <= stats.ERROR
    assert sum(stats.SPENT.values()) <= stats.ERROR + 1e-9


@pytest.mark.parametrize("values, error, expected", [
    ([1, 2, 3, 4, 5], 0.05, None),
    ([6, 5, 4, 3, 2, 1], 0.05, (1, 6)),
    (range(1, 13), 0.05, (3, 10)),
    (range(1, 13), stats.SPENT[12], (2, 11)),
])
def test_interval(values, error, expected):
    """Between order statistics, as the tables of the sign test have it."""
    assert stats.interval(values, error) == expected


def pairs(ratios):
    """Return two servers whose figures have these ratios, round by round."""
    return ({n: 100 * r for n, r in enumerate(ratios)},
            {n: 100 for n in range(len(ratios))})


@pytest.mark.parametrize("ratios, verdict, words", [
    ([1.1] * 6, stats.MORE, "10 % slower (1.10, 1.10 to 1.10)"),
    ([0.8] * 6, stats.LESS, "20 % faster (0.80, 0.80 to 0.80)"),
    ([0.98, 1.02] * 3, stats.EQUAL,
     "the same within 5 % (1.00, 0.98 to 1.02)"),
    ([0.9, 1.1] * 3, stats.UNKNOWN, "cannot tell with 6 rounds"),
    ([1.1, 1.2, 0.9], stats.FEW, "slower in 2 of 3 rounds"),
])
def test_what_is_said(ratios, verdict, words):
    """The rule, in each of its five cases."""
    found = stats.compare(*pairs(ratios))
    assert found.verdict == verdict and stats.said(found) == words


def test_only_rounds_of_both_count():
    """A server that failed in a round is compared in the others."""
    found = stats.compare({1: 2.0, 2: 4.0, 3: 9.0}, {1: 1.0, 3: 3.0, 4: 1.0})
    assert (found.rounds, found.ratio) == (2, 2.5)
    assert stats.compare({1: 1.0}, {2: 1.0}) is None


def adaptive(chance, shift, noise):
    """Return the verdict of a session that stops at the look that settles."""
    ratios = []
    for look in stats.LOOKS:
        while len(ratios) < look:
            ratios.append(shift * math.exp(chance.gauss(0, noise)))
        found = stats.compare(*pairs(ratios))
        if found.settled:
            break
    return found.verdict


def test_two_copies_of_one_server_are_rarely_called_different():
    """5 % of sessions at most; 2,000 of them, however noisy the machine."""
    chance = random.Random(17)
    for noise in (0.02, 0.1):
        wrong = sum(adaptive(chance, 1.0, noise) in (stats.MORE, stats.LESS)
                    for _ in range(2000))
        assert wrong <= 0.06 * 2000


def test_a_server_that_is_slower_is_found():
    """5 % slower, on a machine whose rounds differ by 2 %."""
    chance = random.Random(17)
    assert all(adaptive(chance, 1.05, 0.02) == stats.MORE for _ in range(200))
