"""What is seen while it measures fits the terminal."""

from types import SimpleNamespace

import pytest

from bench import experiments
from bench.draw import live, table
from bench.run import servers

ALL = {one.name: one for one in experiments.all_experiments()}


def stage(name, peers=0):
    """Return the full grid of an experiment as a stage, with `peers` made-up
    ones next to the seven."""
    others = [SimpleNamespace(name=f"peer-{number}")
              for number in range(peers)]
    cells = [SimpleNamespace(server=server, variant=variant, x=x)
             for variant in ALL[name].variants for x in variant.full
             for server in (*servers.ARCHITECTURES, *others)]
    return SimpleNamespace(experiment=ALL[name], cells=cells, runs=len(cells))


def row(cell, **more):
    """Return a row of a cell."""
    return {"experiment": "guestbook", "variant": cell.variant.name,
            "server": cell.server.name, "x": cell.x, "status": "ok",
            "rate": 9000.0, "cpu_us": 101.0, "note": "", **more}


@pytest.mark.parametrize("made, said", [
    (None, ""), ([], "."), ([{"status": "not started"}], "not started"),
    ([{"status": "not possible"}], "-"), ([{"rate": 9.0}], "?"),
    ([{"rate": 9.0, "cpu_us": 34.84}], "34.8"),
    ([{"rate": 9.0, "cpu_us": 34.84, "status": "lossy"}],
     f"{table.LOST}34.8"),
    ([{"rate": 9.0, "cpu_us": 7.0}, {"status": "hung"}],
     f"{table.LOST}7 1/2"),
    ([{"rate": 9.0, "cpu_us": 7.0}, {"status": "no time"}], "7 1/2"),
])
def test_figure_of_a_cell(made, said):
    """A median; losses and missing runs are marked."""
    assert live.figure(made and [{"status": "ok", **one} for one in made]
                       or made) == said


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name, peers", [("guestbook", 0), ("answer", 9)])
def test_the_table_fits_the_terminal(width, name, peers, monkeypatch):
    """Nothing is cut at the edge; each server has its column."""
    text = SimpleNamespace(Text=lambda shown, **_: shown)
    monkeypatch.setattr(live, "rich", SimpleNamespace(text=text))
    monkeypatch.setenv("COLUMNS", str(width))
    one = stage(name, peers)
    view = live.View(100, [one])
    view.current, view.rows = one, [row(cell) for cell in one.cells]
    shown = view.draw()
    assert max(map(len, shown.splitlines())) <= width
    for server in {cell.server.name for cell in one.cells}:
        assert shown.split().count(server) == 1
    assert "101" in shown and "1:40 left" in shown


def test_plain_lines_tell_cost_rate_and_time_left(capsys):
    """A line for each finished cell."""
    one = stage("guestbook")
    with live.View(240, [one]) as view:
        view.stage(one)
        view.more(60, 10)
        view.cell(row(one.cells[0]), 120)
        view.cell(row(one.cells[1], rate=None, status="crashed",
                      note="signal 11"), 0)
        view.end_stage()
    assert view.left == 180
    told = capsys.readouterr().out
    assert f"[1/{len(one.cells) + 10}, " in told
    assert "20: 101 us of CPU a request, 9,000/s" in told
    assert "20: crashed: signal 11" in told
