"""A chapter on paper: A4, without what is there to click, and nothing cut off."""

import base64
import re

import pytest

from tests.docs.conftest import CHAPTERS
from tests.docs.test_access import resize
from tests.support import FULL

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
    """Whichever theme the reader has chosen for the screen."""
    paper.get((book / "tutorial" / f"{path.stem}.html").as_uri())
    for theme in ("auto", "dark"):
        paper.execute_script("document.body.dataset.theme = arguments[0]", theme)
        assert not paper.execute_script(WRONG)
    ink = "return getComputedStyle(document.querySelector('article p:not(.run-note)')).color"
    assert paper.execute_script(ink) == "rgb(0, 0, 0)"


def test_what_is_wrong_is_found(paper, book):
    paper.get((book / "tutorial/07_epoll.html").as_uri())
    paper.execute_script("""document.querySelector("pre").style.cssText =
        "white-space: pre; width: 200px; break-inside: auto";
        document.querySelector("iframe").style.setProperty("display", "block", "important");""")
    assert [one.split(":")[0] for one in paper.execute_script(WRONG)] == [
        "is printed", "is too wide", "may be cut by the edge of a page"]


def test_a_printed_chapter_is_a_few_sheets_of_a4(browser, book):
    browser.get((book / "tutorial/05_prethreaded.html").as_uri())
    pdf = base64.b64decode(browser.execute_cdp_cmd(
        "Page.printToPDF", {"preferCSSPageSize": True})["data"])
    sizes = re.findall(rb"/MediaBox \[0 0 (\d+)\S* (\d+)", pdf)
    assert 4 <= len(sizes) <= 10 and set(sizes) <= {(b"594", b"841"), (b"595", b"842")}
