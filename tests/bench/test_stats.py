"""Comparisons in pairs, and how often they are wrong."""

import math
import random

import pytest

from bench.analyse import stats
from bench.analyse.comparisons import comparisons, unsettled


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


def rows(repeat, status="ok", x=100, **costs):
    """Return the rows of a round: {server: its CPU time}."""
    return [{"variant": "", "server": server, "x": x, "repeat": repeat,
             "status": status, "cpu_us": cost, "rate": 1e6 / cost}
            for server, cost in costs.items()]


def session(chance, shift, noise):
    """Measure two servers, one of which costs `shift` times as much, until
    they are settled; return (its verdict, rounds)."""
    def cost():
        return 50 * math.exp(chance.gauss(0, noise))

    made, number = [], 0
    keys = [("", "poll", 100), ("", "epoll", 100)]
    for look in stats.LOOKS:
        while number < look:
            number += 1
            made += rows(number, epoll=cost(), poll=shift * cost())
        if not unsettled(made, keys, lambda variant: "epoll"):
            break
    found = comparisons(made, lambda variant: "epoll")
    return found[0]["verdict"], found[0]["rounds"]


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_two_copies_of_one_server_are_rarely_called_different(noise):
    """5 % of sessions at most, and what chance adds in 400 of them."""
    chance = random.Random(17)
    wrong = sum(session(chance, 1.0, noise)[0] in (stats.MORE, stats.LESS)
                for _ in range(400))
    assert wrong <= 0.075 * 400


def test_a_server_that_costs_more_is_found():
    """5 % more, on a machine whose rounds differ by 2 %; and soon."""
    chance = random.Random(17)
    found = [session(chance, 1.05, 0.02) for _ in range(100)]
    assert [verdict for verdict, _ in found] == [stats.MORE] * 100
    assert sum(rounds <= 12 for _, rounds in found) > 50


def test_comparisons_have_words():
    """CPU time in its words, the rate in others; a round in which a server
    lost requests is left out."""
    made = [row for n in range(1, 8) for row in rows(n, epoll=50, poll=55)]
    made[-1].update(status="lossy", cpu_us=10.0)
    cpu, rate = comparisons(made, lambda variant: "epoll")
    assert (cpu["server"], cpu["base"], cpu["x"], cpu["rounds"]) == \
        ("poll", "epoll", 100, 6)
    assert cpu["words"] == "10 % dearer (1.10, 1.10 to 1.10)"
    assert rate["words"] == "9 % slower (0.91, 0.91 to 0.91)"
    assert (cpu["metric"], cpu["verdict"], cpu["above"]) == \
        ("cpu_us", stats.MORE, 6)
    few = comparisons(made[:6], lambda variant: "poll")
    assert few[0]["words"] == "cheaper in 3 of 3 rounds"
    assert few[0]["low"] is None


def test_a_baseline_stays_while_one_of_its_others_does():
    """At the same x; a server that never answers a round is given up."""
    made = []
    for n in range(1, 7):
        made += rows(n, epoll=50, poll=50 + n % 2 * 20 - 10, iterative=90)
        made += rows(n, x=500, epoll=50, poll=70)
        made += rows(n, status="crashed", forking=1)
    keys = [("", server, x) for server, x in (
        ("iterative", 100), ("epoll", 100), ("forking", 100), ("poll", 100),
        ("epoll", 500), ("poll", 500))]
    assert unsettled(made, keys, lambda variant: "epoll") == [
        ("", "epoll", 100), ("", "poll", 100)]
