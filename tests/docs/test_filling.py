"""The tools themselves, on made-up figures and sources: what is wrong in a
document is found, and nothing is invented."""

import pytest

from conftest import DOCS, TOP
import fill
from filling import blocks, excerpt, figures, markers, pictures, run

POINT = {"x": 100, "rate": {"median": 1500.4, "low": 1400, "high": 1600},
         "hollow": False, "noisy": [], "limit": "server core",
         "evidence": "server 99 %", "values": {"cpu_us": 61.25, "p50_ms": None}}
SUMMARY = {"schema_version": 2, "experiments": [{
    "name": "guestbook", "variants": ["", "kept alive"],
    "calls": {"epoll/": {"read": 2.0, "all": 6.5}},
    "curves": [
        {"server": "epoll", "variant": "", "points": [
            POINT, {"x": 200, "rate": None}]},
        {"server": "epoll", "variant": "kept alive", "points": [
            {**POINT, "rate": {"median": 9000, "low": 1, "high": 2}}]}]}]}


@pytest.fixture
def names():
    """The names of the made-up run."""
    return figures.Namespace("", {**run.measured(SUMMARY),
                                  "published": figures.published(),
                                  "source": figures.Sources()})


class MadeUp:
    """A Context of the made-up run."""

    def __init__(self, names):
        self.names, self.top, self.files = names, TOP, {}


# -------------------------------------------------------------------- figures

@pytest.mark.parametrize("text, value", [
    ("guestbook.epoll[100].rate", 1500.4),
    ("guestbook.epoll[100].calls", 6.5),
    ("guestbook['kept'].epoll[100].rate", 9000),
    ("1000000 / guestbook.epoll[100].cpu_us", 1000000 / 61.25),
    ("max(guestbook.epoll.rate) > 1000 and not 1 > 2", True),
    ("100 <= guestbook.epoll[100].x_of_no_use < 3 or 1 == 1", None),
    ("guestbook.epoll.rate", [1500.4]),
    ("guestbook.epoll.x", [100, 200]),
    ("peak(guestbook['kept'].epoll)", 100),
    ("published.guestbook.epoll[1000]", 2439),
    ("published.answer.best['nginx']", 136485),
    ("source.file_table.FILE_TABLE_SIZE", 8),
    ("source.guestbook.GUESTBOOK_TEXT_MAX", 1000),
])
def test_expression(names, text, value):
    """Figures, series, arithmetic, comparisons."""
    if value is None:
        with pytest.raises(figures.FigureError):
            figures.evaluate(text, names)
    else:
        assert figures.evaluate(text, names) == value


@pytest.mark.parametrize("text", [
    "guestbook.epoll[100].p50_ms",          # None is no figure
    "guestbook.epoll[200].rate",            # not measured
    "guestbook.epoll[300].rate",            # no such cell
    "guestbook.poll[100].rate", "guestbook['no'].epoll", "answer.epoll",
    "published.guestbook.iterative[15000]", "published.hello.cowboy",
    "source.options.NO_SUCH", "guestbook.epoll[100].rate +",
    "1 / 0", "guestbook.epoll + 1", "(lambda: 1)()", "open('/etc/passwd')",
    "__import__('os')", "guestbook.__class__", "[x for x in [1]]",
    "max(1, 2, key=abs)",
])
def test_what_is_not_there_is_an_error(names, text):
    """Nothing is filled in for a figure that is missing, and an expression
    cannot reach anything but figures."""
    with pytest.raises(figures.FigureError):
        figures.evaluate(text, names)


@pytest.mark.parametrize("value, form, text", [
    (15271.4, "", "15,271"), (15271.4, "~2", "15,000"), (61.25, "", "61.2"),
    (0.1234, "", "0.12"), (0.1234, "3", "0.123"), (0.001234, "~2", "0.0012"),
    (7, "", "7"), (99.96, "~2", "100"), (-0.001, "2", "0.00"),
    ("waiting", "", "waiting"), (1234567.0, "0", "1,234,567"),
])
def test_number_as_text(value, form, text):
    """Digits by size, by number, or significant ones."""
    assert figures.show(value, form) == text


def test_another_schema_is_refused():
    """Rather than to read figures from the wrong place."""
    with pytest.raises(run.RunError, match="schema"):
        run.measured({**SUMMARY, "schema_version": run.SCHEMA_VERSION + 1})


# -------------------------------------------------------------------- markers

def chapter(text, names):
    """Return what Filler.chapter makes of a made-up document."""
    return fill.Filler(MadeUp(names)).chapter(DOCS / "made-up.md", text)


def test_number_is_replaced_and_stays_so(names):
    """Whatever stood there before; and a second time changes nothing."""
    text = "a <!-- n: guestbook.epoll[100].rate | 0 -->9<!-- /n --> b\n"
    once, problems, untrue = chapter(text, names)
    assert once == text.replace(">9<", ">1,500<")
    assert chapter(once, names) == (once, [], [])
    assert not problems and not untrue


def test_untrue_sentence_is_named(names):
    """With its line, its condition and its words."""
    text = ("one\n\n<!-- check: guestbook.epoll[100].rate > 2000 -->\n"
            "It is fast,\nvery.\n\nAnd more.\n")
    _, problems, untrue = chapter(text, names)
    assert not problems
    assert len(untrue) == 1 and "made-up.md:3" in untrue[0]
    assert untrue[0].endswith("It is fast, very.")
    assert not chapter(text.replace("> 2000", "< 2000"), names)[2]


@pytest.mark.parametrize("text", [
    "a <!-- n: guestbook.epoll[100].rate -->1 b\n",         # not closed
    "<!-- n: guestbook.epoll[100].rate -->1<!-- /n --> b\n",    # at the begin
    "a <!-- n: guestbook.epoll[1].rate -->1<!-- /n --> b\n",    # no such cell
    "a <!-- m: guestbook.epoll[100].rate -->1<!-- /m --> b\n",  # not known
    "<!-- code: common/net.c net_listen -->\n",                 # not closed
    "<!-- code: common/net.c no_such -->\n<!-- /code -->\n",
    "<!-- code: common/no.c main -->\n<!-- /code -->\n",
    "<!-- table: no_such 1 -->\n<!-- /table -->\n",
    "<!-- check: guestbook.epoll[1].rate > 0 -->\nyes\n",
    "<!-- a remark -->\n",
])
def test_marker_that_does_not_work_is_found(names, text):
    """And the document is left alone (see test_broken_document_is_left)."""
    assert chapter(text, names)[1]


def test_broken_document_is_left(names, tmp_path):
    """A marker that cannot be filled does not empty what stood in it."""
    path = tmp_path / "made-up.md"
    path.write_text("a <!-- n: guestbook.epoll[1].rate -->7<!-- /n -->\n")
    wanted, wrong = fill.fill([path], MadeUp(names))
    assert wrong and not fill.outdated(wanted)


def test_text_without_markers_keeps_its_lines():
    """So that what is found in it can be named by its line."""
    text = ("1\n<!-- table: rates x -->\n\n| a |\n\n<!-- /table -->\n"
            "a <!-- n: x -->7 %<!-- /n --> 9 %\n<!-- check: a < b -->\nz\n")
    rest = markers.without(text)
    assert rest.count("\n") == text.count("\n")
    assert "7 %" not in rest and "9 %" in rest and "| a |" not in rest


# --------------------------------------------------------------------- tables

def part(name, **more):
    """A run as env.json tells of it."""
    return {"started": "2026-01-01T10:00:00Z", "preflight": [
                {"what": "load average", "value": "9.00", "ok": False},
                {"what": "cores", "value": "2", "ok": True}],
            "settings": {"experiments": [name, "redirect"], "full": True,
                         "points": [], "seconds": {name: 30.0, "redirect": 1.0},
                         "repeat": {name: 3, "redirect": 3}},
            "source": {"commit": "0123456789abcdef", "changed": False}, **more}


