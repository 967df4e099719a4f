"""A grade on a terminal: readable at 80 columns, and no words of a submission
are read as commands."""

import io
import re

import pytest

from labs.grade import lab as labs, outputs, screen

SAID = "[red]a zombie[/red] \033[31m after " + "client " * 40
LAB = labs.find("03")


def grade(*failed, ran=True):
    """Return a Grade of lab 03 in which the tests with these numbers failed."""
    return outputs.Grade(LAB, tuple(
        outputs.Result(test, number not in failed, SAID, "no zombie", ran=ran)
        for number, test in enumerate(LAB.tests)))


def drawn(graded):
    """Return what rich draws at 80 columns, without colours."""
    console = pytest.importorskip("rich.console").Console(
        width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    screen.draw(graded, console)
    return re.sub(r"\033\[[0-9;]*m", "", console.file.getvalue())


@pytest.mark.parametrize("show", [screen.text, drawn])
def test_a_failed_test_says_what_to_do(show):
    said = show(grade(3, 7))
    assert max(map(len, said.splitlines())) <= 80
    assert "\033" not in said and "[red]a zombie[/red]" in said
    words = " ".join(said.split())
    for number in (3, 7):
        assert LAB.tests[number].hint in words
        assert LAB.tests[number].name.replace("_", " ") in words
    missing = sum(LAB.tests[number].points for number in (3, 7))
    assert f"{100 - missing} of 100 points" in words
    assert "Start with: " + LAB.tests[3].name.replace("_", " ") in words


@pytest.mark.parametrize("show", [screen.text, drawn])
def test_all_points(show):
    said = show(grade())
    assert "100 of 100 points" in said and "Start with" not in said


@pytest.mark.parametrize("show", [screen.text, drawn])
def test_tests_that_did_not_run_are_counted_only(show):
    """After -k NAME, for example."""
    graded = grade()
    graded = outputs.Grade(LAB, graded.results[:1] + grade(*range(30), ran=False).results[1:])
    said = show(graded)
    assert f"{len(LAB.tests) - 1} of {len(LAB.tests)} tests were not run" in said
    assert LAB.tests[1].hint not in " ".join(said.split())


def test_plain_where_there_is_no_terminal(capsys):
    screen.show(grade(1))
    assert capsys.readouterr().out == screen.text(grade(1)) + "\n"
