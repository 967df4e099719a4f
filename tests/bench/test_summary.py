"""Medians, spreads, what is noisy, what is hollow, and the sentences."""

import os

from bench.meter import calibration as core_gauge
from bench.analyse import bottleneck as limits
from bench import load
from bench.analyse import sentences
from bench.analyse import summary
from bench.draw import table as tables
from bench.draw import live as terminal
from bench.draw import text as textchart


def row(x, rate, **more):
    """Return a row as samples.csv has them."""
    return {"experiment": "guestbook", "variant": "", "server": "epoll",
            "x": x, "status": "ok", "note": "", "rate": rate,
            "failed_percent": 0.0, "foreign": 0.0, "limit": "server core",
            "evidence": "server 99 %", **more}


def test_point_has_median_and_spread():
    """Three runs: the one in the middle, and how far apart they lie."""
    point = summary.point([row(20, 100.0), row(20, 120.0), row(20, 110.0)])
    assert point["rate"] == {"median": 110, "low": 100, "high": 120}
    assert round(point["spread"], 1) == 18.2
    assert point["noisy"] and not point["hollow"]
    assert point["runs"] == 3


def test_quiet_point():
    """A small spread is not noisy, unless others used the core."""
    rows = [row(20, 100.0), row(20, 104.0), row(20, 102.0)]
    assert not summary.point(rows)["noisy"]
    for each in rows:
        each["foreign"] = 50.0
    assert summary.point(rows)["noisy"] == ["foreign load"]


def test_more_runs_make_up_for_noise():
    """Three runs that lie 30 % apart leave the median open, twelve such do
    not: the chance that it lies outside of those in the middle is known."""
    few = [row(20, rate) for rate in (100.0, 115.0, 130.0)]
    many = [row(20, 100.0 + i) for i in (0, 30, *range(10, 20))]
    assert summary.point(few)["noisy"] == ["runs far apart"]
    assert not summary.point(many)["noisy"]
    assert summary.point(many)["spread"] > 20


def test_interval_of_the_median():
    """Which of n sorted values it ends at: from tables of the sign test."""
    for n, cut in ((1, 0), (2, 0), (3, 0), (5, 0), (7, 0), (8, 1), (9, 1),
                   (11, 2), (15, 3), (20, 5), (25, 7)):
        assert summary.interval(range(n, 0, -1)) == (1 + cut, n - cut), n


def test_few_runs_that_agree_by_chance():
    """Where most points of an experiment are far apart, three runs that are
    not prove nothing, and five do; where most agree, three do, too."""
    calm = [summary.point([row(20, 100.0 + i) for i in range(runs)])
            for runs in (3, 3, 5)]
    wild = [summary.point([row(20, 100.0 + 20 * i) for i in range(3)])
            for _ in range(4)]
    summary.mark_lucky([*calm, *wild[:2]])
    assert [one["noisy"] for one in calm] == [[], [], []]
    summary.mark_lucky([*calm, *wild])
    word = "few runs, where others are far apart"
    assert [one["noisy"] for one in calm] == [[word], [word], []]
    assert all(one["noisy"] == ["runs far apart"] for one in wild)


def test_a_slow_core_is_noise():
    """Three runs that agree, but on a core that was faster elsewhere; and
    three for which it was faster than elsewhere."""
    rows = [row(20, 100.0 + i, gauge_ms=6.0) for i in range(6)]
    rows += [row(100, 60.0 + i, gauge_ms=9.0) for i in range(3)]
    rows += [row(500, 160.0 + i, gauge_ms=4.0) for i in range(3)]
    typical = summary.typical_cores(rows)
    assert typical == {"gauge_ms": 6.0}
    slow, fast = (summary.point(rows[i:i + 3], typical) for i in (6, 9))
    assert slow["noisy"] == ["core 50 % slower"]
    assert fast["noisy"] == ["core 33 % faster"]
    assert not summary.point(rows[:6], typical)["noisy"]
    assert "Noisy at 100: core slower or faster" in sentences._noise([slow])
    assert summary.typical_cores([row(20, 100.0)]) == {}


def test_a_slow_core_of_the_load_tool_is_noise():
    """It is as often the one that limits."""
    rows = 6 * [row(20, 100.0, gauge_ms=6.0, load_gauge_ms=6.0)] \
        + 3 * [row(100, 60.0, gauge_ms=6.0, load_gauge_ms=9.0)]
    typical = summary.typical_cores(rows)
    slow = summary.point(rows[6:], typical)
    assert slow["noisy"] == ["load core 50 % slower"]
    assert not summary.point(rows[:6], typical)["noisy"]
    assert sentences._noise([slow]) == \
        "Noisy at 100: load core slower or faster than in most of the run."


