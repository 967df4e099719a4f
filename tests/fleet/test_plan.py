"""What a fleet adds to the plan of a measurement, to its load tools and its tables."""

import dataclasses
import os
import random

import pytest

from tools.bench import config, load, plan
from tools.bench.experiments import all_experiments
from tools.bench.machine.facts import Machine
from tools.kit import servers
from tools.stats import summary

CORES = frozenset({0})
FOUR = Machine(CORES, CORES, CORES, 20_000, load_hosts=4)
HELLO = next(one for one in all_experiments() if one.name == "hello")


def cells(machine, **environment):
    """Return {(variant, server, x): why it is not possible} of the full grid of hello."""
    settings = config.parse([], {"EXPERIMENT": "hello", "FULL": "1", **environment})
    return {cell.key: cell.impossible
            for stage in plan.make(settings, machine, False) for cell in stage.cells}


def test_four_load_hosts_hold_100_000_connections():
    """For 07, whose loops each have descriptors of their own, and no other server."""
    found = cells(FOUR, FLEET="hosts.ini", SERVERS="06,07")
    for variant in ("", "slow stream"):
        assert not found[variant, "epoll", 100_000]
        assert "descriptors" in found[variant, "poll", 100_000]
    three = cells(dataclasses.replace(FOUR, load_hosts=3), FLEET="hosts.ini", SERVERS="07")
    assert "ports" in three["", "epoll", 100_000] and not three["", "epoll", 50_000]
    alone = cells(dataclasses.replace(FOUR, load_hosts=1), SERVERS="07")
    assert "descriptors" in alone["", "epoll", 100_000]
    assert not any(variant for variant, _, _ in alone)      # no slow stream


@pytest.mark.parametrize("x", (10_000, 30_000, 100_000))
def test_the_loops_have_descriptors_for_all_connections(x):
    """A loop takes three quarters of its descriptors, see common/server.c."""
    loops = HELLO.workers(servers.named("epoll"), HELLO.variants[0], FOUR, x)
    assert 0.75 * FOUR.descriptors * loops > 1.04 * x


def test_all_connections_of_wrk_are_opened_when_its_threads_share_them():
    """A thread opens no remainder, and pauses, which are timers, take several threads."""
    job = load.Job("http://x:1/", connections=12_500, pause=5.0)
    argv = load.TOOLS["wrk"].command(job, "")
    threads = int(argv[argv.index("-t") + 1])
    assert threads > 1 and 12_500 % threads == 0
    assert argv[-2:] == ["5000", f"{12_500 // threads}"]    # the arguments of the script
    assert os.path.exists(argv[argv.index("-s") + 1])


@pytest.mark.parametrize("seed", range(3))
def test_the_times_of_ab_are_right_to_a_millisecond(seed, tmp_path):
    """As its files say them: all in whole ms, a hundred of them in microseconds."""
    chance = random.Random(seed)
    times = sorted(1 + int(chance.expovariate(1) * 5000) for _ in range(chance.randint(1, 999)))
    (tmp_path / "times.tsv").write_text("starttime\tseconds\tctime\tdtime\tttime\twait\n" + "".join(
        f"then\t1\t0\t1\t{(one + 500) // 1000}\t0\n" for one in times))
    known = [times[min(len(times) - 1, int(0.5 + len(times) * n / 100))] for n in range(101)]
    (tmp_path / "percentiles.csv").write_text("Percentage served,Time in ms\n" + "".join(
        f"{n},{one / 1000:.3f}\n" for n, one in enumerate(known)))
    found = sorted(load.TOOLS["ab"].times(str(tmp_path)).elements())
    assert len(found) == len(times)
    assert all(abs(one - true) <= 1000 for one, true in zip(found, times))
    for n in (50, 90):      # where there are many, the guess is better than that
        place = len(times) * n // 100
        assert len(times) < 300 or found[place] == pytest.approx(times[place], rel=0.1, abs=60)


def test_a_skew_is_told_when_it_counts():
    """Above a hundredth of the time measured."""
    parts = [{"host": name, "role": "load", "busy": 5.0, "cores_busy": None, "rate": 10.0,
              "begin_ms": begin} for name, begin in (("a", 0.0), ("b", 4.0), ("b", 8.0))]
    told, said = summary.hosts(parts, [{"skew_ms": 4.0, "seconds": 0.5}])
    assert [(one["host"], one["begin_ms"]) for one in told] == [("a", 0.0), ("b", 6.0)]
    assert len(said) == 1 and "4.0 ms apart" in said[0]
    _, said = summary.hosts(parts, [{"skew_ms": 4.0, "seconds": 0.5},
                                    {"skew_ms": 8.0, "seconds": 0.5}])
    assert "In 1 of 2 runs" in said[1]
    assert summary.hosts([], [{"skew_ms": None, "seconds": 0.5}]) == ([], [])
