"""Tables: what they say of a point, as text and as HTML."""

import html
import io
import re

import pytest

from bench.draw import points, table


def point(x=100, rate=1000.0, cpu=50.0, busy=97.0, **more):
    """Return a point of a summary."""
    values = {"cpu_us": cpu, "cpu_user_us": cpu / 4,
              "cpu_system_us": 3 * cpu / 4, "server_busy": busy,
              "failed_percent": 0.0, "p50_ms": 1.5, "p99_ms": 7.5,
              "max_ms": 9.5, "switches": 0.25, **more.pop("values", {})}
    return {"x": x, "runs": 6, "planned": 6, "hollow": False, "notes": [],
            "rate": {"median": rate, "low": rate, "high": rate},
            "limit": "server core", "evidence": "server 97 %", "flag": "",
            "tight": True, "intervals": {"cpu_us": [0.9 * cpu, 1.1 * cpu],
                                         "rate": [0.9 * rate, 1.1 * rate]},
            "values": values, **more}


def made(**servers):
    """Return a summary of one experiment with these servers' points."""
    words = {"cpu_us": "9 % cheaper (0.91, 0.88 to 0.93)",
             "rate": "the same within 5 % (1.01, 0.99 to 1.02)"}
    return {
        "servers": [{"name": name, "title": name.title(), "kind": "peer"}
                    for name in servers],
        "experiments": [{
            "name": "answer", "title": "Answer", "variants": [""],
            "unit": "requests/s", "x_title": "concurrent clients",
            "x_short": "clients", "reference": 100, "calls_at": 20,
            "open_loop": False, "tool": "wrk",
            "latency": {"wrk": "from send; corrected"},
            "calls": {"poll/": {"all": 9.0}}, "published": None,
            "sentences": {"all": {"": ["Poll costs least."]}, "each": []},
            "comparisons": [
                {"variant": "", "x": 100, "server": "poll", "base": "epoll",
                 "metric": metric, "words": said}
                for metric, said in words.items()],
            "curves": [{"server": name, "variant": "", "points": each}
                       for name, each in servers.items()]}]}


def tables(summary, wide=True):
    """Return {first word of its title: table}."""
    found = table.tables(summary, summary["experiments"][0], "", wide)
    return {one.title.split()[0]: one for one in found}


def row(one, name):
    """Return {column: text} of the row that begins with a name."""
    [found] = [each for each in one.rows if table.text(each[0]) == name]
    return dict(zip(one.head, map(table.text, found)))


def test_cost_comes_first_in_eight_columns():
    """With what one core can do, and what is said next to the baseline."""
    summary = made(poll=[point()], epoll=[point(cpu=55.0, tight=False)])
    found = table.tables(summary, summary["experiments"][0], "", False)
    assert [one.title for one in found] == [
        "What a request costs at 100 clients",
        "requests/s reached, by concurrent clients"]
    assert len(found[0].head) == 8
    poll, epoll = (row(found[0], name) for name in ("Poll", "Epoll"))
    assert (poll["CPU us"], poll["user"], poll["can do/s"], poll["calls"]) \
        == ("50", "12.5", "20,000", "9")
    assert poll["compared"] == "9 % cheaper (0.91, 0.88 to 0.93)"
    assert epoll["compared"] == "baseline"
    assert epoll["CPU us"] == "~55" and "~ Not tight" in found[0].notes[-1]


@pytest.mark.parametrize("change, mark, cell", [
    ({}, "", "1,000"), ({"busy": 94.0}, "load", "\N{WHITE CIRCLE}1,000"),
    ({"busy": None}, "", "1,000"),
    ({"hollow": True}, "lost", "\N{MULTIPLICATION SIGN}1,000"),
    ({"hollow": True, "busy": 50.0, "runs": 2}, "lost",
     "\N{MULTIPLICATION SIGN}1,000 2/6"),
])
def test_what_a_rate_is_worth_is_marked(change, mark, cell):
    """A point the load ended, or that lost something, and what that means."""
    one = point(**change)
    assert points.mark(one) == mark
    reached = tables(made(epoll=[one]))["requests/s"]
    assert row(reached, "100")["Epoll"] == cell
    assert bool(reached.notes) == bool(mark)


