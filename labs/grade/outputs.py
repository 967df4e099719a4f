"""A grade, and the files that say it to other programs; see also screen.py.

What a submission printed may stand in a grade. It comes here as text only,
without control characters: it cannot move a terminal's cursor or break a file.
"""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from labs.grade.lab import LEVELS, Lab, Test

MOST = 600              # characters of one line in a report
COMPILER = "what the compiler says"
NOT_GRADED = "This could not be graded, which is not known to be your fault:"
CONTROL = re.compile(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]")


def clean(text, most=MOST):
    """Return text without control characters, and not too long."""
    text = CONTROL.sub("?", str(text))
    return text if len(text) <= most else text[:most] + " ..."


@dataclass(frozen=True)
class Result:
    """How one test ended. `seen` and `expected` are "" when it passed;
    `seconds` is how long it ran; `ran` is False if it did not."""

    test: Test
    passed: bool
    seen: str = ""
    expected: str = ""
    seconds: float = 0.0
    ran: bool = True

    @property
    def points(self):
        """The points that it gives."""
        return self.test.points if self.passed else 0


@dataclass(frozen=True)
class Grade:
    """All Results of a submission, in the order of lab.toml.

    `warnings` is what the compiler said; `compiled` is False when it refused, and all tests have
    failed then. `fault` says why nothing could be graded, which is not the submission's fault.
    """

    lab: Lab
    results: tuple
    warnings: str = ""
    compiled: bool = True
    fault: str = ""

    @property
    def points(self):
        """The points of all tests that passed."""
        return sum(result.points for result in self.results)

    @property
    def total(self):
        """The most points that there are."""
        return sum(result.test.points for result in self.results)

    @property
    def first(self):
        """The first Result that failed, or None: the place to start."""
        return next((r for r in self.results if r.ran and not r.passed), None)

    def of(self, level):
        """Return the Results of a level."""
        return [r for r in self.results if r.test.level == level]


def not_compiled(lab, text):
    """Return the Grade of a submission that does not compile."""
    return Grade(lab, tuple(
        Result(test, False, "it does not compile", "a program")
        for test in lab.tests), text, compiled=False)


def not_graded(lab, why):
    """Return the Grade, without points, of what could not be graded."""
    return Grade(lab, tuple(
        Result(test, False, "it could not be graded", "a grade", ran=False)
        for test in lab.tests), fault=why)


def _hint(grade, result):
    """Return where to look when a test failed; "" when it says nothing about
    that test, since no test was run."""
    return result.test.hint if grade.compiled and not grade.fault else ""


def _first(grade):
    """Return what to look at first, None when all tests passed."""
    if not grade.compiled:
        return COMPILER
    return grade.first.test.hint if grade.first else None


def _said(grade):
    """Return what is to be said about the submission as a whole."""
    return clean(f"{NOT_GRADED} {grade.fault}" if grade.fault else grade.warnings, 10_000)


def _explained(grade, result):
    """Return what a test has to say, as lines of text."""
    if result.passed:
        return ""
    if not _hint(grade, result):
        return clean(result.seen)
    return (f"seen: {clean(result.seen)}\nexpected: {clean(result.expected)}\n"
            f"hint: {result.test.hint}")


def result(grade):
    """all that is known, as JSON"""
    return json.dumps({
        "lab": grade.lab.folder.name, "points": grade.points,
        "total": grade.total, "compiled": grade.compiled,
        "compiler": clean(grade.warnings, 10_000), "fault": clean(grade.fault),
        "first_hint": _first(grade),
        "tests": {r.test.name: {
            "level": r.test.level, "passed": r.passed, "points": r.points,
            "of": r.test.points, "seen": clean(r.seen),
            "expected": clean(r.expected), "hint": _hint(grade, r),
            "seconds": round(r.seconds, 2)} for r in grade.results}}, indent=1)


def gradescope(grade):
    """results.json, as Gradescope reads it"""
    return json.dumps({
        "score": grade.points,
        "output": _said(grade),
        "tests": [{
            "name": r.test.name.replace("_", " "), "score": r.points,
            "max_score": r.test.points,
            "status": "passed" if r.passed else "failed",
            "tags": [r.test.level], "output": _explained(grade, r)}
            for r in grade.results]}, indent=1)


def autolab(grade):
    """the last line that Autolab reads: points by level"""
    return json.dumps({"scores": {
        level: sum(r.points for r in grade.of(level)) for level in LEVELS}}) \
        + "\n"


def junit(grade):
    """JUnit XML, as GitHub, GitLab and Jenkins read it"""
    suite = ElementTree.Element(
        "testsuite", name=grade.lab.folder.name, tests=str(len(grade.results)),
        failures=str(sum(not r.passed for r in grade.results)), errors="0",
        time=f"{sum(r.seconds for r in grade.results):.3f}")
    for r in grade.results:
        case = ElementTree.SubElement(
            suite, "testcase", name=r.test.name,
            classname=f"{grade.lab.folder.name}.{r.test.level}", time=f"{r.seconds:.3f}")
        if not r.passed:
            failure = ElementTree.SubElement(case, "failure", message=clean(r.seen))
            failure.text = _explained(grade, r)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode") + "\n"


FILES = {"result": result, "gradescope": gradescope, "autolab": autolab, "junit": junit}
