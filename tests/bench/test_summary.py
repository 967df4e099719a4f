"""Points of a summary, what is noisy, Little's law, and the sentences."""

import subprocess
import sys

import pytest

from bench.analyse import latency, sentences, summary
from bench.experiments import answer

KEYS = ("cpu_us", "foreign", "gauge_ms", "failed_percent",
        *latency.PERCENTILES)


def row(rate=10000.0, x=100, **more):
    """Return a row as samples.csv has them."""
    return {"variant": "keep-alive", "server": "epoll", "x": x, "repeat": 1,
            "status": "ok", "note": "", "tool": "wrk", "rate": rate,
            "limit": "server core", "evidence": "server 99 %", **more}


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
    assert one["rate"] == {"median": 100, "low": min(rates),
                           "high": max(rates)}
    # Rates that the load tool scatters say nothing about the server.
    assert point(*(row(rate, cpu_us=50.0) for rate in rates * 6))["tight"]


@pytest.mark.parametrize("values, noisy", [
    ({"foreign": 11.0}, ["foreign load"]), ({"gauge_ms": 6.5}, []),
    ({"gauge_ms": 9.0}, ["core slower or faster than usual"]),
    ({"gauge_ms": 4.0}, ["core slower or faster than usual"])])
def test_what_others_do_to_a_core_is_noise(values, noisy):
    """Foreign load, and a core that was slower or faster than usual."""
    assert point(*[row(**values)] * 6, speed=6.0)["noisy"] == noisy


def test_a_run_without_a_figure_is_told():
    """It is out of the median, and the point is not whole. What there was no
    time for, or is not possible, is no fault of the server."""
    one = point(row(9.0, note="slow"), row(11.0, note="slow"),
                row(None, status="crashed", note="signal 11"),
                row(None, status="hung"))
    assert one["rate"]["median"] == 10 and one["hollow"]
    assert (one["runs"], one["planned"]) == (2, 4)
    assert one["notes"] == ["slow (2 of 4 runs)", "signal 11 (1 of 4 runs)",
                            "hung (1 of 4 runs)"]
    assert not point(row(), row(None, status="no time"))["hollow"]


def test_the_limit_is_that_of_the_median_run():
    """Its evidence quotes figures; those of another run would not fit."""
    rows = [row(rate, evidence=f"{rate}") for rate in (9, 5, 7)]
    assert point(*rows)["evidence"] == point(*rows, row(10))["evidence"] == "7"


@pytest.mark.parametrize("mean, more, keep_alive, cause", [
    (9.1, {}, True, ""), (10.9, {}, True, ""),
    (30.0, {}, True, "corrected for coordinated omission"),
    (30.0, {"tool": "h2load"}, True, "more than its clients can have waited"),
    (6.7, {"load_cores_busy": 99.0}, True, "the tool is busy"),
    (6.7, {"limit": "load tool"}, True, "the tool is busy"),
    (6.7, {}, True, "with kept connections"),
    (3.1, {}, False, "time to connect"),
    (30.0, {"status": "lossy"}, True, "requests were lost"),
])
def test_littles_law(mean, more, keep_alive, cause):
    """10,000 requests/s of 100 clients: each waits 10 ms. A mean that says
    something else has a cause, and no percentiles are printed."""
    each = dict.fromkeys(("mean_ms", *latency.PERCENTILES), mean)
    one = point(row(**each, **more), clients=100, keep_alive=keep_alive)
    assert one["waited_ms"] == 10 and one["little"] == pytest.approx(mean / 10)
    assert cause in one["flag"] and bool(cause) == bool(one["flag"])
    for key in latency.PERCENTILES:
        assert one["values"][key] == (None if cause else mean)


def test_littles_law_needs_a_closed_loop_and_a_mean():
    """Neither the rate of an open loop nor a tool without a mean is judged."""
    for one in (point(row(mean_ms=50.0)), point(row(), clients=100)):
        assert (one["little"], one["flag"]) == (None, "")


KNOWN = [{"name": name, "title": name.title(), "chapter": f"docs/{name}.md",
          "kind": "architecture"} for name in ("poll", "epoll", "forking")]


def said(rows):
    """Return the sentences of the experiment answer with these rows: those
    about all servers, and those about each."""
    calls = [{"server": "epoll", "variant": "keep-alive", "call": call,
              "per_request": each} for call, each in (
                  ("all", 4.0), ("read", 3.0), ("accept4", 1.0))]
    told = summary.summarise(
        answer.EXPERIMENT, rows, calls, KNOWN, keys=(*KEYS, "server_busy"),
        speed=None, tools={}, adaptive=True)["sentences"]
    return " ".join(told["all"]["keep-alive"]), told["each"][0]["text"]


def costs(**servers):
    """Return six rows for each server, a list of two costs: in odd and in even
    rounds."""
    return [row(1e6 / pair[n % 2], repeat=n, server=server, server_busy=busy,
                cpu_us=pair[n % 2])
            for n in range(6) for server, (busy, *pair) in servers.items()]


def test_cpu_time_leads():
    """Then what one core can do, then the rate, where the server's core was
    busy; without a winner where none can be told."""
    rows = costs(epoll=(99, 50.0, 50.0), poll=(90, 40.0, 60.0),
                 forking=(99, 400.0, 400.0))
    text, _ = said(rows)
    found = [text.index(part) for part in (
        "costs Epoll 50 us", "can do 20,000 a second",
        "cannot tell with 6 rounds for Poll",
        "8.0 times as much (8.0 to 8.0) for Forking",
        "88 % slower (0.12, 0.12 to 0.12) for Forking")]
    assert found == sorted(found) and text.count("for Poll") == 1
    assert "Fewer than 6 rounds" in said(rows[:9])[0]


def test_each_curve_says_what_was_lost():
    """And which system calls a request makes."""
    text = said([
        row(), row(x=500, status="lossy", failed_percent=12.5),
        row(None, 900, status="not possible", note="no ports"),
        row(None, 990, status="not possible", note="no ports")])[1]
    for part in ("4 system calls (3 read, 1 accept4)", "at 500 clients: 12.5 %",
                 "at 900, 990 clients: no ports"):
        assert part in text
    assert said([row(None, status="hung")])[0].startswith("Nothing could")


@pytest.mark.parametrize("others, base", [
    (("poll", "epoll"), "epoll"), (("poll", "forking"), "poll")])
def test_the_baseline_is_epoll_or_the_first_that_takes_part(others, base):
    """Of those that are known, in their order."""
    made = summary.summarise(
        answer.EXPERIMENT, costs(**dict.fromkeys(others, (99, 1.0, 1.0))), [],
        KNOWN, keys=KEYS, speed=None, tools={}, adaptive=True)
    assert {one["base"] for one in made["comparisons"]} == {base}


def test_analyse_measures_nothing():
    """It needs rows only: neither servers nor load tools nor a meter."""
    code = ("import sys, bench.analyse.summary, bench.analyse.diff\n"
            "print(*{m.split('.')[1] for m in sys.modules if 'bench.' in m})")
    top = summary.__file__.rpartition("/bench/")[0]
    assert subprocess.run([sys.executable, "-c", code], cwd=top, check=True,
                          capture_output=True, text=True).stdout == "analyse\n"


@pytest.mark.parametrize("value, text", [
    (12345, "12,300"), (456.7, "457"), (45.67, "45.7"), (4.567, "4.57"),
    (0.041, "0.04"), (0, "0"), (12, "12"), (None, "?")])
def test_number(value, text):
    """Three digits that count."""
    assert sentences.number(value) == text
