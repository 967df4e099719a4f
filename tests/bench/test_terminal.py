"""What is seen while it measures fits the terminal."""

import io
from types import SimpleNamespace

import pytest

from bench import experiments
from bench.draw import live
from bench.run import servers


def stage(name, peers=0, rounds=1):
    """Return the full grid of an experiment as a stage, with so many made-up
    peers next to the seven."""
    [experiment] = [e for e in experiments.all_experiments()
                    if e.name == name]
    others = [SimpleNamespace(name=f"peer-{number}", kind="peer")
              for number in range(peers)]
    cells = [SimpleNamespace(experiment=experiment, server=server,
                             variant=variant, x=x, repeat=number)
             for number in range(1, rounds + 1)
             for variant in experiment.variants for x in variant.full
             for server in (*servers.ARCHITECTURES, *others)]
    return SimpleNamespace(experiment=experiment, cells=cells,
                           runs=len(cells))


def rows(one, count=None, **more):
    """Return the rows of the first `count` cells of a stage."""
    return [{"experiment": cell.experiment.name, "variant": cell.variant.name,
             "server": cell.server.name, "x": cell.x, "status": "ok",
             "rate": 9000.0, "cpu_us": 100.0 + cell.repeat, "note": "", **more}
            for cell in one.cells[:count]]


def test_a_line_for_each_x():
    """The servers are the columns, in the order of the chapters; the figure
    is the median of the CPU time."""
    one = stage("guestbook", rounds=3)
    view = live.View(100, [one])
    view.current, view.rows = one, rows(one)
    found = view.table()
    assert found.head[1:] == [s.name for s in servers.ARCHITECTURES]
    assert found.rows[0] == ["20", *7 * ["102"]] and len(found.rows) == 24
    view.rows = rows(one, 7)
    assert view.table().rows[1] == ["50", *7 * ["."]]


@pytest.mark.parametrize("made, said", [
    ([], "."), ([{"status": "not started"}], "not started"),
    ([{"status": "not possible"}], "-"), ([{"rate": 9.0}], "?"),
    ([{"rate": 9.0, "cpu_us": 34.84}], "34.8"),
    ([{"rate": 9.0, "cpu_us": 34.84, "status": "lossy"}],
     "\N{MULTIPLICATION SIGN}34.8"),
    ([{"rate": 9.0, "cpu_us": 7.0}, {"status": "hung"}],
     "\N{MULTIPLICATION SIGN}7 1/2"),
    ([{"rate": 9.0, "cpu_us": 7.0}, {"status": "no time"}], "7 1/2"),
])
def test_figure_of_a_cell(made, said):
    """A median; losses and missing runs are marked."""
    assert live.figure([{"status": "ok", **row} for row in made]) == said


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name, peers", [("guestbook", 0), ("echo", 0),
                                         ("answer", 0), ("answer", 9),
                                         ("guestbook", 12)])
def test_rich_draws_whole_figures(width, name, peers, monkeypatch):
    """Nothing is cut at the edge or below, at the usual height; the line that
    was measured last is there."""
    console = pytest.importorskip("rich.console")
    one = stage(name, peers)
    view = live.RichView(100, [one])
    view.console = console.Console(
        width=width, height=24, file=io.StringIO(), force_terminal=True,
        color_system=None)
    view.what, view.current = "cell", one
    view.rows = rows(one, status="lossy")
    view.console.print(view.draw())
    shown = view.console.file.getvalue()
    lines = shown.splitlines()
    assert len(lines) < 24 and "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert max(map(len, lines)) <= width
    for server in {cell.server.name for cell in one.cells}:
        assert shown.split().count(server) == 1
    assert f"{one.cells[-1].x:,}" in shown.split()
    assert "\N{MULTIPLICATION SIGN}101" in shown


def test_plain_lines_tell_cost_rate_and_time_left(capsys):
    """A line for each finished cell, and the table at the end."""
    one = stage("guestbook")
    with live.View(240, [one]) as view:
        view.stage(one)
        view.more(60, 10)
        made = rows(one, 2)
        view.cell(made[0], 120)
        view.cell({**made[1], "rate": None, "status": "crashed",
                   "note": "signal 11"}, 0)
        view.end_stage()
    lines = capsys.readouterr().out.splitlines()
    begin = f"[1/{len(one.cells) + 10}, "
    [told] = [line for line in lines if line.startswith(begin)]
    assert told.endswith("guestbook iterative 20: 101 us of CPU a request, "
                         "9,000/s")
    assert view.left == 180
    assert any(line.endswith("forking 20: crashed: signal 11")
               for line in lines)
    assert any(line.split()[:3] == ["20", "101", "crashed"] for line in lines)


def test_the_view_suits_the_output(monkeypatch):
    """No terminal, no colours wanted, no rich: plain lines."""
    def chosen():
        return type(live.view(1, []))
    monkeypatch.setattr(live.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(live, "rich", object())
    assert chosen() is live.RichView
    monkeypatch.setenv("TERM", "dumb")
    assert chosen() is live.View
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(live, "rich", None)
    assert chosen() is live.View
