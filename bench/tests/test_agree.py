"""Do two runs agree? Noise is left out, and counted."""

import agree


def row(x, rate, **more):
    """Return a row of samples.csv with what agree.py looks at."""
    return {"experiment": "answer", "variant": "", "server": "epoll", "x": x,
            "repeat": 1, "status": "ok", "note": "", "rate": rate,
            "gauge_ms": 6.0, "load_gauge_ms": 6.0, **more}


def test_what_differs_is_shown(capsys):
    """One cell of three is further apart than ten per cent."""
    first = [row(20, 100.0), row(100, 100.0), row(500, 100.0)]
    second = [row(20, 109.0), row(100, 111.0), row(500, 91.0)]
    assert agree.show(agree.compare(first, second)) == 1
    told = capsys.readouterr().out
    assert "answer epoll 100" in told and "+11.0 %" in told
    assert "3 cells in both runs, 0 of them noisy; of the other 3, 2 agree" \
        in told


def test_a_run_on_slower_cores_is_noise(capsys):
    """By itself it looks quiet: all of its cells were as slow."""
    first = [row(20, 100.0), row(100, 100.0)]
    second = [row(20, 70.0, gauge_ms=8.0), row(100, 70.0, load_gauge_ms=8.0)]
    assert agree.show(agree.compare(first, second)) == 0
    assert "2 of them noisy; of the other 0" in capsys.readouterr().out


def test_cells_of_one_run_only_are_not_compared():
    """Nor those without a rate."""
    first = [row(20, 100.0), row(100, None)]
    second = [row(100, 50.0), row(500, 50.0)]
    assert not agree.compare(first, second)


def test_no_run_there(capsys, monkeypatch, tmp_path):
    """A sentence with the remedy, and another status than "they differ"."""
    monkeypatch.setattr("sys.argv", ["agree.py", str(tmp_path), "nowhere"])
    assert agree.main() == 2
    assert "folders that `make compare` left" in capsys.readouterr().err
