"""The patches of bench/tricks/ fit the sources and say what they are for."""

import json
import os
import subprocess

import pytest

import cost
import reuseport
import tricks

ALL = tricks.all_tricks()
PATCHED = [trick for trick in ALL if trick.patch]


@pytest.mark.parametrize("trick", PATCHED, ids=lambda trick: trick.name)
def test_patch_applies(trick):
    """Whoever changes the lines that it changes has to change it, too."""
    assert tricks.applies(trick) == ""


@pytest.mark.parametrize("trick", ALL, ids=lambda trick: trick.name)
def test_trick_says_what_it_is(trick):
    """A known kind; measured somewhere, here or by reuseport.py."""
    assert trick.kind in ("undo", "try", "build", "apart")
    assert bool(trick.measured) == (trick.kind != "apart")
    assert bool(trick.flags) != bool(trick.patch)


def test_reuseport_finds_its_patch():
    """One of its queues is a patch."""
    names = {trick.name for trick in PATCHED} | {tricks.BASE}
    assert set(reuseport.QUEUES.values()) <= names


def test_patch_that_has_rotted_is_found(tmp_path):
    """git says which lines it misses."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for trick in PATCHED[:1]:
        assert "No such file" in tricks.applies(trick, tmp_path)


def test_patch_without_a_head_is_refused(tmp_path):
    """Each has to say what it is and on what it is measured."""
    path = tmp_path / "one.patch"
    for text in ("--- a/x\n", "Trick: a\nKind: undo\n--- a/x\n",
                 "Trick: a\nKind: undo\nMeasured: epoll no-such\n\nWhy.\n"):
        path.write_text(text)
        with pytest.raises(tricks.TrickError):
            tricks.read_patch(path)
    path.write_text("Trick: a b\nKind: undo\nMeasured: epoll one-shot-100, "
                    "poll idle-not\n\nWhy\nso.\n\n--- a/x\n")
    with pytest.raises(tricks.TrickError):
        tricks.read_patch(path)
    path.write_text("Trick: a b\nKind: undo\nMeasured: epoll one-shot-100\n\n"
                    "Why\nso.\n\n--- a/x\n")
    found = tricks.read_patch(path)
    assert (found.title, found.about) == ("a b", "Why so.")
    assert found.measured == (("epoll", "one-shot-100"),)


def test_compare_takes_the_quickest_runs():
    """What disturbs a run makes it dearer: one quiet run each is enough."""
    base = [{"us": us, "failed": 0} for us in (9.0, 4.0, 5.0)]
    own = [{"us": us, "failed": 1} for us in (6.0, 12.0, 5.0)]
    found = tricks.compare(base, own)
    assert found["failed"] == 3
    assert (found["base_us"], found["us"], found["runs"]) == (4.0, 5.0, 3)
    assert found["ratio"] == 1.25
    assert (found["ratio_min"], found["ratio_max"]) == (1.2, 1.25)


def test_other_build_is_started_as_the_server_is(tmp_path):
    """Same options, another program."""
    there = tricks.variant("epoll", str(tmp_path))
    assert "not built" in there.problem()
    (tmp_path / "epoll").write_text("")
    os.chmod(tmp_path / "epoll", 0o755)
    assert there.problem() == ""
    start = cost.servers.Start(workers=2)
    argv, folder = there.command(start, 0, "")
    usual, usual_folder = cost.servers.named("epoll").command(start, 0, "")
    assert argv == [str(tmp_path / "epoll"), *usual[1:]]
    assert folder == usual_folder


def test_spread():
    """Off by 20 %: 600 and 400 instead of 500 each."""
    assert reuseport.far([600, 400]) == pytest.approx(20)
    assert reuseport.far([500, 500]) == 0


def test_rows_of_other_tricks_stay(tmp_path):
    """Who measures two of them again does not lose the rest."""
    path = tmp_path / "tricks.json"
    assert tricks.others(path, {"lto"}) == []
    path.write_text(json.dumps(
        {"machine": {"cpu": "new"},
         "tricks": [{"name": "lto"}, {"name": "o3"},
                    {"name": "no-pool", "cpu": "old"}]}))
    assert tricks.others(path, {"lto"}) == [
        {"name": "o3", "cpu": "new"}, {"name": "no-pool", "cpu": "old"}]


def test_what_does_not_start_is_not_counted(monkeypatch):
    """As a build for a processor that valgrind does not know. It has ended,
    and nobody is left to be told to."""
    class Ended(subprocess.Popen):
        """A program that is over before anybody reads from it."""

        def __init__(self, _, **settings):
            super().__init__(["false"], **settings)
            self.wait()

    monkeypatch.setattr(subprocess, "Popen", Ended)
    scenario = next(one for one in cost.SCENARIOS if one.name == "one-shot-100")
    assert tricks.instructions_of("", "epoll", scenario, "", None) is None
