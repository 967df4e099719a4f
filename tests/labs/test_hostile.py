"""Submissions that attack the grader: they get no points, and nothing else
happens. Each is tests/labs/hostile/NAME.c. Never run one by hand."""

from pathlib import Path

import pytest

from tests.labs.grading import FULL, TOP, Graded, apart

HOSTILE = Path(__file__).parent / "hostile"
NAMES = sorted(path.stem for path in HOSTILE.glob("*.c"))
QUICK = ["kills_everything", "forks_without_end", "prints_forged_results"]
ONE = () if FULL else ("-k", "answers_every_page")      # a test; each starts the program
SECONDS = 8             # for the tests of a grade; they all fail
SLACK = 60              # the last one may take longer, on a crowded machine much


def ours():
    """Return what must not change: {path: (size, time of change)}."""
    return {path: (path.stat().st_size, path.stat().st_mtime_ns)
            for name in ("common", "public", "templates", "labs")
            for path in (TOP / name).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


def strays():
    """Return the files that a hostile program may have written."""
    return [path for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/root",
                                str(TOP), str(TOP / "public"))
            for path in Path(folder).glob("grade_hostile_*")]


@apart
@pytest.mark.parametrize("name", NAMES if FULL else QUICK)
def test_hostile(name, tmp_path):
    before = ours()
    graded = Graded("01", HOSTILE / f"{name}.c", tmp_path, "--isolation",
                    "required", "--seconds", str(SECONDS), *ONE)
    assert graded.status == 1, graded.output
    assert graded.points == 0
    assert graded.seconds_of_tests < SECONDS + SLACK
    assert graded.left == []
    assert list(graded.tmp.iterdir()) == []
    assert ours() == before
    assert strays() == []
    assert "\033" not in graded.output
    assert "root:" not in graded.output     # a line of /etc/passwd
    assert "epoll_wait" not in graded.output


def test_a_submission_may_not_be_a_link(tmp_path):
    """A link would let the grader, as root perhaps, read a secret."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "main.c").symlink_to("/etc/passwd")
    (tmp_path / "run").mkdir()
    graded = Graded("01", tmp_path / "work", tmp_path / "run")
    assert graded.status == 1
    assert "root:" not in graded.output + str(graded.result)
