"""The book in Chromium, without a network: on a laptop, on a telephone and on paper, for readers
who see little (WCAG 2.1, level AA), and for those who use no mouse."""

import base64
import importlib.util
import re
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.docs.conftest import CHAPTERS
from tests.support import FULL

# A page of each kind for axe-core, which takes seconds. In make check the first three, and of
# the pages those that are written in docs/, and one of each kind of the others.
# Frames cannot be looked into from a file; what is in them is a kind of its own.
KINDS = ["index", "tutorial/07_epoll", "source/01_iterative-main-c", "replay-epoll", "simulator",
         "reference/experiments", "source/06-07", "search"]
MADE = ("source/", "slides/", "replay-")
AXE = """const done = arguments[1];
axe.run({runOnly: arguments[0], preload: false, iframes: false}).then(
  found => done(found.violations.flatMap(one => one.nodes.map(
    node => `${one.id}: ${node.target}: ${node.failureSummary}`))));"""
RULES = {   # of a dark page only the colours differ: 4.5 to 1 for text
    "light": ["wcag2a", "wcag2aa", "wcag21aa"],
    "dark": {"type": "rule", "values": ["color-contrast"]}}
THEMES = {"light": "#ffffff", "dark": "#14181e"}    # the ground of pictures
FOCUS = """const e = document.activeElement, style = getComputedStyle(e),
  box = e.getBoundingClientRect();
return box.width > 0 && box.left >= 0 && box.top >= 0 && {
  text: e.textContent.trim(), name: e.name || "",
  marked: e.matches(":focus-visible") && (style.outlineStyle !== "none" ||
    style.boxShadow !== "none")};"""