def test_gauge_takes_time_and_gives_the_core_back():
    """Some milliseconds of CPU time, and the affinity is as it was."""
    before = os.sched_getaffinity(0)
    assert core_gauge.measure(min(before)) > 0
    assert os.sched_getaffinity(0) == before


def test_lost_requests_make_a_point_hollow():
    """One run of three that lost something is enough."""
    point = summary.point([row(20, 100.0), row(20, 100.0, status="lossy",
                                               failed_percent=3.0)])
    assert point["hollow"] and point["rate"]["median"] == 100


def test_point_without_a_figure_says_why():
    """A server that did not start is not a rate of 0."""
    point = summary.point([row(20, None, status="not started",
                               note="port in use")])
    assert point["rate"] is None and point["notes"] == ["port in use"]


def test_a_run_without_a_figure_is_told():
    """It is out of the median, and the point is neither whole nor quiet."""
    point = summary.point([
        row(20, 100.0, note="slow"), row(20, 102.0, note="slow"),
        row(20, None, status="crashed", note="signal 11"),
        row(20, None, status="hung", note="")])
    assert point["rate"]["median"] == 101 and point["hollow"]
    assert (point["runs"], point["planned"]) == (2, 4)
    assert point["notes"] == ["slow (2 of 4 runs)", "signal 11 (1 of 4 runs)",
                              "hung (1 of 4 runs)"]
    assert point["noisy"] == ["only 2 of 4 runs"]


def test_one_run_is_not_quiet():
    """Its spread is not known, rather than 0. What the harness had no time
    for is no fault of the server."""
    point = summary.point([row(20, 100.0)])
    assert point["noisy"] == ["one run"] and point["spread"] is None
    point = summary.point([row(20, 100.0), row(20, None, status="no time",
                                               note="the time was over")])
    assert point["noisy"] == ["only 1 of 2 runs"] and not point["hollow"]


def test_a_point_that_lost_everything():
    """Nothing answered, or no run with a figure; not one never tried."""
    lossy = row(20, 0.0, status="lossy", failed_percent=None)
    assert summary.lost_all(summary.point([lossy]))
    assert summary.lost_all(summary.point([row(20, None, status="crashed")]))
    assert not summary.lost_all(summary.point([lossy, row(20, 9.0)]))
    assert not summary.lost_all(summary.point(
        [row(20, None, status="not possible", note="no descriptors")]))


def test_the_limit_is_that_of_the_median_run():
    """Its evidence quotes figures; those of another run would not fit."""
    rows = [row(20, rate, evidence=f"server {rate:.0f} %")
            for rate in (90.0, 50.0, 70.0, 95.0)]
    assert summary.point(rows[:3])["evidence"] == "server 70 %"
    assert summary.point(rows)["evidence"] == "server 70 %"
    assert summary.point(rows[::-1])["evidence"] == "server 70 %"


def test_best_is_one_that_lost_nothing():
    """A high rate bought with lost requests is not the best."""
    curve = summary.curve("epoll", "", [
        row(20, 100.0), row(100, 150.0), row(1000, 900.0, status="lossy")])
    assert [p["x"] for p in curve["points"]] == [20, 100, 1000]
    assert curve["best"] == 100


def experiment(rows):
    """Return an experiment of the summary with one curve a server."""
    names = list(dict.fromkeys(r["server"] for r in rows))
    return {"name": "guestbook", "unit": "pages/s", "x_short": "clients",
            "reference": 100, "open_loop": False, "variants": [""],
            "calls_at": 20,
            "calls": {"epoll/": {"all": 9.0, "accept4": 1.0, "read": 3.0}},
            "curves": [summary.curve(n, "", [r for r in rows
                                             if r["server"] == n])
                       for n in names]}


KNOWN = [{"name": n, "title": n, "chapter": f"docs/{n}.md",
          "kind": "architecture"} for n in ("forking", "epoll")]


