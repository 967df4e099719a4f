"""The self-check, on rounds that are made up: what it must find and must not."""

import random

import pytest

from bench.studies import self_check


def rows(noise, rounds=120, **factors):
    """Return rows whose CPU time is 10 us times the server's factor, and its rate the less;
    a standard deviation is `noise` of that."""
    draw = random.Random(7)
    return [{"status": "ok", "variant": "v", "x": 1, "server": name, "repeat": number,
             "cpu_us": 10 * factor * draw.gauss(1, noise),
             "rate": 1e5 / factor * draw.gauss(1, noise)}
            for number in range(rounds) for name, factor in factors.items()]


def told(*some, **more):
    return self_check.tell(rows(*some, **more), "plain", "copy", "slower", "unmetered")


def test_what_is_there_is_found_and_nothing_else():
    cost, cost_found, rate, rate_found, meters = told(
        0.01, plain=1, copy=1, slower=1.05, unmetered=0.98)
    assert all(int(line.split()[1]) <= 10 for line in (cost, rate))
    assert cost_found == "cpu_us: slower is found in 10 of 10 runs of 12 rounds"
    assert rate_found == "rate: slower is found in 10 of 10 runs of 12 rounds"
    assert meters.startswith("the meters take 1.9 % of the rate (")


def test_it_says_so_when_measuring_is_wrong():
    """A copy that differs is called different; noise hides what is slower."""
    told_of_copy = told(0.01, plain=1, copy=1.05, slower=1.05, unmetered=1)[0]
    assert told_of_copy == "cpu_us: 100 of 100 sessions call copy different"
    hits = told(0.2, plain=1, copy=1, slower=1.05, unmetered=1)[1]
    assert int(hits.split()[5]) < 5


@pytest.mark.parametrize("some", [{"rounds": 11}, {"rounds": 0}])
def test_too_few_rounds(some):
    assert told(0.01, **some, plain=1, copy=1, slower=1, unmetered=1) == [
        "The self-check needs 12 rounds or more."]
