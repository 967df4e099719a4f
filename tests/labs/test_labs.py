"""Every lab: its starter, its solution, its mutants.

A sample that grades each lab, but for 08, since not every machine allows io_uring; with FULL=1,
all. A mutant passes all tests but a few, so it is as good as a solution. 02 and 06 are in
test_designs.py, and one more starter, that of 01, in test_handout.py.
"""

import re

import pytest

from tests.labs.grading import FULL, TOP, Graded
from labs.grade import lab as labs
from labs.grade import starter

LABS = [folder.name for folder in labs.all_folders()]
MUTANTS = [(folder.name, mutant) for folder in labs.all_folders()
           for mutant in labs.read(folder).mutants]
MOST = 25               # points of a starter
FEW = [("01_iterative", "dies_of_sigpipe"), ("03_preforking", "lost_sigchld"),
       ("05_prethreaded", "signals_in_threads"), ("09_coroutines", "blocks_the_loop")]


@pytest.mark.parametrize("name", LABS if FULL else ["05_prethreaded"])
def test_starter(name, tmp_path):
    starter.write(labs.find(name), tmp_path / "starter")
    graded = Graded(name, tmp_path / "starter", tmp_path)
    assert graded.status == 1, graded.output
    assert graded.result["compiled"] and not graded.result["compiler"]
    assert graded.points <= MOST, graded.output


@pytest.mark.parametrize("name", LABS if FULL else ["04_threaded", "07_epoll"])
def test_solution(name, tmp_path):
    graded = Graded(name, labs.find(name).solution, tmp_path)
    assert graded.points == 100 and graded.status == 0, graded.output
    assert graded.left == [] and list(graded.tmp.iterdir()) == []


@pytest.mark.parametrize("name, mutant", MUTANTS if FULL else FEW)
def test_mutant(name, mutant, tmp_path, source):
    """It fails the tests of lab.toml and no others; the hint is the first's."""
    lab = labs.find(name)
    lab.make_mutant(mutant, source)
    graded = Graded(name, source, tmp_path)
    assert graded.result["compiled"], graded.output
    expected = set(lab.mutants[mutant])
    assert set(graded.failed) == expected, graded.output
    first = next(test for test in lab.tests if test.name in expected)
    assert graded.result["first_hint"] == first.hint
    if mutant == "dies_of_sigpipe":     # not only the client's error, "connection refused"
        assert "SIGPIPE" in graded.result["tests"]["survives_a_reset"]["seen"], graded.output


@pytest.mark.parametrize("name", LABS)
def test_every_mutant_applies(name, tmp_path):
    """Also those that are not in the sample; and all files are in the table [mutants]."""
    lab = labs.find(name)
    assert {path.stem for path in (lab.folder / "mutants").glob("*.*")} == set(lab.mutants)
    for mutant in lab.mutants:
        (tmp_path / mutant).mkdir()
        lab.make_mutant(mutant, tmp_path / mutant)


@pytest.mark.parametrize("name", LABS)
def test_every_starter_can_be_written(name, tmp_path):
    """A product file that has changed is named here, before a class sees it;
    and no student's work is overwritten."""
    lab, folder = labs.find(name), tmp_path / "mine"
    starter.write(lab, folder)
    assert "int main(" in (folder / "main.c").read_text()
    for path in lab.starter.glob("*.[ch]"):
        for function in starter.FUNCTION.finditer(path.read_text()):
            assert function[0] in (folder / path.name).read_text()
    with pytest.raises(labs.LabError, match="exists"):
        starter.write(lab, folder)


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


@pytest.mark.parametrize("old, new, more, named", [
    ("void unwatch(", "void forget(", "", "unwatch() is not there"),
    ("unwatch(struct event_loop *base, ", "unwatch(", "", "unwatch() begins there with"),
    ("", "", "enum { MORE = 1 };\n", "enum { MORE = 1 };")])
def test_a_starter_that_no_longer_fits_is_named(old, new, more, named):
    """A function has another name in the product, or other parameters; or there is more in the
    starter than functions to write."""
    changes = (labs.find("06").starter / "main.c").read_text()
    product = (TOP / "06_poll" / "main.c").read_text()
    assert old in product
    with pytest.raises(ValueError, match=re.escape(named)):
        starter.insert(changes + more, product.replace(old, new))


@pytest.mark.parametrize("name", LABS)
def test_page_and_points_agree(name):
    """The table of a README has the points of lab.toml, level by level."""
    lab = labs.find(name)
    page = (lab.folder / "README.md").read_text()
    for level in labs.LEVELS:
        points = sum(t.points for t in lab.tests if t.level == level)
        assert f"| {level} | {points} |" in page