def test_sentences_come_from_the_figures():
    """Other figures, other sentences."""
    rows = [row(100, 9000.0, cpu_us=50.0, cpu_user_us=20.0,
                cpu_system_us=30.0, switches=0.25),
            row(1000, 4500.0, accept_queue=900, limit="accept queue",
                evidence="12 overflows"),
            row(100, 1000.0, server="forking", cpu_us=400.0,
                cpu_user_us=100.0, cpu_system_us=300.0, faults=45.0)]
    said = sentences.explain(experiment(rows), KNOWN)
    assert "epoll answers most, 9,000 pages/s, 9.0 times as many as " \
           "forking (1,000)" in said["all"][""][0]
    assert "Least CPU time a request takes epoll with 50 us" \
        in said["all"][""][1]
    epoll = next(e for e in said["each"] if e["server"] == "epoll")
    assert "has only 50 % of that at 1,000" in epoll["text"]
    assert "Counted at 20, a request makes 9 system calls " \
           "(3 read, 1 accept4)." in epoll["text"]
    assert "900 connections waited in the accept queue" in epoll["text"]
    assert epoll["chapter"] == "docs/epoll.md"
    forking = next(e for e in said["each"] if e["server"] == "forking")
    assert "45 page faults" in forking["text"]


def test_a_floor_is_no_rival():
    """It is told apart: nobody can be cheaper, and it does less."""
    floor = {"name": "floor", "title": "the floor", "chapter": "",
             "kind": "floor"}
    rows = [row(100, 9000.0, cpu_us=50.0, cpu_user_us=20.0,
                cpu_system_us=30.0),
            row(100, 20000.0, server="floor", cpu_us=40.0, cpu_user_us=0.0,
                cpu_system_us=40.0)]
    said = sentences.explain(experiment(rows), [*KNOWN, floor])["all"][""]
    assert len(said) == 1
    assert "(the floor) needs 40 us: epoll takes 1.25 times that." in said[0]


def test_equal_servers_have_no_winner():
    """Where the runs of two overlap, neither is the faster, nor the cheaper
    one; and each is best wherever its runs reach its best ones."""
    costs = {"cpu_user_us": 20.0, "cpu_system_us": 30.0}
    rows = [row(100, rate, server=server, cpu_us=cpu, **costs)
            for server, rates, cpu in (("epoll", (920.0, 1000.0, 1010.0), 50.0),
                                       ("forking", (905.0, 950.0, 960.0), 50.0))
            for rate in rates]
    said = sentences.explain(experiment(rows), KNOWN)["all"][""]
    assert said[:2] == [
        "At 100 clients epoll and forking answer the same, about 1,000 "
        "pages/s.", "Least CPU time a request take epoll and forking with "
                    "about 50 us, the same within the spread."]
    slow = [row(100, 100.0, server="poll", cpu_us=400.0, **costs)]
    said = sentences.explain(experiment(rows + slow), [*KNOWN, {
        **KNOWN[0], "name": "poll", "title": "poll"}])["all"][""]
    assert said[0] == (
        "At 100 clients epoll and forking answer most, about 1,000 pages/s; "
        "the differences between them are within the spread. That is 10.0 "
        "times as many as poll (100).")
    assert said[1].endswith("within the spread, most poll with 400 us.")
    assert said[2] == "Noisy there: poll."


def test_who_lost_something_wins_nothing():
    """Nor is it the slowest; that it is left out is said."""
    rows = [row(100, 500.0), row(100, 9000.0, server="forking",
                                 status="lossy", failed_percent=40.0)]
    said = sentences.explain(experiment(rows), KNOWN)["all"][""]
    assert said[0] == \
        "At 100 clients only epoll answered without loss, 500 pages/s."
    assert "Not compared, because requests or runs were lost: forking." in said
    rows[1]["rate"] = 0.0
    rows[0].update(status="lossy")
    said = sentences.explain(experiment(rows), KNOWN)["all"][""]
    assert said[0] == "At 100 clients nobody answered without loss."


def test_a_flat_curve_has_no_best_point():
    """It is best wherever its runs reach those of its best point."""
    rows = [row(x, rate + more) for x, rate in ((20, 500.0), (100, 1000.0),
                                                (500, 1010.0), (1000, 990.0),
                                                (5000, 100.0))
            for more in (-20.0, 0.0, 20.0)]
    text = sentences.explain(experiment(rows), KNOWN)["each"][0]["text"]
    assert text.startswith(
        "epoll is best from 100 to 1,000 clients with about 1,010 pages/s, "
        "the same within the spread, and has only 10 % of that at 5,000.")
    text = sentences.explain(experiment(rows[:12]), KNOWN)["each"][0]["text"]
    assert "1,000 clients, where the curve ends, with about" in text


def test_sentences_name_losses_and_gaps():
    """What was lost, what could not be measured, and why."""
    rows = [row(100, 100.0),
            row(1000, 50.0, status="lossy", failed_percent=12.5,
                note="8 client-timo"),
            row(5000, None, status="not possible", note="too few "
                                                         "descriptors")]
    text = sentences.explain(experiment(rows), KNOWN)["each"][0]["text"]
    assert "12.5 % of the requests were lost (8 client-timo)" in text
    assert "Not measured at 5,000 clients: too few descriptors." in text


