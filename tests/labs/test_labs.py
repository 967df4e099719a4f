"""Every lab: its starter, its solution, its mutants.

A sample that grades each lab once, but for 08, since not every machine allows
io_uring; with FULL=1, all. A mutant passes all tests but a few, so it is as
good as a solution. test_handout.py grades one more starter, that of 01.
"""

import os

import pytest

from tests.labs.grading import TOP, Graded
from labs.grade import lab as labs
from labs.grade import starter

FULL = os.environ.get("FULL", "") not in ("", "0")
LABS = [folder.name for folder in labs.all_folders()]
MUTANTS = [(folder.name, mutant) for folder in labs.all_folders()
           for mutant in labs.read(folder).mutants]
STARTERS, SOLUTIONS = ["05_prethreaded"], ["04_threaded", "07_epoll"]
MOST = 25               # points of a starter
MAY_CRASH = ["any_event_resumes"]   # and fail further tests, on a crowded machine


def nearly_right(name):
    """Return (name of a lab, its mutant that fails the fewest tests)."""
    mutants = labs.find(name).mutants
    return name, min(mutants, key=lambda mutant: (mutant in MAY_CRASH, len(mutants[mutant])))


FEW = [nearly_right(name) for name in LABS if name not in (*SOLUTIONS, "08_io_uring")]


@pytest.mark.parametrize("name", LABS if FULL else STARTERS)
def test_starter(name, tmp_path):
    starter.write(labs.find(name), tmp_path / "starter")
    graded = Graded(name, tmp_path / "starter", tmp_path)
    assert graded.status == 1, graded.output
    assert graded.result["compiled"] and not graded.result["compiler"]
    assert graded.points <= MOST, graded.output


@pytest.mark.parametrize("name", LABS if FULL else SOLUTIONS)
def test_solution(name, tmp_path):
    graded = Graded(name, labs.find(name).solution, tmp_path)
    assert graded.points == 100 and graded.status == 0, graded.output
    assert graded.left == [] and list(graded.tmp.iterdir()) == []


@pytest.mark.parametrize("name, mutant", MUTANTS)
def test_every_mutant_applies(name, mutant, tmp_path):
    """Also those that are not in the sample."""
    labs.find(name).make_mutant(mutant, tmp_path)


@pytest.mark.parametrize("name, mutant", MUTANTS if FULL else FEW)
def test_mutant(name, mutant, tmp_path):
    """It fails the tests of lab.toml and no others; the hint is the first's."""
    lab = labs.find(name)
    source = tmp_path / "source"
    source.mkdir()
    lab.make_mutant(mutant, source)
    graded = Graded(name, source, tmp_path)
    assert graded.result["compiled"], graded.output
    expected = set(lab.mutants[mutant])
    assert set(graded.failed) == expected, graded.output
    first = next(test for test in lab.tests if test.name in expected)
    assert graded.result["first_hint"] == first.hint


def test_a_server_that_ended_is_named(tmp_path):
    """Not only the client's error, "connection refused", for example."""
    source = tmp_path / "source"
    source.mkdir()
    labs.find("01").make_mutant("dies_of_sigpipe", source)
    test = "survives_a_reset"
    graded = Graded("01", source, tmp_path, "-k", test)
    assert "SIGPIPE" in graded.result["tests"][test]["seen"], graded.output


@pytest.mark.parametrize("name", LABS)
def test_every_mutant_is_listed(name):
    """Files of mutants/ and the table [mutants] name the same."""
    lab = labs.find(name)
    assert {path.stem for path in (lab.folder / "mutants").glob("*.*")} \
        == set(lab.mutants)


@pytest.mark.parametrize("name", LABS)
def test_every_starter_can_be_written(name, tmp_path):
    """A product file that has changed is named here, before a class sees it;
    and no student's work is overwritten."""
    folder = tmp_path / "mine"
    starter.write(labs.find(name), folder)
    assert "int main(" in (folder / "main.c").read_text()
    with pytest.raises(labs.LabError, match="exists"):
        starter.write(labs.find(name), folder)


ORIGIN = """/* server */
#include "../common/net.h"

static int helper(void);

static int given(void)
{
}

/* Only read_all() calls helper(), which would show how. */
static int helper(void) /* of read_all() */
{
    return 1;
}

/* Reads. */
static int read_all(int fd,
                    int n)
{
    return helper() + given();
}

int main(void)
{
    return 0;
}
"""


def test_a_starter_is_the_product_with_functions_to_write():
    """... without what only the solution calls and no contract names."""
    assert starter.insert("""/* lab */
#include <poll.h>

/* TO WRITE: given() helps. */
static int read_all(int fd, int n)
{
    return -1;
}
""", ORIGIN) == """/* lab */
#include "net.h"
#include <poll.h>

static int given(void)
{
}

/* TO WRITE: given() helps. */
static int read_all(int fd, int n)
{
    return -1;
}

int main(void)
{
    return 0;
}
"""


@pytest.mark.parametrize("text, named", [
    ("static int receive_all(int fd, int n)\n{\n}\n", "receive_all() is not there"),
    ("static int read_all(int fd)\n{\n}\n", "read_all() begins there with"),
    ("enum { MORE = 1 };\n", "enum { MORE = 1 };")])
def test_a_starter_that_no_longer_fits_is_named(text, named):
    with pytest.raises(ValueError) as error:
        starter.insert("/* lab */\n\n" + text, ORIGIN)
    assert named in str(error.value)


@pytest.mark.parametrize("name", LABS)
def test_page_and_points_agree(name):
    """The table of a README has the points of lab.toml, level by level."""
    lab = labs.find(name)
    page = (lab.folder / "README.md").read_text()
    for level in labs.LEVELS:
        points = sum(t.points for t in lab.tests if t.level == level)
        assert f"| {level} | {points} |" in page


@pytest.mark.parametrize("words", [["77", "."], ["01", "/nowhere"], []])
def test_wrong_calls(words):
    import subprocess
    import sys
    done = subprocess.run([sys.executable, "-m", "labs.grade", *words],
                          cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr
