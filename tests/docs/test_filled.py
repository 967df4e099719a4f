"""The chapters say what the sources and the committed run say."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import CHAPTERS, DOCS, DOCUMENTS, TOP, name_of
import fill
from filling import markers


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_document_is_up_to_date(path, context):
    """Filling it again changes nothing, and no sentence is untrue."""
    wanted, wrong = fill.fill([path], context)
    assert not wrong, "\n".join(wrong)
    old = {name_of(one) for one in fill.outdated(wanted)}
    assert not old, f"run `make docs`: {', '.join(sorted(old))}"


def test_program_finds_nothing_to_do():
    """fill.py --check exits with 0."""
    done = subprocess.run([sys.executable, DOCS / "fill.py", "--check"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pictures_are_those_that_are_shown():
    """Each picture belongs to a chapter and is well-formed."""
    shown = {name for path in DOCUMENTS for name in
             re.findall(r"\]\((pictures/[\w.-]+)\)", path.read_text())}
    there = {f"pictures/{path.name}" for path in DOCS.glob("pictures/*")}
    assert there == shown
    for name in there:
        root = ElementTree.parse(DOCS / name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


# ------------------------------------------- every chapter has all its parts

PARTS = ["How it works", "Measured", "Why the curve looks so",
         "The published curve", "What breaks it", "Exercises"]


def test_each_server_has_a_chapter():
    """The options' --help names it by this path."""
    folders = {path.parent.name for path in TOP.glob("0*/main.c")}
    assert {path.stem for path in CHAPTERS} == folders


@pytest.mark.parametrize("path", CHAPTERS, ids=name_of)
def test_chapter_has_its_parts(path):
    """The sections in their order, a question, a diagram, code, a curve."""
    text = path.read_text()
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [part for part in sections if part in PARTS] == PARTS
    assert re.match(r"# .*\n\n\*[A-Z][^*]*\?\*\n\n", text), "no question"
    for marker in (f"code: {path.stem}/main.c ", "picture: curve guestbook ",
                   "table: costs guestbook ", "table: calls guestbook ",
                   "table: beside guestbook ", "check: "):
        assert f"<!-- {marker}" in text, f"no {marker}"
    assert re.search(r"^    \S.*(---|->)", text, re.MULTILINE), "no diagram"


@pytest.mark.parametrize("path", CHAPTERS, ids=name_of)
def test_chapter_says_what_it_is_good_for(path):
    """What one can do after it, three points; what it needs; the columns."""
    text = path.read_text()
    aims = re.search(r"\?\*\n\nAfter this chapter you can\n\n((?:- .*\n)+)\n"
                     r"It needs ", text)
    assert aims and len(aims.group(1).splitlines()) == 3
    assert ("\n## Measured\n\n[What the columns mean]"
            "(benchmarking.md#how-to-read-the-report)") in text


@pytest.mark.parametrize("path", CHAPTERS, ids=name_of)
def test_chapter_has_three_exercises_each_with_a_hint(path):
    """Numbered, with what is to be seen, the hint folded away."""
    part = path.read_text().partition("\n## Exercises\n")[2]
    assert re.findall(r"^(\d)\. ", part, re.MULTILINE) == ["1", "2", "3"]
    assert part.count("\n   You should see: ") == 3
    assert part.count("<summary>Hint</summary>") == 3
    assert part.count("<details>") == part.count("</details>") == 3


# ------------------------------------------------ figures outside of markers

# A number with a unit of measurement, as prose has it.
MEASURED = re.compile(
    r"(?<![\w.,/])~?(\d[\d,.]*)\s*(?:×\s*)?"
    r"(%|per cent|µs|us\b|ms\b|[KMG]i?B\b|GB\b|bytes\b"
    r"|(?:requests|pages|replies|answers|connections)\s*"
    r"(?:/\s*s\b|a second|per second)"
    r"|(?:context )?switches\b|page faults\b|system calls\b)")

# Figures that no run of ours produces, each with the reason.
ALLOWED = {
    # benchmarking.md: what was published, by the document's own table
    "14.5 GB": "published: fibjs before it was tuned",
    "3.36 GB": "published: fibjs with a smaller socket buffer",
    "0.79 GB": "published: fibjs that gives its buffers back",
    # arithmetic, spelled out where it stands
    "470 connections a second": "28,232 ports in 60 s",
    "100 bytes": "an example of what less work may be",
    "1 ms": "an example: coordinated omission",
    "20 ms": "an example: a distance",
    "3,000 ms": "TCP's timers",
    "10 ms": "an example: a slow Redis",
    "5 %": "what counts as the same",
    "30 pages a second": "three waits of 10 ms",
    "100 %": "all of a core",
    "99 %": "the name of a column",
    "1": "01 serves one client at a time",
    # sizes that the kernel or a standard sets
    "2 MiB": "page tables of a gigabyte",
    "8 MiB": "the default stack of a thread",
    "256 KiB": "STACK_SIZE of 04 and 05",
    "500 MiB": "an exercise",
    "50 MB": "a file to download slowly",
    "64 bytes": "a cache line",
    "1,200 connections a second": "published: the load of echo",
}


def unmarked(path):
    """Yield (line number, figure) of figures that were typed by hand.

    A table that follows a line with "Published" is named so and is not meant;
    in any other, a cell that is nothing but a number is.
    """
    text = markers.without(path.read_text())
    text = re.sub(r"^```.*?^```$", lambda m: "\n" * m.group(0).count("\n"),
                  text, flags=re.MULTILINE | re.DOTALL)
    published = False
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("|"):
            published = line.startswith("Published")
        if line.startswith("    "):
            continue
        for found in MEASURED.finditer(line):
            yield number, f"{found.group(1)} {found.group(2)}"
        if line.startswith("|") and not published:
            for cell in line.strip("|").split("|"):
                if re.fullmatch(r"\s*\d[\d.,]*\s*", cell):
                    yield number, cell.strip()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_no_figure_is_typed_by_hand(path):
    """A measured figure stands in a marker; others have a reason above."""
    wrong = [f"{path.name}:{line}: {figure}" for line, figure in
             unmarked(path) if figure not in ALLOWED]
    assert not wrong, "\n".join(wrong)


def test_no_reason_is_left_over():
    """What is allowed above is still said somewhere."""
    said = {figure for path in DOCUMENTS for _, figure in unmarked(path)}
    assert set(ALLOWED) <= said, set(ALLOWED) - said