def test_number():
    """Three digits that count."""
    assert [sentences.number(v) for v in (12345, 456.7, 45.67, 4.567, 0.041,
                                          0, 12, None)] == \
        ["12,300", "457", "45.7", "4.57", "0.04", "0", "12", "?"]


WRK = load.TOOLS["wrk"]


def judged(**values):
    """Return the limit for a row with these figures."""
    return limits.judge({"failed_percent": 0.0, "note": "", **values}, WRK)[0]


def test_limits():
    """Each limit has its evidence."""
    assert judged(server_busy=97.0, load_busy=60.0) == "server core"
    assert judged(server_busy=50.0, load_busy=96.0) == "load tool"
    assert judged(redis_busy=95.0, server_busy=95.0) == "Redis"
    assert judged(load_cores_busy=99.0, load_busy=60.0,
                  foreign=0.0) == "cores of the load"
    assert judged(server_busy=30.0, load_busy=30.0) == "waiting"
    assert judged(load_cores_busy=99.0, foreign=None) == "all cores"
    assert judged(server_busy=60.0, foreign=40.0) == "other programs"
    assert judged(overflows=5, accept_queue=4096,
                  accept_queue_limit=4096) == "accept queue"
    assert judged(failed_percent=1.0, descriptors=1020,
                  descriptor_limit=1024) == "descriptors"


def test_table_cell():
    """A median with half its spread; hollow and missing ones are marked, and
    how many runs it is of when some broke."""
    rows = [row(20, 1000.0), row(20, 1100.0), row(20, 1050.0)]
    assert terminal.figure(rows, 3) == "1.05k\N{PLUS-MINUS SIGN}5"
    assert terminal.figure([row(20, 900.0, status="lossy")], 1) == "o900"
    assert terminal.figure([row(20, None, status="not started")], 1) == \
        "not started"
    assert terminal.figure([row(20, 900.0), row(20, None, status="hung")],
                           3) == "o900 1/2"
    assert [terminal.short(rate) for rate in (
        7.4, 999.4, 999.9, 9412.0, 12345.0, 999999.0)] == [
            "7", "999", "1k", "9.41k", "12.3k", "1M"]
    assert terminal.figure([], 3) == "." and terminal.figure([], 0) == ""


def test_text_chart_places_points():
    """The highest stands on top, the hollow one is an o."""
    lines = textchart.chart({"iterative": [(20, 100, False), (100, 100, True)],
                             "epoll": [(20, 5000, False), (100, 9000, False)]},
                            "clients", "pages/s")
    top = next(i for i, line in enumerate(lines) if line.endswith("7"))
    low = next(i for i, line in enumerate(lines) if "|1" in line)
    assert top < low and lines[low].endswith("o")
    assert any("7 epoll" in line for line in lines)


def test_text_bars_for_a_single_x():
    """Lengths follow the figures."""
    lines = textchart.chart({"poll": [(100, 500, False)],
                             "epoll": [(100, 1000, True)]}, "clients", "r/s")
    assert lines[1].count("#") * 2 == lines[2].count("o", 7)


def test_text_chart_shows_what_was_never_answered():
    """A rate of 0 has no place on a logarithmic axis: it is hollow, at the
    lower edge."""
    lines = textchart.chart({"epoll": [(20, 0, True), (100, 500, False)],
                             "poll": [(20, 400, False)]}, "clients", "r/s")
    edge = next(i for i, line in enumerate(lines) if "+---" in line) - 1
    assert lines[edge].endswith("|o")
    assert "|6" in "".join(lines[:edge])
    bars = textchart.chart({"poll": [(20, 0, True)], "epoll": [(20, 9, False)]},
                           "", "")
    assert bars[1].endswith("poll |o 0.0")
    assert textchart.chart({"poll": [(20, 0, True)]}, "", "") == \
        ["(no figures)"]


def test_tables_show_lost_points_and_missing_runs():
    """Who crashed is on the chart; the cost table tells of how many runs a
    rate is the median, and at how many clients calls were counted."""
    made = {**experiment([row(100, 90.0), row(100, None, status="hung"),
                          row(1000, None, status="crashed")]),
            "x_title": "clients", "title": "Guestbook"}
    lines = tables.curves(made, "")
    edge = next(i for i, line in enumerate(lines) if "+---" in line) - 1
    assert lines[edge].endswith("o") and len(lines[edge]) > textchart.WIDTH
    head, line = tables.cost(made, "")
    assert "calls (at 20)" in head and "o 90 1/2" in line
