"""The handout builds and grades without the checkout, and holds no solution."""

import re
import shutil
import subprocess
import sys

import pytest

from grading import TOP, Graded
from labs.grade import lab as labs

FUNCTION = re.compile(r"^\w[^;=\n]*\([^;]*?\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    """The unpacked tarball of all labs, in a fresh folder."""
    subprocess.run([sys.executable, "-m", "labs.handout"], cwd=TOP, check=True)
    folder = tmp_path_factory.mktemp("handout")
    shutil.unpack_archive(TOP / "build" / "handout.tar.gz", folder)
    return folder / "labs"


def squeezed(text):
    """Return text without comments and white space."""
    return re.sub(r"\s+", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


def secrets():
    """Yield (lab, body) of each function that a starter does not have."""
    for folder in labs.all_folders():
        lab = labs.read(folder)
        starter = squeezed("".join(
            path.read_text() for path in lab.starter.glob("*.[ch]")))
        for path in lab.solution.glob("*.c"):
            for body in FUNCTION.findall(path.read_text()):
                if squeezed(body) not in starter and len(squeezed(body)) > 60:
                    yield folder.name, squeezed(body)


def is_later(path, handout, name):
    """Return whether a file is the starter of a lab behind lab `name`: the
    loop of lab 01, for example, is given in lab 05."""
    words = path.relative_to(handout).parts
    return words[0] == "labs" and words[2:3] == ("starter",) \
        and words[1] > name


def test_it_holds_no_solution(handout):
    """Of a lab, in its own files or in those of an earlier one."""
    everything = [(path, squeezed(path.read_text(errors="replace")))
                  for path in handout.rglob("*") if path.is_file()]
    found = list(secrets())
    assert found
    assert [(name, path) for name, body in found
            for path, text in everything
            if body in text and not is_later(path, handout, name)] == []
    names = {path.name for path in handout.rglob("*")}
    assert not names & {"mutants", "solution", ".git", "INSTRUCTOR.md",
                        "solutions"}
    assert not (handout / "common" / "event_loop.c").exists()


def test_it_builds_and_grades(handout, tmp_path):
    subprocess.run(["make", "-s", "CC=gcc"], cwd=handout, check=True)
    graded = Graded("01", handout / "labs" / "01_iterative" / "starter",
                    tmp_path, top=handout)
    assert graded.status == 1, graded.output
    assert graded.points <= 25


def test_a_wrong_lab_is_named(tmp_path):
    done = subprocess.run([sys.executable, "-m", "labs.handout", "77"],
                          cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "77" in done.stderr
