"""Comparisons in pairs, points of a summary, limits, Little's law, and the sentences."""

import math
import os
import random
import statistics
from types import SimpleNamespace

import pytest

from tests.bench.made_up import KEYS, row, summed_up
from tools.report import join
from tools.results import rundir
from tools.stats import bottleneck, sentences, stats, steady, summary
from tools.stats.comparisons import by_round, comparisons, unsettled


def point(*rows, **more):
    """Return the point of rows."""
    return summary.point(rows, KEYS, **more)


@pytest.mark.parametrize("rates, foreign, noisy", [
    ([100.0] * 5, 9.0, ["fewer than six rounds"]), ([99.0, 100.0, 101.0] * 2, 9.0, []),
    ([70.0, 100.0, 130.0] * 2, 9.0, ["rounds scatter"]), ([100.0] * 6, 11.0, ["foreign load"]),
    ([50.0, 150.0] + [99.0, 100.0, 101.0] * 4, 9.0, [])])
def test_noisy(rates, foreign, noisy):
    """By the cell's own interval: two wild rounds of fourteen do not spoil it, as they would a
    range. What other programs do to a core is noise, too."""
    assert point(*(row(rate, foreign=foreign) for rate in rates))["noisy"] == noisy
    # Rates that the load tool scatters say nothing about the server; in an open loop they do.
    many = [row(rate, cpu_us=50.0, failed_percent=0.0) for rate in rates * 2]
    assert not point(*many)["noisy"]
    assert bool(point(*many, leads="rate")["noisy"]) == ("rounds scatter" in noisy)


def test_noisy_where_the_question_is_who_loses_requests():
    """Then neither cost nor rate has to be known well, and the share of answers has to."""
    wild = [row(rate, cpu_us=rate, failed_percent=3.0) for rate in (70.0, 100.0, 130.0) * 2]
    assert point(*wild)["noisy"] and not point(*wild, leads="answered")["noisy"]
    lossy = [row(100.0, cpu_us=50.0, failed_percent=lost) for lost in (1.0, 10.0, 20.0) * 2]
    assert point(*lossy, leads="answered")["noisy"] and not point(*lossy)["noisy"]


def paired(number, server, cost, **more):
    """Return the row of a server in a round."""
    return row(1e6 / cost, server=server, repeat=number, cpu_us=cost, **more)


def slowed(servers, rounds, exponents):
    """Return rows of servers {name: CPU time} on cores that are slower in some rounds, by what
    the yardstick's pieces say to the power of `exponents`, and never twice alike."""
    rows, chance = [], random.Random(5)
    for number in range(rounds):
        for server, usual in servers.items():
            slow = {piece: chance.choice((1.0, 1.4)) for piece in exponents}
            time = usual * chance.uniform(0.99, 1.01) * math.prod(
                factor ** exponents[piece] for piece, factor in slow.items())
            rows.append({**paired(number, server, time), **{
                piece: 2000 * factor for piece, factor in slow.items()}})
    return rows


THREE = {"epoll": 10.0, "poll": 30.0, "threaded": 80.0}
SLOW = {"yard_work_ns": 0.9, "yard_hand_ns": 0.1}


def test_what_a_slow_core_costs_is_learnt_and_taken_out():
    """A cell is noisy where nothing tells how fast its core was. A server that was more often
    measured on slow cores than others does not cost more because of that. A wild round, in which
    a client waited for a timer on fast cores, teaches nothing."""
    rows = slowed(THREE, 40, SLOW)
    rows[1].update(cpu_us=1500.0, **dict.fromkeys(SLOW, 2000.0))
    known, exponents = steady.steadied(rows)
    assert exponents["poll/keep-alive"] == pytest.approx(SLOW, abs=0.02)
    mine, as_measured = [[row for row in some if row["server"] == "epoll"][:12]
                         for some in (known, rows)]
    assert not point(*mine, clients=100)["noisy"] and point(*as_measured, clients=100)["noisy"]
    ratio = comparisons(known, lambda _: "epoll")[0]["ratio"]
    assert ratio == pytest.approx(3.0, rel=0.01)


def test_each_curve_learns_for_itself():
    """A slow core costs a server more under one kind of load than under another. A mean of both
    would make each of them worse."""
    half = {piece: exponent / 2 for piece, exponent in SLOW.items()}
    rows = slowed(THREE, 40, SLOW) + [
        {**row, "variant": "new"} for row in slowed(THREE, 40, half)]
    known, exponents = steady.steadied(rows)
    assert exponents["epoll/keep-alive"] == pytest.approx(SLOW, abs=0.02)
    assert exponents["epoll/new"] == pytest.approx(half, abs=0.02)
    for variant in ("keep-alive", "new"):
        costs = [row["cpu_us"] for row in known
                 if (row["variant"], row["server"]) == (variant, "epoll")]
        assert max(costs) < 1.05 * min(costs)


