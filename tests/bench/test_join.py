"""Runs that are joined are the run that they would have been."""

import json
import os

import pytest

from bench.store import join
import made_up
from bench.store import rundir as results
from bench.analyse import summary


def pieces(tmp_path, source):
    """Divide a run: small x and large x."""
    rows = results.read_rows(os.path.join(source, "samples.csv"))
    made = []
    for name, wanted in (("small", lambda x: x < 500),
                         ("large", lambda x: x >= 500)):
        piece = tmp_path / name
        piece.mkdir()
        join.write_rows(piece / "samples.csv",
                        [row for row in rows if wanted(row["x"])])
        for same in ("calls.csv", "env.json"):
            with open(os.path.join(source, same), encoding="utf-8") as file:
                (piece / same).write_text(file.read(), encoding="utf-8")
        made.append(str(piece))
    return made


def test_the_whole_is_the_sum_of_its_parts(tmp_path):
    """Its summary does not show that it was measured in two runs."""
    whole = made_up.folder(tmp_path / "whole", ("iterative", "epoll"))
    out = str(tmp_path / "joined")
    count = join.join(out, pieces(tmp_path, whole))
    expected = summary.make(whole)
    with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
        assert json.load(file) == json.loads(json.dumps(expected))
    assert count == len(results.read_rows(os.path.join(whole, "samples.csv")))
    with open(os.path.join(out, "env.json"), encoding="utf-8") as file:
        joined = json.load(file)["joined"]
    assert len(joined) == 2 and "guestbook" in joined[0]["experiments"]
    assert joined[1]["experiments"] == ["guestbook", "answer", "hello",
                                        "echo"]


def changed(run, **more):
    """Change the env.json of a run."""
    path = os.path.join(run, "env.json")
    with open(path, encoding="utf-8") as file:
        env = json.load(file)
    results.write_json(path, {**env, **more})


def test_another_commit_is_refused(tmp_path):
    """Its servers are others."""
    whole = made_up.folder(tmp_path / "whole", ("epoll",))
    small, large = pieces(tmp_path, whole)
    changed(large, source={"commit": "b", "changed": False})
    with pytest.raises(join.JoinError, match="another commit"):
        join.join(str(tmp_path / "joined"), [small, large])


def test_what_is_committed_is_of_a_commit_and_quiet(tmp_path, monkeypatch):
    """Neither changed sources nor more than a tenth of noisy cells."""
    monkeypatch.setattr(join, "COMMITTED", str(tmp_path / "docs"))
    out = str(tmp_path / "docs" / "reference")
    run = made_up.folder(tmp_path / "run", ("epoll",))
    changed(run, source={"commit": "a", "changed": True})
    with pytest.raises(join.JoinError, match="in no commit"):
        join.join(out, [run])
    changed(run, source={"commit": "a", "changed": False})
    monkeypatch.setattr(join, "NOISY", -1)
    made = summary.make(run)
    for refused in (lambda: join.join(out, [run]),
                    lambda: join.commit(run, made)):
        with pytest.raises(join.JoinError, match="cells are noisy"):
            refused()
    assert not os.path.exists(out)
    monkeypatch.setattr(join, "NOISY", 1)
    assert join.commit(run, made).startswith("Ready to be")
    assert sorted(os.listdir(out)) == ["calls.csv", "env.json", "samples.csv"]
    assert join.commit(run, made, "floors").endswith("docs/studies/floors/")
    made["experiments"].pop()
    assert "This is a part" in join.commit(run, made)


@pytest.mark.parametrize("noisy, points, refused", [
    (1, 10, False), (2, 10, True), (0, 0, False)])
def test_a_tenth_of_the_cells_may_be_noisy(noisy, points, refused):
    """A cell without a figure is none of them."""
    made = [{"rate": {"median": 1}, "noisy": ["one run"] if n < noisy else []}
            for n in range(points)] + [{"rate": None, "noisy": ["no run"]}] * 9
    one = {"experiments": [{"curves": [{"points": made}]}]}
    env = {"source": {"changed": False}}
    if refused:
        with pytest.raises(join.JoinError, match="2 of 10"):
            join.check_fit(env, one)
    else:
        join.check_fit(env, one)


def test_a_cell_measured_twice_is_refused(tmp_path):
    """Which of them would be the one that counts?"""
    whole = made_up.folder(tmp_path / "whole", ("epoll",))
    small, _ = pieces(tmp_path, whole)
    with pytest.raises(join.JoinError, match="measured in two runs: "):
        join.join(str(tmp_path / "joined"), [whole, small])


def test_another_machine_is_refused(tmp_path):
    """Its microseconds are others."""
    whole = made_up.folder(tmp_path / "whole", ("epoll",))
    small, large = pieces(tmp_path, whole)
    env = json.loads(open(os.path.join(large, "env.json"),
                          encoding="utf-8").read())
    env["machine"]["cpu"] = "another"
    results.write_json(os.path.join(large, "env.json"), env)
    with pytest.raises(join.JoinError, match="another machine"):
        join.join(str(tmp_path / "joined"), [small, large])
