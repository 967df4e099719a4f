"""The lectures: presentations by reveal.js, of 1280 by 720 pixels, which need no network."""

import re

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from tests.docs.conftest import DOCS
from tests.docs.test_access import resize, wait_for
from tools.kit.servers import ARCHITECTURES

SLIDES = sorted((DOCS / "slides").glob("*.md"))
# Shows each slide; returns how many there are, and those of which something would be cut off.
CUT_OFF = """const done = arguments[arguments.length - 1], cut = [];
for (const slide of Reveal.getSlides()) {
  const {h, v} = Reveal.getIndices(slide);
  Reveal.slide(h, v, 99);
  for (const box of [slide, ...slide.querySelectorAll("pre, code, table")])
    if (box.scrollWidth > (box === slide ? 1280 : box.clientWidth || 1280) ||
        box.scrollHeight > (box === slide ? 720 : box.clientHeight || 720))
      cut.push(`${h}: ${box.tagName} ${box.scrollWidth} x ${box.scrollHeight}`);
}
Promise.all([...document.images].map(one => one.decode())).then(
  () => done({shown: Reveal.getSlides().length, cut}),
  error => done({shown: 0, cut: [...cut, String(error)]}));"""


@pytest.fixture(name="screen", scope="module")
def projector(browser):
    """The browser, with the size of a slide."""
    resize(browser, 1280, 720)
    return browser


def show(screen, book, name):
    """Open a presentation."""
    screen.get((book / "slides" / f"{name}.html").as_uri())
    wait_for(screen, "return Reveal.isReady()")


def test_every_server_has_a_lecture():
    names = [one.folder for one in ARCHITECTURES]
    assert [path.stem for path in SLIDES] == [*names, "index"]
    overview = (DOCS / "slides/index.md").read_text()
    assert re.findall(r"\]\((\d\w+)\.md\)", overview)[:len(names)] == names


@pytest.mark.parametrize("path", SLIDES[:-1], ids=lambda path: path.stem)
def test_a_lecture_has_its_parts_and_a_live_demo(path):
    text = path.read_text()
    for part in ("The idea", "The smallest program", "Who waits?", "Ask the class",
                 "What it costs", "The curve", "What to remember",
                 f"Live: `make watch-{path.stem[:2]}`"):
        assert f"\n## {part}\n" in text
    assert "\n:::{revealjs-notes}\n" in text


@pytest.mark.parametrize("name", [path.stem for path in SLIDES])
def test_slides_fit_and_ask_no_other_host(screen, book, name):
    for log in ("performance", "browser"):      # of the page before
        screen.get_log(log)
    show(screen, book, name)
    found = screen.execute_async_script(CUT_OFF)
    assert found["shown"] > 1 and not found["cut"]
    asked = [entry["message"] for entry in screen.get_log("performance")
             if re.search(r'"url":"https?://', entry["message"])]
    assert not asked and not screen.get_log("browser")


def test_a_lecture_can_be_printed(screen, book):
    """With ?print-pdf, each slide is a sheet; what is on it stays within."""
    screen.get((book / "slides/05_prethreaded.html").as_uri() + "?print-pdf")
    outside = """const sheets = [...document.querySelectorAll(".pdf-page")];
        return sheets.length > 10 && [sheets.flatMap((sheet) => {
          const frame = sheet.getBoundingClientRect();
          return [...sheet.querySelectorAll("h1, h2, img, pre, table")].filter((one) => {
            const box = one.getBoundingClientRect();
            return box.width && (box.left < frame.left + 10 || box.right > frame.right - 10 ||
              box.top < frame.top || box.bottom > frame.bottom);
          }).map((one) => one.outerHTML.slice(0, 60));
        })]"""
    assert wait_for(screen, outside) == [[]]


def test_a_presenter_sees_the_notes(screen, book):
    """s opens a window with the notes, and slides in it."""
    show(screen, book, "05_prethreaded")
    screen.execute_script("""const open = window.open;
        window.open = (...how) => window.popup = open.apply(window, how);""")
    ActionChains(screen).send_keys("s").perform()
    notes = wait_for(screen, """const from = window.popup?.document;
        return from?.querySelectorAll("iframe").length === 2 &&
            from.querySelector(".speaker-controls-notes .value").textContent""")
    assert "make predictions" in notes
    screen.execute_script("popup.close()")
