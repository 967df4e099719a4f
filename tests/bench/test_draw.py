"""Tables: what they say of a point, and how they are printed."""

import pytest

from bench.draw import table


def point(x=100, rate=1000.0, cpu=50.0, busy=97.0, **more):
    """Return a point of a summary."""
    values = {"cpu_us": cpu, "cpu_user_us": cpu / 4,
              "cpu_system_us": 3 * cpu / 4, "server_busy": busy,
              "p50_ms": 1.5, "p99_ms": 7.5, "max_ms": 9.5, "switches": 0.25}
    return {"x": x, "runs": 6, "planned": 6, "hollow": False, "noisy": [],
            "rate": {"median": rate}, "limit": "server core", "flag": "",
            "waited_ms": 1000 * x / rate, "values": values,
            "intervals": {"cpu_us": [0.9 * cpu, 1.1 * cpu], "rate": None},
            **more}


def made(**servers):
    """Return a summary of one experiment with these servers' points."""
    words = {"cpu_us": "9 % cheaper (0.91, 0.88 to 0.93)",
             "rate": "the same within 5 % (1.01, 0.99 to 1.02)"}
    return {
        "servers": [{"name": name, "title": name.title()} for name in servers],
        "columns": [{"key": "server_busy", "title": "busy", "unit": "%"}],
        "experiments": [{
            "name": "answer", "title": "Answer", "variants": [""],
            "unit": "requests/s", "x_title": "concurrent clients",
            "x_short": "clients", "reference": 100, "calls_at": 20,
            "open_loop": False, "latency": {"wrk": "wrk: from send"},
            "calls": {"poll/": {"all": 9.0}},
            "sentences": {"all": {"": ["Poll costs least. " * 9]}},
            "comparisons": [
                {"variant": "", "x": 100, "server": "poll", "base": "epoll",
                 "metric": metric, "words": said}
                for metric, said in words.items() if len(servers) > 1],
            "curves": [{"server": name, "variant": "", "points": each}
                       for name, each in servers.items()]}]}


def tables(summary, wide=True):
    """Return {first word of its title: table}."""
    found = table.tables(summary, summary["experiments"][0], "", wide)
    return {one.title.split()[0]: one for one in found}


def row(one, name):
    """Return {column: text} of the row that begins with a name."""
    [found] = [each for each in one.rows if each[0] == name]
    return dict(zip(one.head, found))


def test_cost_comes_first_in_eight_columns():
    """With what one core can do, and how it compares with the baseline."""
    summary = made(poll=[point()], epoll=[
        point(cpu=55.0, noisy=["rounds scatter", "foreign load"])])
    found = tables(summary, False)
    assert list(found) == ["What", "requests/s"]
    assert len(found["What"].head) == 8
    poll, epoll = (row(found["What"], name) for name in ("Poll", "Epoll"))
    assert (poll["CPU us"], poll["user"], poll["can do/s"], poll["calls"]) \
        == ("50", "12.5", "20,000", "9")
    assert poll["compared"] == "9 % cheaper (0.91, 0.88 to 0.93)"
    assert (epoll["compared"], epoll["CPU us"]) == ("baseline", "~55")
    assert found["What"].notes[-1] == "~ Noisy: rounds scatter, foreign load."


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
    assert table.mark(one) == mark
    reached = tables(made(epoll=[one]))["requests/s"]
    assert row(reached, "100")["Epoll"] == cell
    assert bool(reached.notes) == bool(mark)


def test_a_point_without_a_figure():
    """It has no row among the costs, and a sign among the rates."""
    gone = {**point(x=500), "rate": None, "values": {}, "hollow": True,
            "runs": 0}
    never = {**gone, "x": 1000, "hollow": False, "planned": 0}
    reached = tables(made(epoll=[point(), gone, never]))["requests/s"]
    assert row(reached, "500")["Epoll"] == "\N{MULTIPLICATION SIGN}- 0/6"
    assert row(reached, "1,000")["Epoll"] == "-"
    assert table.known(gone, "can_do") is None
    assert not tables(made(epoll=[gone])).get("What")


def test_percentiles_of_a_flagged_point_are_not_printed():
    """The mean is clients / rate; the flag and the definition are there."""
    flag = "the mean of wrk is 0.31 of clients / rate"
    latency = tables(made(poll=[point()], epoll=[point(flag=flag)]))["Latency"]
    assert row(latency, "Poll")["99 % below"] == "7.5"
    assert latency.rows[1][1:] == ["100", "", "", "", flag]
    assert latency.notes[0] == "wrk: from send"


def test_whiskers_are_intervals():
    """Turned round for what one core can do; few rounds have none."""
    assert [round(one) for one in table.known(point(), "can_do")] \
        == [20000, 18182, 22222]
    assert table.known(point(), "rate") == (1000.0, 1000.0, 1000.0)


@pytest.mark.parametrize("width", [80, 100])
def test_everything_is_printed_within_the_width(width, monkeypatch, capsys):
    """Sentences, notes, and each word of each table; wide has more."""
    monkeypatch.setenv("COLUMNS", str(width))
    summary = made(poll=[point()], epoll=[point(busy=60.0)])
    table.show_all(summary, True)
    shown = capsys.readouterr().out
    said = " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= width
    assert not [line for line in shown.splitlines() if line != line.rstrip()]
    for one in tables(summary).values():
        for text in [word for each in [*one.rows, *one.notes] for word in
                     ([each] if isinstance(each, str) else each)]:
            assert all(word in said for word in text.split())
    table.show_all(summary)
    assert "Latency" in said and "Latency" not in capsys.readouterr().out
