"""What is seen while it measures fits the terminal."""

from types import SimpleNamespace

import pytest

from bench import experiments
from bench.draw import live, table
from bench.run import servers

def row(cell, **more):
    """Return a row of a cell."""
    return {"experiment": "guestbook", "variant": cell.variant.name,
            "server": cell.server.name, "x": cell.x, "status": "ok",
            "rate": 9000.0, "cpu_us": 101.0, "note": "", **more}


@pytest.mark.parametrize("made, said", [
    (None, ""), ([], "."), ([{"status": "not started"}], "not started"),
    ([{"status": "not possible"}], "-"), ([{"rate": 9.0}], "?"),
    ([{"rate": 9.0, "cpu_us": 34.84}], "34.8"),
    ([{"rate": 9.0, "cpu_us": 34.84, "status": "lossy"}], f"{table.LOST}34.8"),
    ([{"rate": 9.0, "cpu_us": 7.0}, {"status": "hung"}], f"{table.LOST}7 1/2"),
    ([{"rate": 9.0, "cpu_us": 7.0}, {"status": "no time"}], "7 1/2"),
])
def test_figure_of_a_cell(made, said):
    """A median; losses and missing runs are marked."""
    assert live.figure(made and [{"status": "ok", **one} for one in made] or made) == said


def test_plain_lines_tell_cost_rate_and_time_left(monkeypatch, capsys):
    """A line for each finished cell; the table fits the terminal, and each
    server has its column."""
    monkeypatch.setenv("COLUMNS", "80")
    answer = experiments.all_experiments()[1]
    cells = [SimpleNamespace(server=server, variant=variant, x=x)
             for variant in answer.variants for x in variant.full
             for server in servers.ARCHITECTURES]
    one = SimpleNamespace(experiment=answer, cells=cells, runs=len(cells))
    with live.View(240, [one]) as view:
        view.stage(one)
        view.more(60, 10)
        view.cell(row(one.cells[0]), 120)
        view.cell(row(one.cells[1], rate=None, status="crashed", note="signal 11"), 0)
        view.end_stage()
    assert view.left == 180
    shown = capsys.readouterr().out
    told = " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80
    heads = told[told.index("CPU microseconds a request, by"):].split()
    assert all(heads.count(one.name) == 1 for one in servers.ARCHITECTURES)
    assert f"[1/{len(one.cells) + 10}, " in told
    assert ": 101 us of CPU a request, 9,000/s" in told
    assert ": crashed: signal 11" in told
