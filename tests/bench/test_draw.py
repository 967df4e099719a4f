"""Tables: what they say of a point, and how they are printed, also while it measures."""

from types import SimpleNamespace

import pytest

from bench import experiments
from bench.draw import live, table
from bench.run import servers


def point(x=100, cpu=50.0, busy=97.0, **more):
    """Return a point of a summary, of 1,000 requests/s."""
    values = {"cpu_us": cpu, "cpu_user_us": cpu / 4, "server_busy": busy,
              "p50_ms": 1.5, "p99_ms": 7.5, "max_ms": 9.5}
    return {"x": x, "runs": 6, "planned": 6, "hollow": False, "noisy": [],
            "rate": {"middle": 1000.0}, "limit": "server core", "flag": "",
            "waited_ms": x, "values": values,
            "intervals": {"cpu_us": [0.9 * cpu, 1.1 * cpu], "rate": None}, **more}


def made(**servers):
    """Return a summary of one experiment with these servers' points."""
    return {
        "servers": [{"name": name, "title": name.title()} for name in servers],
        "columns": [{"key": "server_busy", "title": "busy", "unit": "%"}],
        "experiments": [{
            "name": "answer", "title": "Answer", "variants": [""], "unit": "requests/s",
            "x_title": "concurrent clients", "x_short": "clients", "reference": 100,
            "calls_at": 20, "open_loop": False, "latency": {"wrk": "wrk: from send"},
            "calls": {"poll/": {"all": 9.0}}, "baselines": {"": "epoll"},
            "sentences": {"all": {"": ["Poll costs least. " * 9]}},
            "comparisons": [
                {"variant": "", "x": 100, "server": "poll", "base": "epoll",
                 "metric": metric, "words": f"{metric}: 9 % less"}
                for metric in ("cpu_us", "rate") if "poll" in servers],
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


def test_cost_comes_first():
    """With what one core can do, and how it compares with the baseline."""
    summary = made(poll=[point()], epoll=[
        point(cpu=55.0, noisy=["rounds scatter", "foreign load"])])
    found = tables(summary, False)
    assert list(found) == ["What", "requests/s"]
    poll, epoll = (row(found["What"], name) for name in ("Poll", "Epoll"))
    assert (poll["CPU us"], poll["user"], poll["can do/s"], poll["calls"],
            poll["compared"]) == ("50", "12.5", "20,000", "9", "cpu_us: 9 % less")
    assert (epoll["compared"], epoll["CPU us"]) == ("baseline", "~55")
    assert "rounds scatter, foreign load" in found["What"].notes[-1]


@pytest.mark.parametrize("change, mark, cell", [
    ({}, "", "1,000"), ({"busy": None}, "", "1,000"),
    ({"busy": 94.0}, "load", f"{table.LOAD}1,000"),
    ({"hollow": True}, "lost", f"{table.LOST}1,000"),
    ({"hollow": True, "busy": 50.0, "runs": 2}, "lost", f"{table.LOST}1,000 2/6"),
    ({"hollow": True, "rate": None, "runs": 0}, "lost", f"{table.LOST}- 0/6")])
def test_what_a_rate_is_worth_is_marked(change, mark, cell):
    """A point that the load ended, or that lost something, and what that means."""
    one = point(**change)
    assert table.mark(one) == mark
    reached = tables(made(epoll=[one]))["requests/s"]
    assert row(reached, "100")["Epoll"] == cell
    assert bool(reached.notes) == bool(mark)


def test_the_flag_of_a_point_is_printed():
    """And the mean is clients / rate. Whiskers are intervals, turned round for what one core
    can do; few rounds have none."""
    latency = tables(made(poll=[point()], epoll=[point(flag="why")]))["Latency"]
    assert row(latency, "Poll")["99 % below"] == "7.5"
    assert latency.rows[1][1::4] == ["100", "why"]
    assert [round(one) for one in table.known(point(), "can_do")] == [20000, 18182, 22222]
    assert table.known(point(), "rate") == (1000.0, 1000.0, 1000.0)
    assert table.known(point(rate=None), "can_do") is None


def test_everything_is_printed_within_the_width(monkeypatch, capsys):
    """Each word of each table and note; wide has more tables."""
    monkeypatch.setenv("COLUMNS", "80")
    summary = made(poll=[point()], epoll=[point(busy=60.0)])
    table.show_all(summary, True)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    for one in tables(summary).values():
        for text in [*one.notes, *sum(one.rows, [])]:
            assert all(word in shown for word in text.split())
    table.show_all(summary)
    assert "Latency" in shown and "Latency" not in capsys.readouterr().out


@pytest.mark.parametrize("made, said", [
    (None, ""), ([], "."), ([{"status": "not started"}], "not started"),
    ([{"status": "not possible"}], "-"), ([{"rate": 9.0}], "?"),
    ([{"rate": 9.0, "cpu_us": 34.84}], "34.8"),
    ([{"rate": 9.0, "cpu_us": 34.84, "status": "lossy"}], f"{table.LOST}34.8"),
    ([{"rate": 9.0, "cpu_us": 7.0}, {"status": "hung"}], f"{table.LOST}7 1/2")])
def test_figure_of_a_cell(made, said):
    """A median; losses and missing runs are marked."""
    assert live.figure(made and [{"status": "ok", **one} for one in made] or made) == said


def test_plain_lines_tell_cost_rate_and_time_left(monkeypatch, capsys):
    """A line for each finished cell; the table fits the terminal, and each server has its
    column."""
    monkeypatch.setenv("COLUMNS", "80")
    answer = experiments.all_experiments()[1]
    cells = [SimpleNamespace(server=server, variant=variant, x=x) for variant in answer.variants
             for x in variant.full for server in servers.ARCHITECTURES]
    one = SimpleNamespace(experiment=answer, cells=cells, runs=len(cells))
    row = {"experiment": "guestbook", "variant": cells[0].variant.name, "server": "iterative",
           "x": cells[0].x, "status": "ok", "rate": 9000.0, "cpu_us": 101.0, "note": ""}
    with live.View(240, [one]) as view:
        view.stage(one)
        view.more(60, 10)
        view.cell(row, 120)
        view.cell({**row, "rate": None, "status": "crashed", "note": "signal 11"}, 0)
        view.end_stage()
    assert view.left == 180
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    told = " ".join(shown.split())
    heads = told[told.index("CPU microseconds a request, by"):].split()
    assert all(heads.count(one.name) == 1 for one in servers.ARCHITECTURES)
    assert f"[1/{len(one.cells) + 10}, " in told
    assert ": 101 us of CPU a request, 9,000/s" in told
    assert ": crashed: signal 11" in told
