"""Do two runs agree? Only decided comparisons can contradict each other."""

import json

import pytest

from bench.store import diff
from bench.analyse.stats import EQUAL, FEW, LESS, MORE, UNKNOWN


def run(folder, *verdicts):
    """Write a summary with a comparison for each (verdict, low, high), at x
    = 1, 2, ...; return its folder."""
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"experiments": [{
        "name": "answer", "comparisons": [
            {"variant": "keep-alive", "x": x, "server": "poll",
             "base": "epoll", "metric": "cpu_us", "verdict": verdict,
             "low": low, "high": high, "words": verdict}
            for x, (verdict, low, high) in enumerate(verdicts, 1)]}]}))
    return str(folder)


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
    """In whichever order the runs are given; each is named."""
    runs = [run(tmp_path / "a", one), run(tmp_path / "b", other, one)]
    assert diff.main(runs) == diff.main(runs[::-1]) == expected
    assert capsys.readouterr().out.count("poll compared with epoll") == 2 * expected


def test_what_cannot_be_compared(tmp_path):
    """It has a status of its own."""
    one, none = run(tmp_path / "a", (MORE, 1.1, 1.2)), run(tmp_path / "b")
    for words in ([one], [one, none], [one, str(tmp_path / "nowhere")]):
        assert diff.main(words) == 2