def test_machine_lists_every_part_of_a_joined_run(names):
    """Each with its commit, its grid and its warnings, not the first alone."""
    context = run.Context.__new__(run.Context)
    few = part("guestbook", experiments=["guestbook"])
    few["settings"] = {**few["settings"], "points": [20, 100, 1000]}
    changed = part("answer", preflight=[], source={"commit": "f" * 40,
                                                   "changed": True})
    context.environment = {**part("guestbook"), "joined": [few, changed],
        "machine": {"cores": 2, "cpu": "a CPU", "memory_mib": 1024,
                    "system": "a system", "kernel": "6",
                    "limits": {"descriptors": 20000, "somaxconn": 4096}},
        "cores": {"server": [0], "load": [1]}}
    assert blocks.machine(context)[-2:] == [
        "| guestbook | 2026-01-01T10:00:00Z | 0123456789ab | 30 | 3 | "
        "3 of 24 | load average: 9.00 |",
        "| answer, redirect | 2026-01-01T10:00:00Z | ffffffffffff with "
        "uncommitted changes | answer 30, redirect 1 | 3 | all | none |"]
    del context.environment["joined"]
    assert len(blocks.machine(context)) == 12


def test_table_shows_how_far_the_runs_lie_apart(names):
    """The slowest and the fastest one; what is noisy is marked, and the mark
    explained."""
    made = MadeUp(names)
    made.experiment = run.Context.experiment
    lines = blocks.costs(made, "guestbook", "epoll", "100")
    assert lines[-1].startswith("| 100 | 1,500 | 1,400–1,600 | – |")
    names.get("guestbook").get("epoll")[100].values["noisy"] = ["one run"]
    lines = blocks.costs(made, "guestbook", "epoll", "100")
    assert "| ~1,500 |" in lines[2] and lines[-1].startswith("`~`: noisy")


# ------------------------------------------------------------------- excerpts

SOURCE = """\
/* head */
#include <a.h>

enum { SMALL = 1, LARGE = 2 };

struct pair; /* first named */

struct pair { /* of numbers */
    int a, b;
};

static int add(int a, int b);

/* Adds.
 * Two lines. */
static int add(int a,
               int b)
{
    if (a == '{') /* } */
        return b;
    return a + b; /* the sum */
}

static const char *const words[] = {
    "{", "b",
};
static int counter;
"""


@pytest.mark.parametrize("name, first, last", [
    ("add", "/* Adds.", "}"),
    ("struct pair", "struct pair { /* of numbers */", "};"),
    ("words", "static const char *const words[] = {", "};"),
    ("counter", "static int counter;", "static int counter;"),
    ("LARGE", "enum { SMALL = 1, LARGE = 2 };",
     "enum { SMALL = 1, LARGE = 2 };"),
])
def test_definition_is_found_by_name(name, first, last):
    """With its comment, in full, and not its prototype."""
    lines = excerpt.definition(SOURCE, name)
    assert (lines[0], lines[-1]) == (first, last)
    if name == "add":
        assert len(lines) == 9


def test_part_of_a_definition():
    """From a line to a line, at the left margin."""
    lines = excerpt.definition(SOURCE, "add")
    assert excerpt.between(lines, "if (a", "return b") == [
        "if (a == '{') /* } */", "    return b;"]
    for begin, end in (("no such", None), ("return", None),
                       ("return a", "if (a")):
        with pytest.raises(excerpt.ExcerptError):
            excerpt.between(lines, begin, end)
    with pytest.raises(excerpt.ExcerptError):
        excerpt.definition(SOURCE, "subtract")


# ------------------------------------------------------------------- pictures

def test_curve_shows_what_was_lost():
    """A hollow point where requests failed, even when none was answered;
    the same figures always make the same file."""
    style = figures.styles.style("epoll")
    cells = {20: {"rate": 2000.0, "low": 1900, "high": 2100, "failed": False},
             5000: {"rate": 0.0, "low": 0, "high": 0, "failed": True}}
    many = {"epoll": cells, "poll": {20: {"rate": 1000.0}}}
    svg = pictures.curve("epoll", many, {20: 2050}, style, "clients", "pages/s")
    assert svg.count('fill="#fff" stroke=') == 1
    assert svg.count(f'fill="{style["light"]}" stroke=') == 1
    assert svg == pictures.curve("epoll", many, {20: 2050}, style, "clients",
                                 "pages/s")
