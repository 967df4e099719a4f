"""What is seen while it measures fits the terminal."""

from types import SimpleNamespace

import pytest

from bench import experiments
from bench.draw import live, table
from bench.run import servers


def stage(name, peers=0, rounds=1):
    """Return the full grid of an experiment as a stage, with so many made-up
    peers next to the seven."""
    [experiment] = [e for e in experiments.all_experiments()
                    if e.name == name]
    others = [SimpleNamespace(name=f"peer-{number}")
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
@pytest.mark.parametrize("name, peers", [("guestbook", 0), ("answer", 9)])
def test_the_table_fits_the_terminal(width, name, peers, monkeypatch):
    """Nothing is cut at the edge; each server has its column."""
    text = SimpleNamespace(Text=lambda shown, **_: shown)
    monkeypatch.setattr(live, "rich", SimpleNamespace(text=text))
    monkeypatch.setenv("COLUMNS", str(width))
    one = stage(name, peers)
    view = live.View(100, [one])
    view.current, view.rows = one, rows(one, status="lossy")
    shown = view.draw()
    assert max(map(len, shown.splitlines())) <= width
    for server in {cell.server.name for cell in one.cells}:
        assert shown.split().count(server) == 1
    assert "\N{MULTIPLICATION SIGN}101" in shown and "1:40 left" in shown


def test_plain_lines_tell_cost_rate_and_time_left(capsys):
    """A line for each finished cell; the table at the end has the medians of
    all rounds, a line an x and a column a server."""
    one = stage("guestbook", rounds=3)
    with live.View(240, [one]) as view:
        view.stage(one)
        view.more(60, 10)
        made = rows(one, 2)
        view.cell(made[0], 120)
        view.cell({**made[1], "rate": None, "status": "crashed",
                   "note": "signal 11"}, 0)
        assert view.left == 180
        view.rows += rows(one)[2:]
        found = view.table()
        view.end_stage()
    lines = capsys.readouterr().out.splitlines()
    [told] = [line for line in lines
              if line.startswith(f"[1/{len(one.cells) + 10}, ")]
    assert told.endswith("guestbook iterative 20: 101 us of CPU a request, "
                         "9,000/s")
    assert any(line.endswith("forking 20: crashed: signal 11")
               for line in lines)
    assert found.head[1:] == [s.name for s in servers.ARCHITECTURES]
    assert found.rows[0][:4] == [
        "20", "102", f"{table.LOST}102 2/3", "102"] and len(found.rows) == 24
    assert any(line.split()[:2] == ["20", "102"] for line in lines)
