"""Comparisons in pairs, and how often they are wrong."""

import math
import os
import random
import statistics

import pytest

from bench.analyse import stats
from bench.analyse.comparisons import by_round, comparisons, unsettled
from bench.run.rounds import in_rounds
from bench.store import join, rundir


def test_the_looks_together_spend_no_more_than_the_error():
    """What each look's interval really misses adds up to 5 % at most."""
    spent = 0
    for look in stats.LOOKS:
        low, _ = stats.interval(range(1, look + 1), stats.SHARES[look])
        spent += 2 * sum(math.comb(look, k) for k in range(low)) / 2 ** look
    assert spent <= stats.ERROR


@pytest.mark.parametrize("values, error, expected", [
    ([], 0.05, None),
    ([1, 2, 3, 4, 5], 0.05, None),
    ([6, 5, 4, 3, 2, 1], 0.05, (1, 6)),
    (range(1, 13), 0.05, (3, 10)),
    (range(1, 13), stats.SHARES[12], (2, 11)),
])
def test_interval(values, error, expected):
    """Between order statistics, as the tables of the sign test have it."""
    assert stats.interval(values, error) == expected


@pytest.mark.parametrize("ratios, adaptive, verdict, words", [
    ([8.04] * 6, True, stats.MORE, "8.0 times as much (8.0 to 8.0)"),
    ([1.62] * 6, True, stats.MORE, "62 % more (1.62, 1.62 to 1.62)"),
    ([0.996] * 6, True, stats.LESS, "0.4 % cheaper (1.00, 1.00 to 1.00)"),
    ([0.98, 1.02] * 3, True, stats.EQUAL,
     "the same within 5 % (1.00, 0.98 to 1.02)"),
    ([0.9, 1.1] * 3, True, stats.UNKNOWN, "cannot tell with 6 rounds"),
    ([1.1, 1.2, 0.9], True, stats.FEW, "more in 2 of 3 rounds"),
    # Ten of twelve above 1 decide, but not where 12 is the second look.
    ([0.97, 0.99, *[1.1] * 10], True, stats.UNKNOWN, "cannot tell with 12"),
    ([0.97, 0.99, *[1.1] * 10], False, stats.MORE, "10 % more"),
])
def test_what_is_said(ratios, adaptive, verdict, words):
    """The rule, in each of its five cases."""
    found = stats.compare({n: 100 * r for n, r in enumerate(ratios)},
                          dict.fromkeys(range(len(ratios)), 100), adaptive)
    assert found["verdict"] == verdict
    assert stats.said(found, "more", "cheaper").startswith(words)


def test_only_rounds_of_both_count():
    """A server that failed in a round is compared in the others."""
    found = stats.compare({1: 2.0, 2: 4.0, 3: 9.0}, {1: 1.0, 3: 3.0, 4: 1.0})
    assert (found["rounds"], found["ratio"]) == (2, 2.5)
    assert stats.compare({1: 1.0}, {2: 1.0}) is None


def row(number, server, cost, x=100, status="ok"):
    """Return the row of a server in a round."""
    return {"variant": "", "server": server, "x": x, "repeat": number,
            "status": status, "cpu_us": cost, "rate": 1e6 / cost}


def session(noise, shift=1.0, rounds=None):
    """Measure two servers in the rounds of a session, one of which costs
    `shift` times as much; noise() is drawn for each run. Return the verdict
    about CPU time and the number of rounds."""
    made = []
    for number, (_, server, x) in in_rounds(
            [("", "poll", 100), ("", "epoll", 100)], rounds=rounds,
            unsettled=None if rounds else
            lambda keys: unsettled(made, keys, lambda _: "epoll")):
        made.append(row(number, server, 50 * noise() * (shift if server == "poll" else 1), x))
    found = comparisons(made, lambda _: "epoll", adaptive=not rounds)[0]
    return found["verdict"], found["rounds"]


def measured_noise():
    """Return how far each run of the reference is from the mean of its cell,
    as a ratio: noise as a machine makes it."""
    cells = by_round(rundir.read_rows(os.path.join(
        join.committed(), "samples.csv")), "cpu_us").values()
    return [figure / statistics.mean(figures.values()) for cell in cells
            for figures in cell.values() for figure in figures.values()]


@pytest.mark.parametrize("rounds", [None, 9])
def test_two_copies_of_one_server_are_rarely_called_different(rounds):
    """5 % of sessions, and what chance adds in a hundred of them: adaptive
    ones and such of a fixed length, with the noise of a real machine."""
    chance, some = random.Random(17), measured_noise()
    wrong = sum(session(lambda: chance.choice(some), rounds=rounds)[0]
                in (stats.MORE, stats.LESS) for _ in range(100))
    assert wrong <= 10


@pytest.mark.parametrize("rounds", [None, 12])
def test_a_server_that_costs_five_percent_more_is_found(rounds):
    """On a machine whose rounds differ by 2 %, and most times in 12 rounds."""
    chance = random.Random(2)
    found = [session(lambda: math.exp(chance.gauss(0, 0.02)), 1.05, rounds) for _ in range(100)]
    assert sum(verdict == stats.MORE for verdict, _ in found) >= 97
    assert sum(count <= 12 for _, count in found) >= 90


def test_comparisons():
    """CPU time and rate; a round in which a server lost requests is left out."""
    made = [row(n, *one) for n in range(1, 8) for one in (("epoll", 50), ("poll", 55))]
    made[-1].update(status="lossy", cpu_us=10.0)
    cpu, rate = comparisons(made, lambda variant: "epoll")
    assert (cpu["server"], cpu["base"], cpu["rounds"]) == ("poll", "epoll", 6)
    assert (cpu["verdict"], rate["verdict"]) == (stats.MORE, stats.LESS)


def test_a_baseline_stays_while_one_of_its_others_does():
    """At the same x; a server that never answers a round is given up."""
    made = []
    for n in range(1, 7):
        made += [row(n, "epoll", 50), row(n, "poll", 40 + n % 2 * 20),
                 row(n, "iterative", 90), row(n, "epoll", 50, 500),
                 row(n, "poll", 70, 500), row(n, "forking", 1, 100, "crashed")]
    keys = [("", server, x) for server, x in (
        ("iterative", 100), ("epoll", 100), ("forking", 100), ("poll", 100),
        ("epoll", 500), ("poll", 500))]
    assert unsettled(made, keys, lambda variant: "epoll") == [
        ("", "epoll", 100), ("", "poll", 100)]
