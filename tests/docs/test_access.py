"""The book for readers who see little or use no mouse: WCAG 2.1, level AA."""

import os
import re
import time

import pytest

from bench import venv
from conftest import TOP, resize

# A page of each kind, as axe-core needs a second or more for each.
KINDS = ("tutorial/07_epoll", "source/01_iterative-main-c", "simulator",
         "reference/experiments", "source/06-07", "search")
AXE = """const done = arguments[1];
axe.run({runOnly: arguments[0], resultTypes: ["violations"]}).then(
  found => done(found.violations.flatMap(one => one.nodes.map(
    node => `${one.id}: ${node.target}: ${node.failureSummary}`))));"""
THEMES = {"light": "#ffffff", "dark": "#14181e"}    # the ground of pictures
FOCUS = """const e = document.activeElement, style = getComputedStyle(e),
  box = e.getBoundingClientRect();
return {text: e.textContent.trim(), name: e.name || "",
  seen: box.width > 0 && box.left >= 0 && box.top >= 0,
  marked: e.matches(":focus-visible") && (style.outlineStyle !== "none" ||
    style.boxShadow !== "none")};"""


@pytest.fixture(scope="module")
def axe():
    """The text of axe-core."""
    folder = TOP / "build" / "axe-venv"
    reason = venv.make(str(folder), [TOP / "tests/docs/requirements.txt"],
                       "axe-core")
    if reason:
        pytest.skip(reason)
    return next(folder.rglob("axe.min.js")).read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing(browser, book, axe, theme):
    """Names, roles, languages, and the contrast of text: 4.5 to 1."""
    resize(browser, 400)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": theme}]})
    rules, kinds = ["wcag2a", "wcag2aa", "wcag21aa"], KINDS
    if theme == "dark":         # which changes nothing but colours
        rules = {"type": "rule", "values": ["color-contrast"]}
        kinds = KINDS[:3]
    if not os.environ.get("FULL"):   # make check: a chapter and a page of source
        kinds = kinds[:2]
    found = {}
    for kind in kinds:
        browser.get((book / f"{kind}.html").as_uri())
        browser.execute_script(axe)
        said = browser.execute_async_script(AXE, rules)
        if said:
            found[kind] = said[:5]
    assert not found


def contrast(one, other):
    """Return the contrast of two colours as WCAG 2 defines it: 1 to 21."""
    lights = []
    for colour in (one, other):
        parts = [int(colour[n:n + 2], 16) / 255 for n in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else
                            ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    return max(lights) / min(lights)


@pytest.mark.parametrize("theme", THEMES)
def test_words_in_pictures_can_be_read(book, theme):
    """axe-core does not look into pictures, whose words stand on white or
    black."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    pale, words = set(), 0
    for path in (book / "_images").glob(f"*-{theme}.svg"):
        for tag in re.findall(r"<text[^>]*>", path.read_text()):
            words += 1
            fill = re.search(r"""fill=["'](#\w{6})["']""", tag)
            if not fill or contrast(fill[1], THEMES[theme]) < 4.5:
                pale.add((path.name, tag))
    assert words > 500 and not pale


def test_the_book_without_a_mouse(browser, book):
    """Tab reaches the link that skips the menus, then the search; each stop
    can be seen; Enter searches, and opens what was found."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def wait_for(script, key=None):
        end = time.monotonic() + 20
        while True:
            found = browser.execute_script(script)
            if found and (key is None or found[key]):
                return found
            assert time.monotonic() < end, f"not in 20 s: {script}: {found}"
            time.sleep(0.1)

    def press(*keys):
        """Press keys; return where the focus is, once it can be seen."""
        ActionChains(browser).send_keys(*keys).perform()
        return wait_for(FOCUS, "seen")

    resize(browser, 1280)
    browser.get((book / "index.html").as_uri())
    assert press(Keys.TAB)["text"] == "Skip to content"
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    wait_for("return location.hash")
    browser.get((book / "index.html").as_uri())
    stops = []
    while not stops or stops[-1]["name"] != "q":
        assert len(stops) < 10, f"Tab does not reach the search: {stops}"
        stops.append(press(Keys.TAB))
    assert all(stop["marked"] for stop in stops), stops
    ActionChains(browser).send_keys("epoll", Keys.ENTER).perform()
    wait_for("return document.querySelector('ul.search li a')")
    # The skip link jumps to the results.
    press(Keys.TAB)
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    for _ in range(10):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        if browser.execute_script(
                "return document.activeElement.closest('ul.search')"):
            break
    assert wait_for(FOCUS, "seen")["marked"]
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    wait_for("return !location.pathname.endsWith('search.html') && "
             "document.body.textContent.includes('epoll')")
