"""No published figure is lost on the way to the reader: published.toml has all of them again."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.conftest import DOCS
from tools.bench import experiments

WANTED = tomllib.loads(Path(__file__).with_name("published.toml").read_text("utf-8"))
PAGES = {name: DOCS / "reference" / f"e{place}_{name}.md"
         for place, name in enumerate(experiments.ORDER, 1)}


def published(name):
    """Return what the book draws of an experiment."""
    [found] = [one.published for one in experiments.all_experiments() if one.name == name]
    return found


def tables(given):
    """Return {name of a table: its rows as the book shows them}, each cell a text."""
    made = {one["name"]: one["rows"] for one in given.tables}
    xs = sorted({x for series in given.series.values() for x in series})
    if xs:
        made["rates"] = [[x, *(series.get(x, "~" if given.wide.get(system) == x else "-")
                               for system, series in given.series.items())] for x in xs]
    return {name: [[str(cell) for cell in row] for row in rows] for name, rows in made.items()}


def missing(name, given, page):
    """Yield what published.toml has of an experiment and the reader does not get. `given` is
    what the book draws, `page` the text of its page."""
    there = tables(given)
    for table, text in WANTED[name].items():
        if table == "said":
            continue
        if not re.search(rf"^:::\{{told\}} {name} {table}$|`published\.{name}\.{table}\.",
                         page, re.MULTILINE):
            yield f"the page has no table {table}"
        for line in text.strip().splitlines():
            if [cell.strip() for cell in line.split("|")] not in there.get(table, []):
                yield f"{table}: {line}"
    source = given.source.values()
    texts = " ".join([page, given.where, *given.notes, *source, *(
        " ".join(map(str, [one["caption"], *sum(one["rows"], [])])) for one in given.tables)])
    words = " ".join(texts.split())
    yield from (f"said: {text}" for text in WANTED[name]["said"] if text not in words)


@pytest.mark.parametrize("name", experiments.ORDER)
def test_all_figures_reach_the_reader(name):
    wrong = list(missing(name, published(name), PAGES[name].read_text("utf-8")))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ("answer", "redirect", "echo"))
def test_bars_have_the_rates_of_the_tables(name):
    """And a chart has the servers of one machine."""
    given = published(name)
    bars = [given.best, *(one["best"] for one in given.elsewhere)]
    rates = [{cell for row in one["rows"] for cell in row if isinstance(cell, int)}
             for one in given.tables]
    assert all(any(set(best.values()) <= some for some in rates) for best in bars)