def test_a_curve_with_few_rows_learns_from_its_server():
    rows = [{**row, "variant": name} for name in ("keep-alive", "new")
            for row in slowed(THREE, 20, SLOW)]
    _, exponents = steady.steadied(rows)
    assert exponents["epoll/new"] == exponents["epoll/keep-alive"] != exponents["poll/new"]


def test_a_server_that_slows_the_yardstick_down_gains_nothing_by_it():
    """What a server takes from the cores in each round is its cost. Corrected for it, one with
    many processes would look cheaper than it is."""
    rows = slowed(THREE, 40, SLOW)
    for one in rows:
        if one["server"] == "threaded":
            one.update({piece: one[piece] * 1.1 for piece in SLOW})
    usual, _ = steady.steadied(slowed(THREE, 40, SLOW))
    found, _ = steady.steadied(rows)
    one, other = (comparisons(some, lambda _: "epoll")[-1] for some in (found, usual))
    assert one["server"] == "threaded" and one["ratio"] == pytest.approx(other["ratio"], rel=0.03)


def test_a_correction_makes_no_verdict_against_what_was_measured():
    """Poll cost more in each round, and would be cheaper after the correction."""
    raw = [paired(n, *one) for n in range(6) for one in (("epoll", 50), ("poll", 51))]
    better = [{**one, "cpu_us": 40} if one["server"] == "poll" else one for one in raw]
    verdicts = [comparisons(better, lambda _: "epoll", uncorrected=rows)[0]["verdict"]
                for rows in (better, raw)]
    assert verdicts == [stats.LESS, stats.UNKNOWN]


@pytest.mark.parametrize("rounds, without", [(13, ()), (40, SLOW)])
def test_few_rounds_or_no_yardstick_leave_figures_as_measured(rounds, without):
    rows = [{key: value for key, value in row.items() if key not in without}
            for row in slowed(THREE, rounds, SLOW)]
    assert steady.steadied(rows) == (rows, {})


def test_a_run_without_a_figure_is_told():
    """It is out of the median, and the point is not whole. What is not possible here is no fault
    of the server."""
    one = point(row(9.0, note="slow"), row(11.0, note="slow"),
                row(None, status="crashed", note="signal 11"))
    assert one["rate"]["middle"] == 10 and one["lost"]
    assert (one["runs"], one["planned"]) == (2, 3)
    assert one["notes"] == ["slow (2 of 3 runs)", "signal 11 (1 of 3 runs)"]
    assert not point(row(), row(None, status="not possible"))["lost"]
    # The evidence quotes figures; those of another run than the median would not fit.
    assert point(row(9), row(5), row(7))["evidence"] == "7"


def test_a_disturbed_round_does_not_take_the_others_with_it():
    """Other programs spoiled it, not the server."""
    disturbed = row(None, status="disturbed", note="not measured: other programs")
    some = point(row(9.0), row(11.0), disturbed)
    assert not some["lost"] and some["rate"]["middle"] == 10 and some["disturbed"]
    assert point(disturbed)["lost"]


@pytest.mark.parametrize("requests, clients, burst", [
    (1000, 100, False), (999, 100, True), (5000, 5000, True), (100, None, False)])
def test_fewer_than_ten_requests_a_client_are_a_burst(requests, clients, burst):
    assert point(row(requests=requests), clients=clients)["burst"] == burst


@pytest.mark.parametrize("mean, more, cause", [
    (9.1, {}, ""), (10.9, {}, ""),
    (7.5, {"requests": 200}, ""),               # a wait of each was cut off
    (7.5, {"requests": 99}, "before each client had an answer"),
    (7.5, {"requests": 100}, ""),               # each asked once
    (30.0, {}, "more than its clients can have waited"),
    (6.7, {"load_cores_busy": 99.0}, "the tool is busy"),
    (6.7, {"limit": "load tool"}, "the tool is busy"),
    (6.7, {}, "cut off"), (30.0, {"status": "lossy"}, "requests were lost")])
