"""The lectures: presentations by reveal.js, of 1280 by 720 pixels, which need no network."""

import re

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from tests.docs.conftest import DOCS, tokens
from tests.docs.test_access import wait_for
from tests.docs.test_commands import code_of
from tools.kit.servers import ARCHITECTURES

SLIDES = sorted((DOCS / "slides").glob("*.md"))
# Shows each slide, and returns those of which something would be cut off.
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
  () => done(cut), error => done([...cut, String(error)]));"""


@pytest.fixture(name="screen", scope="module")
def projector(browser):
    """The browser, with the size of a slide."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False})
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
    """test_commands.py sees whether the commands exist; here, that it knows them."""
    text, server = path.read_text(), path.stem[:2]
    for part in ("The idea", "The smallest program", "Who waits?", "Ask the class",
                 "What it costs", "The curve", "What to remember"):
        assert f"\n## {part}\n" in text
    assert text.count("\n:::{revealjs-notes}\n") >= 3
    demos = re.findall(r"^## Live: `(.+)`\n\n```sh\n((?:.+\n)+)```$", text, re.M)
    assert demos and len(demos) == text.count("## Live")
    known = [command for _, command in code_of(path)]
    for head, commands in demos:
        assert any(line.startswith(head) for line in commands.splitlines())
        assert head in known and set(map(str.strip, commands.splitlines())) <= set(known)
    assert demos[0][0] == f"make watch-{server}"
    assert [one.info for _, one in tokens(path) if one.type == "fence"].count("sh") == len(demos)


@pytest.mark.parametrize("name", [path.stem for path in SLIDES])
def test_slides_fit_and_ask_no_other_host(screen, book, name):
    screen.get_log("performance")
    show(screen, book, name)
    assert not screen.execute_async_script(CUT_OFF)
    asked = [entry["message"] for entry in screen.get_log("performance")
             if re.search(r'"url":"https?://', entry["message"])]
    assert not asked and not screen.get_log("browser")


def test_what_does_not_fit_is_found(screen, book):
    show(screen, book, "07_epoll")
    screen.execute_script("""document.querySelector("h2").style.height = "650px";
        document.querySelector("pre code").textContent = "x".repeat(500);""")
    cut = screen.execute_async_script(CUT_OFF)
    assert [one.split()[1] for one in cut] == ["SECTION", "CODE"]


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


def test_keys_of_a_presenter(screen, book):
    """o: overview; f: full screen; s: a window with the notes, and slides in it."""
    show(screen, book, "05_prethreaded")
    screen.execute_script("""const open = window.open;
        window.open = (...how) => window.popup = open.apply(window, how);
        Element.prototype.requestFullscreen = () => window.full = true;""")
    for key, seen in (("o", "Reveal.isOverview()"), ("o", "!Reveal.isOverview()"),
                      ("f", "window.full"), ("s", "window.popup")):
        ActionChains(screen).send_keys(key).perform()
        wait_for(screen, f"return {seen}")
    notes = wait_for(screen, """const from = popup.document;
        return from.querySelectorAll("iframe").length === 2 &&
            from.querySelector(".speaker-controls-notes .value").textContent""")
    assert "make predictions" in notes
    screen.execute_script("popup.close()")
