"""Points of a summary, what is noisy, Little's law, and the sentences."""

import subprocess
import sys

import pytest

import made_up
from bench.analyse import latency, sentences, summary
from bench.analyse.comparisons import comparisons


def row(x, rate, **more):
    """Return a row as samples.csv has them."""
    return {"experiment": "guestbook", "variant": "", "server": "epoll",
            "x": x, "repeat": 1, "status": "ok", "note": "", "tool": "wrk",
            "rate": rate, "failed_percent": 0.0, "foreign": 0.0,
            "limit": "server core", "evidence": "server 99 %", **more}


def rounds(x, rate, count=6, **more):
    """Return the rows of so many rounds that agree within 1 %."""
    return [row(x, rate * (1 + n % 3 / 200), repeat=n + 1, **more)
            for n in range(count)]


def test_a_point():
    """Medians; the range is there to be drawn."""
    point = summary.point([row(20, 100.0), row(20, 120.0), row(20, 110.0)],
                          keys=["cpu_us"])
    assert point["rate"] == {"median": 110, "low": 100, "high": 120}
    assert point["runs"] == 3 and not point["hollow"]
    assert point["values"]["cpu_us"] is None
    assert point["values"]["foreign"] == 0.0 and "x" not in point["values"]


@pytest.mark.parametrize("rates, tight, noisy", [
    ([100.0], False, ["only 1 round"]),
    ([100.0] * 5, False, ["only 5 rounds"]),
    ([99.0, 100.0, 101.0] * 2, True, []),
    ([90.0, 100.0, 110.0] * 2, False, ["rounds scatter"]),
    ([50.0, 150.0] + [99.0, 100.0, 101.0] * 4, True, []),
])
def test_tight_and_noisy(rates, tight, noisy):
    """By the cell's own interval: two wild rounds of fourteen do not spoil
    it, as they would a range."""
    point = summary.point([row(20, rate) for rate in rates])
    assert (point["tight"], point["noisy"]) == (tight, noisy)


def test_a_cell_is_judged_by_its_cpu_time():
    """Rates that the load tool scatters say nothing about the server."""
    rows = [row(20, rate, cpu_us=50.0) for rate in (60.0, 100.0, 140.0) * 2]
    point = summary.point(rows)
    assert point["tight"] and not point["noisy"]
    assert point["intervals"] == {"rate": (60.0, 140.0),
                                  "cpu_us": (50.0, 50.0)}


def test_what_others_do_to_a_core_is_noise():
    """Foreign load, and a core that was slower or faster than usual."""
    assert summary.point(rounds(20, 100.0, foreign=11.0))["noisy"] == \
        ["foreign load"]
    usual = rounds(20, 100.0, 12, gauge_ms=6.0, load_gauge_ms=6.0)
    for gauge, time, word in (("gauge_ms", 9.0, "core 50 % slower"),
                              ("gauge_ms", 4.0, "core 33 % faster"),
                              ("load_gauge_ms", 9.0,
                               "load core 50 % slower")):
        odd = rounds(100, 60.0, **{"gauge_ms": 6.0, "load_gauge_ms": 6.0,
                                   gauge: time})
        typical = summary.typical_cores(usual + odd)
        assert typical == {"gauge_ms": 6.0, "load_gauge_ms": 6.0}
        assert summary.point(odd, typical)["noisy"] == [word]
        assert not summary.point(usual, typical)["noisy"]
    assert summary.typical_cores([row(20, 100.0)]) == {}


def test_a_run_without_a_figure_is_told():
    """It is out of the median, and the point is not whole. What there was no
    time for, or is not possible, is no fault of the server."""
    point = summary.point([
        row(20, 100.0, note="slow"), row(20, 102.0, note="slow"),
        row(20, None, status="crashed", note="signal 11"),
        row(20, None, status="hung", note="")])
    assert point["rate"]["median"] == 101 and point["hollow"]
    assert (point["runs"], point["planned"]) == (2, 4)
    assert point["notes"] == ["slow (2 of 4 runs)", "signal 11 (1 of 4 runs)",
                              "hung (1 of 4 runs)"]
    assert not summary.point([row(20, 100.0), row(
        20, None, status="no time", note="late")])["hollow"]
    none = summary.point([row(20, None, status="not started", note="busy")])
    assert none["rate"] is None and none["notes"] == ["busy"]


def test_a_point_that_lost_everything():
    """Nothing answered, or no run with a figure; not one never tried."""
    lossy = row(20, 0.0, status="lossy", failed_percent=None)
    for rows, lost in (([lossy], True), ([lossy, row(20, 9.0)], False),
                       ([row(20, None, status="crashed")], True),
                       ([row(20, None, status="not possible")], False)):
        assert summary.lost_all(summary.point(rows)) == lost