def test_littles_law(mean, more, cause):
    """10,000 requests/s of 100 clients: each waits 10 ms. A mean that says something else has a
    cause, and no percentiles are printed."""
    each = dict.fromkeys(("mean_ms", *summary.PERCENTILES), mean)
    one = point(row(**each, **more), clients=100)
    assert one["waited_ms"] == 10
    assert cause in one["flag"] and bool(cause) == bool(one["flag"])
    for key in summary.PERCENTILES:
        assert one["values"][key] == (None if cause else mean)
    # An open loop, and no mean.
    assert not point(row(mean_ms=50.0))["flag"] and not point(row(), clients=100)["flag"]


def test_cpu_time_leads():
    """Then what one core can do, then the rate, where the server's core was busy; without a
    winner where the rounds decide nothing."""
    rows = [paired(n, server, costs[n % 2], server_busy=busy) for n in range(6)
            for server, busy, costs in (
                ("epoll", 99, (50, 50)), ("poll", 90, (40, 60)), ("forking", 99, (500, 500)))]
    [made] = summed_up(rows)["experiments"]
    text = " ".join(made["sentences"]["all"]["keep-alive"])
    found = [text.index(part) for part in (
        "50 us of CPU", "20,000 a second",
        "between 20 % cheaper and 20 % more expensive, 6 rounds for Poll", "10.0 times as much",
        "slower (0.10, 0.10 to 0.10) for Forking")]
    assert found == sorted(found) and text.count("for Poll") == 1


def test_each_curve_says_what_was_lost():
    """And which system calls a request makes."""
    [made] = summed_up([row(), row(x=500, status="lossy", failed_percent=12.5), *(
        row(None, x, status="not possible", note="no ports") for x in (900, 990))])["experiments"]
    text = made["sentences"]["each"][0]["text"]
    for part in ("(3 read, 1 accept4)", "500 clients: 12.5 %", "900, 990 clients: no ports"):
        assert part in text


@pytest.mark.parametrize("value, text", [
    (12345, "12,300"), (45.67, "45.7"), (4.567, "4.57"), (0, "0"), (12, "12"), (None, "?")])
def test_number(value, text):
    """Three digits that count."""
    assert sentences.number(value) == text


WRK = SimpleNamespace(name="wrk", busy_waits=False, open_loop=False)
HTTPERF = SimpleNamespace(name="httperf", busy_waits=True, open_loop=True)
QUEUE = {"overflows": 5, "accept_queue": 10, "accept_queue_limit": 10}


@pytest.mark.parametrize("values, limit, evidence", [
    ({"server_busy": 97.0, "load_busy": 60.0}, "server core", "97 %"),
    # What the tables draw hollow is not called the limit here.
    ({"server_busy": 94.0, "load_busy": 60.0}, "waiting", "server 94 %"),
    ({"server_busy": 50.0, "load_busy": 96.0}, "load tool", "wrk 96 %"),
    ({"redis_busy": 95.0, "server_busy": 95.0}, "Redis", "95 %"),
    ({"load_cores_busy": 99.0, "load_busy": 60.0, "foreign": 0}, "cores of the load", "wrk 60 %"),
    ({"load_cores_busy": 99.0, "foreign": None}, "all cores", "99 % busy"),
    ({"server_busy": 60.0, "foreign": 40.0}, "other programs", "40 %"),
    ({"failed_percent": 1.0, "descriptors": 1020, "descriptor_limit": 1024},
     "descriptors", "1,020 of 1,024"),
    ({"failed": 2, "note": "2 fd-unavail"}, "descriptors of the load tool", "2 fd-unavail"),
    ({"status": "crashed", "note": "SIGABRT"}, "crash", "SIGABRT"),
    # A full queue that lost nothing is the limit only where no core was busy.
    ({"server_busy": 97.0, **QUEUE}, "server core", "97 %"),
    ({"server_busy": 40.0, **QUEUE}, "accept queue", "5 overflows"),
    ({"server_busy": 97.0, "unfinished": 3, **QUEUE}, "accept queue", "10 of 10 waiting"),
    # Three threads at 50 % each are not busy, however much that is together.
    ({"width": 3, "load_busy": 150.0}, "waiting", "50 % of 3 cores"),
    ({"width": 3, "load_busy": 285.0}, "load tool", "95 % of 3 cores"),
    # httperf keeps its core busy whatever happens.
    ({"tool": HTTPERF, "load_busy": 99.0, "load_cores_busy": 99.0,
      "foreign": 0.0, "failed": 3}, "waiting", "server 0 %"),
    ({"tool": HTTPERF, "load_cores_busy": 99.0}, "none", "all demanded")])
