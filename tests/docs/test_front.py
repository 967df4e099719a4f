"""The first screen of the book, and the picture that it shares with the README."""

import re
from xml.etree import ElementTree

import pytest

from tests.docs.conftest import TOP
from tools.book import overview

# What a reader sees without scrolling, apart from the sidebar.
SEEN = """const inside = box => box.width > 0 && box.top >= 0 && box.bottom <= innerHeight;
const all = words => [...document.querySelectorAll(words)].filter(
  one => one.getClientRects().length);
const boxes = words => all(words).map(one => one.getBoundingClientRect());
return {pictures: boxes("article picture img").map(inside),
  doors: all(".doors a").map(one => one.textContent), whole: boxes(".doors li").map(inside),
  columns: new Set(boxes(".doors li").map(box => box.left)).size,
  later: boxes("article h2").map(box => box.top < innerHeight),
  narrow: all("article picture img").map(one => one.currentSrc.includes("narrow")),
  over: document.documentElement.scrollWidth - document.documentElement.clientWidth};"""


def show(browser, book, width, height):
    """Open the first page; return what SEEN says."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    browser.get((book / "index.html").as_uri())
    return browser.execute_script(SEEN)


def test_the_first_screen_has_a_picture_and_three_doors(browser, book):
    """On a laptop, and nothing else; on a telephone the doors stand below each other."""
    seen = show(browser, book, 1280, 800)
    assert seen["pictures"] == [True] and seen["narrow"] == [False]
    assert len(seen["doors"]) == 3 and seen["whole"] == [True] * 3 and seen["columns"] == 3
    assert seen["later"] and not any(seen["later"])
    seen = show(browser, book, 400, 900)
    assert seen["over"] <= 0 and seen["columns"] == 1 and seen["narrow"] == [True]


def test_the_readme_has_the_picture_of_the_book():
    """In both themes; `python3 -m tools.book.overview` draws it."""
    readme = (TOP / "README.md").read_text()
    for theme, text in overview.in_both().items():
        assert overview.README[theme].read_text() == text
        assert str(overview.README[theme].relative_to(TOP)) in readme
    assert f'alt="{overview.ALT}"' in readme


@pytest.mark.parametrize("layout", [overview.WIDE, overview.NARROW], ids=["wide", "narrow"])
def test_the_picture_shows_eight_clients_of_each(layout):
    """All are answered after what is said, and words do not leave the picture."""
    text = overview.draw(layout)
    drawn = ElementTree.fromstring(text)
    rows = {rect.get("y") for rect in drawn.iter("{http://www.w3.org/2000/svg}rect")
            if rect.get("height") == str(overview.HEIGHT)}
    assert len(rows) == 7 * 8
    for element in drawn.iter("{http://www.w3.org/2000/svg}text"):
        width = len(element.text) * (7.5 if element.get("font-weight") else 6.0)
        if element.get("text-anchor") != "end":
            assert float(element.get("x")) + width <= layout.width, element.text
    assert re.findall(r">(\d\d \w+)<", text) == [
        one.folder.replace("_", " ") for one in overview.ARCHITECTURES]


def test_a_bar_too_thin_to_see_joins_its_neighbour():
    bars = [(0, 1, "queue"), (1, 9, "run"), (9, 20, "redis"), (20, 21, "run"), (21, 30, "redis")]
    assert overview.joined(bars, 2) == [(0, 9, "run"), (9, 30, "redis")]
    assert overview.joined(bars, 0) == bars


def test_there_is_one_first_hour():
    """Lab 00 leads to the page of the book, which has all questions, and repeats none of it."""
    page = (TOP / "docs/tutorial/first_hour.md").read_text()
    lab = (TOP / "labs/00_first_hour/README.md").read_text()
    assert "(../../docs/tutorial/first_hour.md)" in lab
    numbers = [int(number) for number in re.findall(r"\*\*Question (\d+)\.", page)]
    assert numbers == list(range(1, 16)) and "**Question" not in lab
    assert not {line for line in lab.splitlines() if len(line) > 40} & set(page.splitlines())
