"""Points of a summary, what is noisy, Little's law, and the sentences."""

import subprocess
import sys

import pytest

from bench.analyse import latency, sentences, summary
from bench import experiments

KEYS = ("cpu_us", "foreign", "gauge_ms", "failed_percent", "server_busy", *latency.PERCENTILES)
KNOWN = [{"name": name, "title": name.title(), "chapter": ""}
         for name in ("poll", "epoll", "forking")]


def row(rate=10000.0, x=100, **more):
    """Return a row as samples.csv has them."""
    return {"variant": "keep-alive", "server": "epoll", "x": x, "repeat": 1,
            "status": "ok", "note": "", "tool": "ab", "rate": rate,
            "requests": 10**6,
            "limit": "server core", "evidence": f"{rate}", **more}


def point(*rows, speed=None, **more):
    """Return the point of rows."""
    return summary.point(rows, KEYS, speed, **more)


@pytest.mark.parametrize("rates, tight, noisy", [
    ([100.0] * 5, False, ["fewer than six rounds"]),
    ([99.0, 100.0, 101.0] * 2, True, []),
    ([90.0, 100.0, 110.0] * 2, False, ["rounds scatter"]),
    ([50.0, 150.0] + [99.0, 100.0, 101.0] * 4, True, []),
])
def test_tight_and_noisy(rates, tight, noisy):
    """By the cell's own interval: two wild rounds of fourteen do not spoil
    it, as they would a range, which is only there to be drawn."""
    one = point(*map(row, rates))
    assert (one["tight"], one["noisy"]) == (tight, noisy)
    assert one["rate"] == {"median": 100, "low": min(rates), "high": max(rates)}
    # Rates that the load tool scatters say nothing about the server.
    assert point(*(row(rate, cpu_us=50.0) for rate in rates * 6))["tight"]


@pytest.mark.parametrize("values, noisy", [
    ({"foreign": 11.0}, True), ({"gauge_ms": 6.5}, False),
    ({"gauge_ms": 9.0}, True), ({"gauge_ms": 4.0}, True)])
def test_what_others_do_to_a_core_is_noise(values, noisy):
    """Foreign load, and a core that was slower or faster than usual."""
    assert bool(point(*[row(**values)] * 6, speed=6.0)["noisy"]) == noisy


def test_a_run_without_a_figure_is_told():
    """It is out of the median, and the point is not whole. What there was no
    time for is no fault of the server."""
    one = point(row(9.0, note="slow"), row(11.0, note="slow"),
                row(None, status="crashed", note="signal 11"))
    assert one["rate"]["median"] == 10 and one["hollow"]
    assert (one["runs"], one["planned"]) == (2, 3)
    assert one["notes"] == ["slow (2 of 3 runs)", "signal 11 (1 of 3 runs)"]
    assert not point(row(), row(None, status="no time"))["hollow"]


def test_the_limit_is_that_of_the_median_run():
    """Its evidence quotes figures; those of another run would not fit."""
    assert point(row(9), row(5), row(7))["evidence"] == "7"


@pytest.mark.parametrize("mean, more, cause", [
    (9.1, {}, ""), (10.9, {}, ""),
    (7.5, {"requests": 200}, ""),               # a wait of each was cut off
    (7.5, {"requests": 100}, "before each client had an answer"),
    (30.0, {}, "more than its clients can have waited"),
    (6.7, {"load_cores_busy": 99.0}, "the tool is busy"),
    (6.7, {"limit": "load tool"}, "the tool is busy"),
    (6.7, {}, "cut off"), (30.0, {"status": "lossy"}, "requests were lost"),
])
def test_littles_law(mean, more, cause):
    """10,000 requests/s of 100 clients: each waits 10 ms. A mean that says
    something else has a cause, and no percentiles are printed."""
    each = dict.fromkeys(("mean_ms", *latency.PERCENTILES), mean)
    one = point(row(**each, **more), clients=100)
    assert one["waited_ms"] == 10
    if "requests" not in more:
        assert one["little"] == pytest.approx(mean / 10, rel=0.01)
    assert cause in one["flag"] and bool(cause) == bool(one["flag"])
    for key in latency.PERCENTILES:
        assert one["values"][key] == (None if cause else mean)


@pytest.mark.parametrize("one", [point(row(mean_ms=50.0)), point(row(), clients=100)])
def test_littles_law_needs_a_closed_loop_and_a_mean(one):
    assert (one["little"], one["flag"]) == (None, "")


def made(rows):
    """Return the summary of the experiment answer with these rows."""
    calls = [{"server": "epoll", "variant": "keep-alive", "call": call,
              "per_request": each} for call, each in (
                  ("all", 4.0), ("read", 3.0), ("accept4", 1.0))]
    return summary.summarise(experiments.all_experiments()[1], rows, calls, KNOWN, keys=KEYS,
                             speed=None, tools={}, adaptive=True)


def costs(**servers):
    """Return the rows of six rounds for {server: (how busy its core was, its
    costs in odd and in even rounds)}."""
    return [row(1e6 / pair[n % 2], repeat=n, server=server, server_busy=busy,
                cpu_us=pair[n % 2])
            for n in range(6) for server, (busy, *pair) in servers.items()]


def test_cpu_time_leads():
    """Then what one core can do, then the rate, where the server's core was
    busy; without a winner where the rounds decide nothing."""
    rows = costs(epoll=(99, 50.0, 50.0), poll=(90, 40.0, 60.0), forking=(99, 400.0, 400.0))
    text = " ".join(made(rows)["sentences"]["all"]["keep-alive"])
    found = [text.index(part) for part in (
        "50 us of CPU", "20,000 a second",
        "cannot tell with 6 rounds for Poll", "8.0 times as much", "slower (0.12, 0.12 to 0.12) for Forking")]
    assert found == sorted(found) and text.count("for Poll") == 1


def test_each_curve_says_what_was_lost():
    """And which system calls a request makes."""
    text = made([
        row(), row(x=500, status="lossy", failed_percent=12.5),
        *(row(None, x, status="not possible", note="no ports")
          for x in (900, 990))])["sentences"]["each"][0]["text"]
    for part in ("(3 read, 1 accept4)", "500 clients: 12.5 %", "900, 990 clients: no ports"):
        assert part in text


@pytest.mark.parametrize("others, base", [
    (("poll", "epoll"), "epoll"), (("forking", "poll"), "poll")])
def test_the_baseline_is_epoll_or_the_first_that_takes_part(others, base):
    rows = costs(**dict.fromkeys(others, (99, 1.0, 1.0)))
    assert {one["base"] for one in made(rows)["comparisons"]} == {base}


def test_analyse_measures_nothing():
    """It needs rows only: neither servers nor load tools nor a meter."""
    code = ("import sys, bench.analyse.summary\n"
            "print(*{m.split('.')[1] for m in sys.modules if 'bench.' in m})")
    assert subprocess.check_output(
        [sys.executable, "-c", code], text=True,
        cwd=summary.__file__.rpartition("/bench/")[0]) == "analyse\n"


@pytest.mark.parametrize("value, text", [
    (12345, "12,300"), (456.7, "457"), (45.67, "45.7"), (4.567, "4.57"),
    (0.041, "0.04"), (0, "0"), (12, "12"), (None, "?")])
def test_number(value, text):
    """Three digits that count."""
    assert sentences.number(value) == text