def test_limits(values, limit, evidence):
    """Each limit has its evidence."""
    row = {"failed_percent": 0.0, "note": "", **values}
    found, why = bottleneck.judge(row, row.pop("tool", WRK), row.pop("width", 1))
    assert found == limit and evidence in why
    assert "httperf" not in why


def test_the_looks_together_spend_no_more_than_the_error():
    """What each look's interval misses adds up to 5 % at most: tossed for equal servers."""
    chance, spent = random.Random(3), 0
    for look in stats.LOOKS:
        end = stats.outer(look, stats.SHARES[look])
        below = [sum(rank for rank in range(1, look + 1) if chance.random() < 0.5)
                 for _ in range(10_000)]
        spent += 2 * sum(one < end for one in below) / len(below)
    assert spent <= 1.1 * stats.ERROR


def session(noise):
    """Measure two copies of a server in the rounds of a session; noise() is drawn for each run.
    Return the verdict about CPU time."""
    made, keys = [], [("keep-alive", server, 100) for server in ("poll", "epoll")]
    for number in range(1, stats.LOOKS[-1] + 1):
        made += [paired(number, server, 50 * noise()) for _, server, _ in keys]
        if number in stats.LOOKS and not unsettled(made, keys, lambda _: "epoll", made):
            break
    return comparisons(made, lambda _: "epoll", adaptive=True)[0]["verdict"]


def test_two_copies_of_one_server_are_rarely_called_different():
    """5 % of sessions, and what chance adds in a hundred of them, with the noise of the machine
    of the reference."""
    rows = rundir.read_rows(os.path.join(join.REFERENCE, "samples.csv"))
    chance, some = random.Random(17), [
        figure / statistics.mean(figures.values()) for cell in by_round(rows, "cpu_us").values()
        for figures in cell.values() for figure in figures.values()]
    wrong = sum(session(lambda: chance.choice(some)) in (stats.MORE, stats.LESS)
                for _ in range(100))
    assert wrong <= 10


@pytest.mark.parametrize("count, critical", [
    (6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89), (30, 137)])
def test_the_ends_are_those_of_the_tables(count, critical):
    """Of the signed-rank test with an error of 5 % on both sides together."""
    assert stats.outer(count, 0.05) == critical + 1


@pytest.mark.parametrize("ratios, adaptive, verdict, words", [
    ([8.04] * 6, True, stats.MORE, "8.0 times as much (8.0 to 8.0)"),
    ([1.62] * 6, True, stats.MORE, "62 % more (1.62, 1.62 to 1.62)"),
    ([0.97] * 6, True, stats.LESS, "3 % cheaper (0.97, 0.97 to 0.97)"),
    # Less than 2 % is not said, however certain it is.
    ([0.985] * 6, True, stats.EQUAL, "the same within 5 % (0.98, 0.98 to 0.98)"),
    ([0.98, 1.02] * 3, True, stats.EQUAL, "the same within 5 % (1.00, 0.98 to 1.02)"),
    ([0.9, 1.1] * 3, True, stats.UNKNOWN, "between 10 % cheaper and 10 % more, 6 rounds"),
    ([1.1, 1.2, 0.9], True, stats.FEW, "more in 2 of 3 rounds; middle: 7 % more"),
    # Ten of twelve above 1 decide, but not where 12 is the second look.
    ([0.9, 0.99, *[1.1] * 10], True, stats.UNKNOWN, "between 0.5 % cheaper and 10 % more"),
    ([0.9, 0.99, *[1.1] * 10], False, stats.MORE, "10 % more")])
def test_what_is_said(ratios, adaptive, verdict, words):
    """The rule, in each of its five cases."""
    found = stats.compare({n: 100 * r for n, r in enumerate(ratios)},
                          dict.fromkeys(range(len(ratios)), 100), adaptive)
    assert found["verdict"] == verdict
    assert stats.said(found, "more", "cheaper").startswith(words)


def test_comparisons():
    """CPU time, and the rate where the server was the limit; a round in which a server lost
    requests is left out."""
    made = [paired(n, *one, server_busy=99) for n in range(1, 8)
            for one in (("epoll", 50), ("poll", 55))]
    assert len(comparisons([{**one, "server_busy": 90} if one["server"] == "poll" else one
                            for one in made], lambda variant: "epoll")) == 1
    made[-1].update(status="lossy", cpu_us=10.0)
    cpu, rate = comparisons(made, lambda variant: "epoll")
    assert (cpu["server"], cpu["base"], cpu["rounds"]) == ("poll", "epoll", 6)
    assert (cpu["verdict"], rate["verdict"]) == (stats.MORE, stats.LESS)