def test_a_point_without_a_figure():
    """It has no row among the costs, and a sign among the rates."""
    gone = {**point(x=500), "rate": None, "values": {}, "hollow": True,
            "runs": 0, "intervals": None}
    never = {**gone, "x": 1000, "hollow": False, "planned": 0}
    found = tables(made(epoll=[point(), gone, never]))
    reached = found["requests/s"]
    assert row(reached, "500")["Epoll"] == "\N{MULTIPLICATION SIGN}- 0/6"
    assert row(reached, "1,000")["Epoll"] == "-"
    assert points.can_do(gone) == (None, [0, 0])
    assert not tables(made(epoll=[gone])).get("What")


def test_percentiles_of_a_flagged_point_are_not_printed():
    """The mean is clients / rate; the flag and the definition are there."""
    flag = "the mean of wrk is 0.31 of clients / rate"
    summary = made(poll=[point()], epoll=[point(flag=flag)])
    latency = tables(summary)["Latency"]
    assert row(latency, "Poll")["99 % below"] == "7.5"
    flagged = row(latency, "Epoll")
    assert flagged["mean"] == "100"             # 100 clients, 1,000 a second
    assert not (flagged["median"] or flagged["99 % below"]
                or flagged["longest"])
    assert flag in flagged.values()
    assert latency.notes[0] == "wrk: from send; corrected"
    for number in ("7.5", "1.5", "9.5"):
        assert number not in "".join(map(table.markup, tables(
            made(epoll=[point(flag=flag)])).values()))


def test_whiskers_are_intervals():
    """Those of the summary, turned round for what one core can do; a point
    with few rounds has none."""
    low, high = points.can_do(point())[1]
    assert (round(low), round(high)) == (18182, 22222)
    assert points.rate(point())[1] == [900.0, 1100.0]
    few = point(intervals={"rate": None, "cpu_us": None})
    assert points.rate(few) == (1000.0, [1000.0, 1000.0])
    assert points.can_do({**few, "intervals": None})[1] == [20000.0, 20000.0]


@pytest.mark.parametrize("with_rich", [True, False])
def test_terminal_and_report_say_the_same(with_rich, monkeypatch):
    """Every word of a table, in plain text and in HTML; wide has more."""
    if with_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr(table, "rich", None)
    summary = made(poll=[point()], epoll=[point(busy=60.0)])
    out = io.StringIO()
    table.show_all(summary, True, out)
    said = out.getvalue()
    assert "\x1b" not in said and "Poll costs least." in said
    for one in tables(summary).values():
        page = html.unescape(re.sub("<[^>]*>", " ", table.markup(one)))
        for cell in (word for each in one.rows for word in map(
                table.text, each)):
            assert cell in said and cell in page
        for note in one.notes:
            assert note in " ".join(said.split()) and note in page
    out = io.StringIO()
    table.show_all(summary, False, out)
    assert "Latency" not in out.getvalue()


def test_markup_escapes_and_sorts_by_number():
    """What looks like HTML is text; 9,500 is 9500."""
    page = table.markup(table.Table("<b>", ["server", "rate"],
                                    [["<i>", ("9,500", 9500.0)]]))
    assert "<b>" not in page and "<i>" not in page
    assert 'data-key="9500.0">9,500<' in page


def test_columns_that_do_not_fit_come_below():
    """Each part begins with the first column; none is lost."""
    one = table.Table("rates", ["", *(f"server-{n}" for n in range(20))],
                      [["20", *(1000.0 + n for n in range(20))]])
    parts = table.pages(one, 80)
    assert len(parts) > 1 and all(part[1][0] == "20" for part in parts)
    assert sum((part[0][1:] for part in parts), []) == one.head[1:]
    for part in parts:
        assert sum(2 + max(map(len, each)) for each in zip(*part)) <= 80