def resize(browser, width, height=900):
    """Set the size of the window, in pixels."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def wait_for(browser, script):
    """Return what a script says once that is true."""
    return WebDriverWait(browser, 20).until(
        lambda _: browser.execute_script(script), script)


def axe_finds(browser):
    """Return what axe-core finds on the page that is open, in both themes."""
    found = importlib.util.find_spec("axe_playwright_python")
    browser.execute_script(Path(found.origin).with_name("axe.min.js").read_text())
    said = []
    for theme in ("dark", "light"):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": theme}]})
        said += browser.execute_async_script(AXE, RULES[theme])
    return said[:5]


# Tables that do not fit into their page; at 400 pixels, a wrapper scrolls them, and a page of it
# can be reached by keyboard. And those without a name of their own: the note below them, else
# the heading or the sentence above them.
WIDE = """return [...document.querySelectorAll("article table")].filter(e => {
  const box = e.closest(".table-wrapper");
  return !box || arguments[0] > 400 && box.scrollWidth > box.clientWidth + 1;
}).map(e => e.textContent.trim().slice(0, 40));"""
NAMES = """return [...document.querySelectorAll("article .table-wrapper")].map(e => {
  const caption = e.querySelector("caption");
  if (caption) return caption.textContent;
  const before = e.previousElementSibling || e.parentElement.previousElementSibling,
    after = e.nextElementSibling, note = one => one && one.matches(".run-note");
  return note(after) ? after.textContent : before && !note(before) &&
    before.matches("p, ul, h1, h2, h3, div:not(.table-wrapper)") ? before.textContent : ""; });"""


def test_pages_in_a_browser(browser, book):
    """No page scrolls sideways at 400 pixels, asks another host or logs an
    error, and axe-core finds nothing. Its tables fit, and each has a name."""
    wrong = []
    kinds = KINDS if FULL else KINDS[:3]
    resize(browser, 400)
    for page in sorted(book.rglob("*.html")):
        name = str(page.relative_to(book).with_suffix(""))
        if name.startswith(MADE) and name not in KINDS and not FULL:
            continue
        browser.get(page.as_uri())
        over = browser.execute_script(
            "const e = document.documentElement;"
            "return e.scrollWidth - e.clientWidth")
        bad = axe_finds(browser) if name in kinds else []
        tables = browser.execute_script(NAMES)
        # The start page has a menu in the form of a table.
        if name != "index" and ("" in tables or len(set(tables)) < len(tables)):
            bad.append(f"tables without a name of their own: {tables}")
        for width in (1280, 400) if tables else ():
            resize(browser, width)
            bad += [f"{width}: {one}" for one in browser.execute_script(WIDE, width)]
        asked = {url for entry in browser.get_log("performance")
                 for url in re.findall(r'"url":"(https?://[^"]+)',
                                       entry["message"])}
        said = [entry["message"] for entry in browser.get_log("browser")]
        if over > 0 or asked or said or bad:
            wrong.append((name, over, asked, said[:1], bad))
    assert not wrong


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
    pale, words = set(), 0
    for path in (book / "_images").glob(f"*-{theme}.svg"):
        for tag in re.findall(r"<text[^>]*>", path.read_text()):
            words += 1
            fill = re.search(r"""fill=["'](#\w{6})["']""", tag)
            if not fill or contrast(fill[1], THEMES[theme]) < 4.5:
                pale.add((path.name, tag))
    assert words and not pale


def test_the_book_without_a_mouse(browser, book):
    """Tab reaches the link that skips the menus, then the search; each stop
    can be seen; Enter searches, and opens what was found."""
    def press(*keys):
        """Press keys; return where the focus is, once it can be seen."""
        ActionChains(browser).send_keys(*keys).perform()
        return wait_for(browser, FOCUS)

    resize(browser, 1280)
    browser.get((book / "index.html").as_uri())
    assert press(Keys.TAB)["text"] == "Skip to content"
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    wait_for(browser, "return location.hash")
    browser.get((book / "index.html").as_uri())
    stops = []
    while not stops or stops[-1]["name"] != "q":
        assert len(stops) < 10, f"Tab does not reach the search: {stops}"
        stops.append(press(Keys.TAB))
    assert all(stop["marked"] for stop in stops), stops
    ActionChains(browser).send_keys("epoll", Keys.ENTER).perform()
    wait_for(browser, "return document.querySelector('ul.search li a')")
    # The skip link jumps to the results.
    press(Keys.TAB)
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    for _ in range(10):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        if browser.execute_script(
                "return document.activeElement.closest('ul.search')"):
            break
    assert wait_for(browser, FOCUS)["marked"]
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    wait_for(browser, "return !location.pathname.endsWith('search.html') && "
             "document.body.textContent.includes('epoll')")


# ------------------------------------------------------------- the first screen

# What a reader sees without scrolling, apart from the sidebar.
SEEN = """const inside = box => box.width > 0 && box.top >= 0 && box.bottom <= innerHeight;
const all = words => [...document.querySelectorAll(words)].filter(
  one => one.getClientRects().length);
const boxes = words => all(words).map(one => one.getBoundingClientRect());
return {pictures: boxes("article picture img").map(inside),
  whole: boxes(".doors li").map(inside),
  columns: new Set(boxes(".doors li").map(box => box.left)).size,
  later: boxes("article h2").map(box => box.top < innerHeight),
  narrow: all("article picture img").map(one => one.currentSrc.includes("narrow"))};"""


def test_the_first_screen_has_a_picture_and_three_doors(browser, book):
    """On a laptop, and nothing else; on a telephone the doors stand below each other."""
    resize(browser, 1280, 800)
    browser.get((book / "index.html").as_uri())
    seen = browser.execute_script(SEEN)
    assert seen["pictures"] == [True] and seen["narrow"] == [False]
    assert seen["whole"] == [True] * 3 and seen["columns"] == 3
    assert seen["later"] and not any(seen["later"])
    resize(browser, 400)
    browser.get((book / "index.html").as_uri())
    seen = browser.execute_script(SEEN)
    assert seen["columns"] == 1 and seen["narrow"] == [True]


# --------------------------------------------------------------------- on paper

A4 = 664                # pixels between the margins: 210 mm less 34, 96 to the inch
# Returns what is wrong with a page as it is printed.
WRONG = """const all = (what) => [...document.querySelectorAll(what)], wrong = [];
const seen = (one) => one.getClientRects().length > 0;
for (const one of all(".sidebar-drawer, .toc-drawer, .skip-to-content, footer, iframe, .only-dark"))
  if (seen(one)) wrong.push("is printed: " + one.className + one.tagName);
for (const one of all("article :is(img, pre, table)").filter(seen)) {
  if (one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth + 1)
    wrong.push("is too wide: " + one.outerHTML.slice(0, 80));
  if (one.tagName !== "TABLE" && getComputedStyle(one).breakInside !== "avoid")
    wrong.push("may be cut by the edge of a page: " + one.outerHTML.slice(0, 80));
}
if (all(".on-paper").filter(seen).length !== all("iframe").length)
  wrong.push("a frame without a sentence in its place");
return wrong;"""


@pytest.fixture(name="paper")
def printed(browser):
    """The browser, as it lays out a page to print it."""
    resize(browser, A4)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    yield browser
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.mark.parametrize("path", CHAPTERS if FULL else CHAPTERS[-1:],
                         ids=lambda path: path.stem)
def test_a_chapter_on_paper(paper, book, path):
    """A4, without what is there to click, and nothing cut off, whichever theme the reader has
    chosen for the screen."""
    paper.get((book / "tutorial" / f"{path.stem}.html").as_uri())
    for theme in ("auto", "dark"):
        paper.execute_script("document.body.dataset.theme = arguments[0]", theme)
        assert not paper.execute_script(WRONG)
    ink = "return getComputedStyle(document.querySelector('article p:not(.run-note)')).color"
    assert paper.execute_script(ink) == "rgb(0, 0, 0)"


def test_a_printed_chapter_has_sheets_of_a4(browser, book):
    browser.get((book / "tutorial/05_prethreaded.html").as_uri())
    pdf = base64.b64decode(browser.execute_cdp_cmd(
        "Page.printToPDF", {"preferCSSPageSize": True})["data"])
    sizes = re.findall(rb"/MediaBox \[0 0 (\d+)\S* (\d+)", pdf)
    assert sizes and set(sizes) <= {(b"594", b"841"), (b"595", b"842")}
