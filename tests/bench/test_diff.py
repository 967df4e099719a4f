"""Do two runs agree? Only decided comparisons can contradict each other."""

import json

import pytest

from bench.analyse import diff
from bench.analyse.stats import EQUAL, FEW, LESS, MORE, UNKNOWN


def run(folder, *verdicts):
    """Write a summary with a comparison for each (verdict, low, high), at x
    = 1, 2, ...; return its folder."""
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"experiments": [{
        "name": "answer", "comparisons": [
            {"variant": "keep-alive", "x": x, "server": "poll",
             "base": "epoll", "metric": "cpu_us", "verdict": verdict,
             "low": low, "high": high, "words": f"poll is {verdict}"}
            for x, (verdict, low, high) in enumerate(verdicts, 1)]}]}))
    return str(folder)


def status(*runs):
    """Return the exit status of `bench diff` with these words."""
    return diff.main(list(map(str, runs)))


@pytest.mark.parametrize("one, other, expected", [
    ((MORE, 1.1, 1.2), (LESS, 0.8, 0.9), 1),
    ((MORE, 1.1, 1.2), (MORE, 1.5, 1.6), 0),            # the same winner
    ((EQUAL, 0.98, 1.02), (MORE, 1.1, 1.2), 1),
    ((EQUAL, 0.98, 1.02), (MORE, 1.01, 1.2), 0),        # they overlap
    ((EQUAL, 0.98, 1.0), (EQUAL, 1.0, 1.02), 0),
    ((UNKNOWN, 0.8, 1.2), (MORE, 1.5, 1.6), 0),
    ((FEW, None, None), (LESS, 0.8, 0.9), 0),
])
def test_what_disagrees(one, other, expected, tmp_path, capsys):
    """Opposite winners, or "the same" with intervals that do not overlap;
    in whichever order the runs are given."""
    runs = run(tmp_path / "a", one), run(tmp_path / "b", other)
    assert status(*runs) == expected
    assert status(*runs[::-1]) == expected
    told = capsys.readouterr().out
    assert ("answer keep-alive at 1, cpu_us: poll compared with epoll"
            in told) == bool(expected)


def test_the_comparisons_are_counted(tmp_path, capsys):
    """Those of both runs, of these the decided ones, of these the bad."""
    one = run(tmp_path / "a", (MORE, 1.1, 1.2), (FEW, None, None),
              (LESS, 0.8, 0.9), (MORE, 1.1, 1.2))
    two = run(tmp_path / "b", (LESS, 0.8, 0.9), (MORE, 1.1, 1.2),
              (LESS, 0.8, 0.9))
    assert status(one, two) == 1
    assert "3 comparisons in both runs, 2 of them decided in both, 1 of " \
           "these disagree" in capsys.readouterr().out


def test_what_cannot_be_compared(tmp_path, capsys):
    """Another status than "they disagree", and what to do."""
    one, none = run(tmp_path / "a", (MORE, 1.1, 1.2)), run(tmp_path / "b")
    assert status(one, none) == 2
    assert "no comparison in common" in capsys.readouterr().err
    (tmp_path / "b" / "summary.json").write_text(
        '{"experiments": [{"name": "older"}]}')
    for wrong in (none, tmp_path / "nowhere"):
        assert status(one, wrong) == 2
        assert "`make compare` left" in capsys.readouterr().err
    assert status(one) == 2
