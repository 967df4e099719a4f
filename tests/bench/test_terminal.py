"""The tables that grow while it measures fit the terminal."""

import io
from types import SimpleNamespace

import pytest

from bench import experiments
from bench import plan
from bench.run import servers
from bench.draw import live as terminal


def stage(name, peers=0, repeat=1):
    """Return the full grid of an experiment as a plan.Stage, with so many
    made-up peers beside the seven."""
    [experiment] = [e for e in experiments.all_experiments()
                    if e.name == name]
    others = [SimpleNamespace(name=f"peer-{number}", kind="peer")
              for number in range(peers)]
    return plan.Stage(experiment, [
        plan.Cell(experiment, server, variant, x, turn)
        for turn in range(1, repeat + 1) for variant in experiment.variants
        for x in variant.full for server in (*servers.ARCHITECTURES, *others)],
        repeat, 1.0)


def rows(one, count):
    """Return the rows of the first `count` cells of a stage."""
    return [{"experiment": cell.experiment.name, "variant": cell.variant.name,
             "server": cell.server.name, "x": cell.x, "status": "lossy",
             "rate": 12345.0 * (1 + 0.2 * cell.repeat), "note": ""}
            for cell in one.cells[:count]]


def test_a_line_for_each_x():
    """The servers are the columns, in the order of the chapters."""
    one = stage("guestbook", repeat=2)
    view = terminal.View(100, [one])
    view.stage(one)
    view.rows = rows(one, len(one.cells))
    lines = view.table()
    assert len(lines) == 25
    assert lines[0].split() == [s.name for s in servers.ARCHITECTURES]
    assert lines[1].split() == ["20", *7 * ["o16k\N{PLUS-MINUS SIGN}8"]]
    assert lines[24].startswith("15,000 ")


def test_what_does_not_fit_comes_below():
    """Many peers: every server has its column in one of the tables, and of
    too many rows the last measured ones are shown."""
    one = stage("guestbook", peers=12)
    view = terminal.View(100, [one])
    view.stage(one)
    view.rows = rows(one, 19 * 10)
    lines = view.table(80, 20)
    assert len(lines) <= 20 and max(map(len, lines)) <= 80
    names = " ".join(lines).split()
    assert {s.server.name for s in one.cells} <= set(names)
    tenth = sorted({cell.x for cell in one.cells})[9]
    assert sum(line.startswith(f"{tenth:,} ") for line in lines) > 1


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name, peers", [("guestbook", 0), ("echo", 0),
                                         ("answer", 0), ("answer", 9)])
def test_rich_draws_whole_figures(width, name, peers, monkeypatch):
    """Nothing is cut at the edge or below, at the usual height."""
    console = pytest.importorskip("rich.console")
    one = stage(name, peers, repeat=3)
    view = terminal.RichView(100, [one])
    view.console = console.Console(
        width=width, height=24, file=io.StringIO(), force_terminal=True,
        color_system=None)
    view.what = "cell"
    monkeypatch.setattr(terminal.RichView, "note", lambda *_: None)
    view.stage(one)
    view.rows = rows(one, len(one.cells))
    view.console.print(view._draw())
    shown = view.console.file.getvalue()
    lines = shown.splitlines()
    assert len(lines) < 24 and "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert max(map(len, lines)) <= width
    for server in {cell.server.name for cell in one.cells}:
        assert shown.split().count(server) == 1
    figures = [word for word in shown.split() if word.startswith("o1")]
    assert figures and all("\N{PLUS-MINUS SIGN}" in word for word in figures)
