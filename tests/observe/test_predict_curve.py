"""predict WHAT=curve: a guess of a whole curve, at a prompt."""

import functools
import io
import sys

import pytest

from tools.kit.servers import ARCHITECTURES
from tools.observe.predict import command, curve, guess

SUMMARY = functools.cache(curve.summaries.read)     # takes a second


@pytest.fixture(name="ended")
def run_here(monkeypatch, capsys, tmp_path):
    """ended(typed, *words) returns (exit status, standard output, standard error) of `predict` with
    these words, without a terminal, which may write to tmp_path/out."""
    monkeypatch.setattr(curve.summaries, "read", SUMMARY)
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    monkeypatch.setenv("COLUMNS", "80")

    def ended(typed, *words):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return command.main(words), *capsys.readouterr()
    return ended


@pytest.mark.parametrize("typed, rates", [
    ("9000 12,000 8e3 .5", [9000, 12000, 8000, 0.5]),
    ("Falls 8000", [8000, 6000, 4000, 2000]),
    *((one, None) for one in ("", "1 2 3", "flat", "flat 1 2", "round 3", "1 2 3 x", "1 2 3 -4"))])
def test_a_curve_is_four_rates_or_a_shape_and_one(typed, rates):
    if rates:
        assert curve.rates_of(typed) == rates
    else:
        with pytest.raises(ValueError, match="it has to be"):
            curve.rates_of(typed)


def test_the_guess_and_the_measured_curve_are_drawn_over_each_other():
    """A guess that is right with many clients, and too high with few."""
    lines = curve.picture([100, 100, 100, 50], dict.fromkeys((20, 50, 100, 1000, 10000, 15000), 50))
    rows = [line.partition("│")[2] for line in lines if "│" in line]
    assert lines[1].split()[0] == "100" and rows[0].startswith("·") and "●" not in rows[0]
    assert rows[len(rows) // 2] == "●" * curve.ACROSS and not rows[-1]
    assert lines[-1].split() == ["20", "100", "1,000", "10,000", "clients"]


def test_each_chapter_has_a_curve_and_its_sentence_for_a_guess(ended, tmp_path):
    """Without a terminal, and without measuring or storing anything."""
    for server in ARCHITECTURES:
        said = guess.of_chapter(server)[1]
        status, out, error = ended("flat 40000\n", server.folder[:2], "--what", "curve")
        assert status == 0, error
        assert said["high"] in " ".join(out.split()) and "●●●●" in out and "\033" not in out
        assert f"Read docs/read/{server.folder}.md." in " ".join(out.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words, typed, why", [
    (["02", "--what", "curve"], "1 2 3", "it has to be 4 numbers"),
    (["02", "--what", "curve", "--clients", "5"], "", "without CLIENTS and FILE"),
    (["--what", "curve"], "", "needs SERVER=05"),
    (["nginx", "--what", "curve"], "", "SERVER=nginx: there is no server")])
def test_a_wrong_curve_is_told(ended, words, typed, why):
    status, _, error = ended(typed, *words)
    assert status == 2 and why in error
