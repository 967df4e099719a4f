"""Runs that are joined are the run that they would have been."""

import json
import os
from contextlib import nullcontext

import pytest

import made_up
from bench.store import join, rundir, summaries


@pytest.fixture(name="whole")
def made_up_run(tmp_path):
    """A run of two servers."""
    return made_up.folder(tmp_path / "whole", ("iterative", "epoll"))


def piece(whole, name, wanted, **env):
    """Make a run of those rows of `whole` whose x is wanted(); `env` changes
    its env.json. Return its folder."""
    folder = os.path.join(os.path.dirname(whole), name)
    os.mkdir(folder)
    for table in ("samples.csv", "calls.csv"):
        rows = rundir.read_rows(os.path.join(whole, table))
        rundir.write_rows(os.path.join(folder, table), [
            row for row in rows if wanted(row.get("x") or 0)], list(rows[0]))
    told = rundir.read_json(os.path.join(whole, "env.json"))
    rundir.write_json(os.path.join(folder, "env.json"), {**told, **env})
    return folder


def test_the_whole_is_the_sum_of_its_parts(whole, tmp_path):
    """Its summary does not show that it was measured in two runs. Looks of
    one of them count for all: the wider interval is right for both."""
    out = str(tmp_path / "joined")
    count = join.join(out, [
        piece(whole, "small", lambda x: x < 500),
        piece(whole, "large", lambda x: x >= 500, looks={"answer": [6]})])
    assert count == len(rundir.read_rows(os.path.join(whole, "samples.csv")))
    assert rundir.read_json(os.path.join(out, "summary.json")) == \
        json.loads(json.dumps(summaries.make(whole)))
    env = rundir.read_json(os.path.join(out, "env.json"))
    assert env["looks"] == {"answer": [6]} and len(env["joined"]) == 2


@pytest.mark.parametrize("why, wanted, env", [
    ("another commit", lambda x: x < 500,
     {"source": {"commit": "b", "changed": False}}),
    ("another machine", lambda x: x < 500, {"machine": {"cpu": "another"}}),
    ("measured in two runs: ", lambda x: True, {}),
])
def test_what_cannot_be_joined(whole, tmp_path, why, wanted, env):
    """Servers or microseconds are others, or a cell is there twice."""
    large = piece(whole, "large", lambda x: x >= 500)
    with pytest.raises(join.JoinError, match=why):
        join.join(str(tmp_path / "out"), [
            large, piece(whole, "other", wanted, **env)])
    assert not os.path.exists(tmp_path / "out")


def test_changed_sources_are_not_committed(whole, tmp_path, monkeypatch):
    """Below docs/results."""
    monkeypatch.setattr(join, "COMMITTED", str(tmp_path / "docs"))
    with pytest.raises(join.JoinError, match="in no commit"):
        join.join(str(tmp_path / "docs" / "reference"), [piece(
            whole, "changed", bool, source={"commit": "a", "changed": True})])


def test_what_is_committed_is_whole(whole, tmp_path, monkeypatch):
    """A part of the reference is joined with the others first."""
    monkeypatch.setattr(join, "COMMITTED", str(tmp_path / "docs"))
    monkeypatch.setattr(join, "NOISY", 1)
    made = summaries.make(whole)
    join.commit(whole, made, "floors")
    join.commit(whole, made)
    for folder in "reference", "studies/floors":
        assert sorted(os.listdir(tmp_path / "docs" / folder)) == [
            "calls.csv", "env.json", "samples.csv"]
    made["experiments"].pop()
    assert "This is a part" in join.commit(whole, made)


@pytest.mark.parametrize("noisy, refused", [(1, False), (2, True)])
def test_a_tenth_of_the_cells_may_be_noisy(noisy, refused):
    """A cell without a figure is none of them."""
    points = [{"rate": {"median": 1}, "noisy": ["foreign load"]}] * noisy \
        + [{"rate": {"median": 1}, "noisy": []}] * (10 - noisy) \
        + [{"rate": None, "noisy": ["no run"]}] * 9
    with pytest.raises(join.JoinError) if refused else nullcontext():
        join.check_fit({"source": {"changed": False}}, {
            "experiments": [{"curves": [{"points": points}]}]})
