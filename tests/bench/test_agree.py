"""Do two runs agree? Noise is left out, and counted."""

from bench.analyse import diff as agree
from bench.analyse import summary


def rows(*cells, **more):
    """Return three rows of samples.csv for each (x, rate), with what agree.py
    looks at."""
    return [{"experiment": "answer", "variant": "", "server": "epoll", "x": x,
             "repeat": repeat, "status": "ok", "note": "", "rate": rate,
             "gauge_ms": 6.0, "load_gauge_ms": 6.0, **more}
            for x, rate in cells for repeat in (1, 2, 3)]


def test_what_differs_is_shown(capsys):
    """One cell of three is further apart than ten per cent."""
    first = rows((20, 100.0), (100, 100.0), (500, 100.0))
    second = rows((20, 109.0), (100, 111.0), (500, 91.0))
    assert agree.show(agree.compare(first, second)) == 1
    told = capsys.readouterr().out
    assert "answer epoll 100" in told and "+11.0 %" in told
    assert "3 cells in both runs, 0 of them noisy; of the other 3, 2 agree" \
        in told


def test_a_slow_core_is_noise(capsys):
    """Slower than in the rest of that run, as its report says. Then nothing
    can be told."""
    first = rows((20, 100.0), (100, 100.0))
    second = rows((20, 70.0), gauge_ms=8.0) \
        + rows((100, 70.0), load_gauge_ms=8.5) \
        + rows((500, 100.0), (1000, 100.0))
    assert agree.show(agree.compare(first, second)) == 2
    assert "2 of them noisy; of the other 0" in capsys.readouterr().out


def test_what_its_report_does_not_call_noisy_is_compared():
    """One rule for both: a core somewhat slower than usual is within it."""
    cells = rows((20, 100.0)), rows((20, 100.0), gauge_ms=6.5) \
        + rows((100, 100.0))
    [(_, _, _, why)] = agree.compare(*cells)
    point = summary.point(cells[1][:3], summary.typical_cores(cells[1]))
    assert why == point["noisy"] == []


def test_a_machine_slow_from_beginning_to_end(capsys):
    """That is no noise within the run, but no server's doing either."""
    first, second = rows((20, 100.0)), rows((20, 70.0), gauge_ms=8.0)
    pairs, machine = agree.compare(first, second), agree.slower(first, second)
    assert not pairs[0][3]
    assert agree.show(pairs, machine) == 2
    assert "the core took +33 % time" in capsys.readouterr().out
    assert agree.slower(first, first) == []
    assert agree.show(agree.compare(first, first), machine) == 0


def test_one_run_of_a_cell_says_nothing():
    """Its spread is 0, but that is no agreement."""
    [(_, _, _, why)] = agree.compare(rows((20, 100.0))[:1], rows((20, 50.0)))
    assert why == ["one run"]


def test_what_broke_does_not_agree(capsys):
    """A rate in one run, none in the other; in whatever order."""
    for first, second in ((100.0, None), (None, 100.0)):
        pairs = agree.compare(rows((20, first), (100, None)),
                              rows((20, second), (100, None)))
        assert len(pairs) == 1 and agree.show(pairs) == 1
    assert "-100.0 %" in capsys.readouterr().out


def test_cells_that_one_run_did_not_try_are_not_compared():
    """Another grid is no difference."""
    assert not agree.compare(rows((20, 100.0)), rows((500, 50.0)))


def test_no_run_there(capsys, monkeypatch, tmp_path):
    """A sentence with the remedy, and another status than "they differ"."""
    monkeypatch.setattr("sys.argv", ["agree.py", str(tmp_path), "nowhere"])
    assert agree.main() == 2
    assert "folders that `make compare` left" in capsys.readouterr().err


def test_few_runs_that_agree_by_chance_are_not_compared():
    """The rule of the report, which looks at all cells of an experiment."""
    calm, other = rows((20, 100.0)), rows((20, 120.0))
    wild = rows((100, 100.0), (500, 100.0), (1000, 100.0))
    for row in wild:
        row["rate"] *= row["repeat"]
    pairs = agree.compare(calm + wild, other + wild)
    assert all(why for _, _, _, why in pairs)
    assert not agree.compare(calm, other)[0][3]