def test_the_limit_is_that_of_the_median_run():
    """Its evidence quotes figures; those of another run would not fit."""
    rows = [row(20, rate, evidence=f"{rate:.0f}") for rate in (9, 5, 7, 10)]
    assert summary.point(rows[:3])["evidence"] == "7"
    assert summary.point(rows[::-1])["evidence"] == "7"


def test_best_is_one_that_lost_nothing():
    """A high rate bought with lost requests is not the best."""
    curve = summary.curve("epoll", "", [
        row(20, 100.0), row(100, 150.0), row(1000, 900.0, status="lossy")])
    assert [p["x"] for p in curve["points"]] == [20, 100, 1000]
    assert curve["best"] == 100


@pytest.mark.parametrize("mean, more, keep_alive, cause", [
    (10.0, {}, True, ""), (9.1, {}, True, ""), (10.9, {}, True, ""),
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
    point = summary.point([row(100, 10000.0, mean_ms=mean, p50_ms=mean,
                               p99_ms=mean, max_ms=mean, **more)],
                          keep_alive=keep_alive)
    assert point["waited_ms"] == 10.0
    assert point["little"] == pytest.approx(mean / 10)
    assert cause in point["flag"] and bool(cause) == bool(point["flag"])
    for key in latency.PERCENTILES:
        assert (point["values"][key] is None) == bool(cause)


def test_littles_law_needs_a_closed_loop_and_a_mean():
    """The x of an open loop is no number of clients, nor are x idle ones."""
    rows = [row(100, 10000.0, mean_ms=50.0, p99_ms=60.0)]
    point = summary.point(rows, open_loop=True)
    assert (point["little"], point["flag"], point["waited_ms"]) == \
        (None, "", None)
    assert point["values"]["p99_ms"] == 60.0
    idle = summary.point([row(5000, 10000.0, mean_ms=10.0)], clients=100)
    assert (idle["little"], idle["waited_ms"]) == (1.0, 10.0)
    point = summary.point([row(100, 10000.0), row(100, 0.0, mean_ms=1.0)])
    assert (point["little"], point["flag"]) == (None, "")


TITLES = {"epoll": "architecture", "forking": "architecture",
          "poll": "architecture", "floor": "floor"}
KNOWN = [{"name": name, "title": name, "chapter": f"docs/{name}.md",
          "kind": kind} for name, kind in TITLES.items()]


def said(rows, **more):
    """Return the sentences of an experiment with these rows."""
    names = list(dict.fromkeys(r["server"] for r in rows))
    return sentences.explain({
        "name": "guestbook", "unit": "pages/s", "x_short": "clients",
        "reference": 100, "open_loop": False, "variants": [""],
        "baselines": {"": "epoll"}, "calls_at": 20,
        "calls": {"epoll/": {"all": 9.0, "accept4": 1.0, "read": 3.0}},
        "comparisons": comparisons(rows, lambda variant: "epoll"),
        "curves": [summary.curve(n, "", [r for r in rows if r["server"] == n])
                   for n in names], **more}, KNOWN)


def cost(cpu, **more):
    """Return what a row knows of a server that is fully busy."""
    return {"cpu_us": cpu, "cpu_user_us": cpu * 0.4, "cpu_system_us":
            cpu * 0.6, "server_busy": 99.0, **more}


def test_cpu_time_leads():
    """Then what one core can do, then the rate; floors are no rivals."""
    told = said(rounds(100, 9000.0, **cost(50.0))
                + rounds(100, 1000.0, server="forking", **cost(400.0))
                + rounds(100, 9100.0, server="poll", **cost(50.0))
                + rounds(100, 20000.0, server="floor", **cost(40.0)))
    assert told["all"][""] == [
        "At 100 clients a request costs epoll 50 us of CPU time, so one core "
        "can do 20,000 a second; epoll answers 9,040 pages/s.",
        "CPU time compared with epoll: the same within 5 % (1.00, 1.00 to "
        "1.00) for poll; 700 % dearer (8.00, 8.00 to 8.00) for forking.",
        "CPU time of floors, which only make the system calls, compared with "
        "epoll: 20 % cheaper (0.80, 0.80 to 0.80) for floor.",
        "Rate, where both cores were fully busy, compared with epoll: "
        "89 % slower (0.11, 0.11 to 0.11) for forking; 1 % faster (1.01, 1.01 "
        "to 1.01) for poll."]


def test_what_cannot_be_told_has_no_winner():
    """Three rounds; a load tool that was busy; lost requests; noise."""
    rows = (rounds(100, 9000.0, 3, **cost(50.0, server_busy=60.0,
                                          limit="load tool"))
            + rounds(100, 8000.0, 3, server="poll",
                     **cost(60.0, foreign=30.0))
            + rounds(100, 99000.0, 3, server="forking", status="lossy",
                     **cost(9.0)))
    assert said(rows)["all"][""][1:] == [
        "CPU time compared with epoll: dearer in 3 of 3 rounds for poll.",
        "The load tool was the limit, so look at the CPU time and not at the "
        "rate: epoll.",
        "Rounds that lost requests are not compared: forking.",
        "Noisy: poll.", "Fewer than six rounds: a first look, not a result."]
    wild = [row(100, 9000.0, repeat=n, server=server, **cost(cpu))
            for n, swing in enumerate((40.0, 60.0) * 3)
            for server, cpu in (("epoll", 50.0), ("poll", swing))]
    assert "CPU time compared with epoll: cannot tell with 6 rounds for poll." \
        in said(wild)["all"][""]
    [first, *_] = said(rounds(100, 10.0, server="poll") + rounds(500, 10.0)
                       )["all"][""]
    assert first == "At 100 clients epoll has no figure, so nothing is " \
                    "compared."


def test_each_curve_is_told():
    """Cost, calls, rates, limit, losses and gaps."""
    rows = (rounds(100, 1000.0, **cost(50.0, switches=0.25, faults=45.0))
            + rounds(1000, 500.0, limit="accept queue", evidence="12 lost")
            + rounds(2000, 50.0, status="lossy", failed_percent=12.5,
                     note="8 client-timo", limit=None)
            + [row(5000, None, status="not possible", note="no ports")])
    [told] = said(rows)["each"]
    assert told["chapter"] == "docs/epoll.md"
    assert told["text"] == (
        "At 100 clients a request costs epoll 50 us of CPU time (20 user, 30 "
        "system), 0.25 context switches, 45 page faults. One core can do "
        "20,000 a second. Counted at 20, a request makes 9 system calls (3 "
        "read, 1 accept4). Rates: 1,000 pages/s at 100 and 50.2 pages/s at "
        "2,000 clients. At 2,000 clients: 12.5 % of the requests were lost; "
        "8 client-timo. Not measured at 5,000 clients: no ports.")
    told = said(rows[:12], open_loop=True)["each"][0]["text"]
    assert "epoll answers all requests up to 1,000 clients." in told
    assert "Its limit at 1,000: accept queue (12 lost)." in told
    none = said([row(100, None, status="hung")])
    assert none["all"][""] == ["Nothing could be measured here."]
    assert none["each"][0]["text"] == "epoll has no figure: hung."


def test_a_folder_of_results(tmp_path):
    """Comparisons with epoll, or with the first that takes part; a folder of
    an experiment that is no longer there is read as well."""
    made = summary.make(made_up.folder(tmp_path, ("poll", "epoll"), False))
    for one in made["experiments"]:
        assert set(one["baselines"].values()) == {"epoll"}
        assert {(c["server"], c["metric"]) for c in one["comparisons"]} == \
            {("poll", "cpu_us"), ("poll", "rate")} or not one["comparisons"]
        assert set(one["latency"]) == {one["tool"]}
    folder = made_up.folder(tmp_path / "alone", ("poll",), False)
    samples = tmp_path / "alone" / folder / "samples.csv"
    samples.write_text(samples.read_text().replace("\nredirect,", "\nlab,"))
    made = {one["name"]: one for one in summary.make(folder)["experiments"]}
    assert made["answer"]["baselines"]["keep-alive"] == "poll"
    assert made["lab"]["curves"] and "redirect" not in made


def test_analyse_measures_nothing():
    """It needs rows only: neither servers nor load tools nor a meter."""
    code = ("import sys, bench.analyse.summary, bench.analyse.diff, "
            "bench.analyse.bottleneck\nprint(*sorted({m.split('.')[1] for m "
            "in sys.modules if m.startswith('bench.')}))")
    top = summary.__file__.rpartition("/bench/")[0]
    assert subprocess.run([sys.executable, "-c", code], cwd=top, check=True,
                          capture_output=True, text=True).stdout == \
        "analyse\n"


def test_number():
    """Three digits that count."""
    assert [sentences.number(v) for v in (12345, 456.7, 45.67, 4.567, 0.041,
                                          0, 12, None)] == \
        ["12,300", "457", "45.7", "4.57", "0.04", "0", "12", "?"]
