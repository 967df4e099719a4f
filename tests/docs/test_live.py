"""What moves in the book: replays of committed recordings, the simulator with one control."""

import json
import lzma
import re

import pytest

from tests.docs.conftest import TOP
from tools.kit import wait
from tools.kit.servers import ARCHITECTURES
from tools.model import model
from tools.model.simulator import page
from tools.observe.timeline import replay

REPLAYS = TOP / "docs/results/replays"
CONTROLS = re.findall(r'data-key="(\w+)"', (
    TOP / "tools/model/simulator/page.html").read_text(encoding="utf-8"))


def recorded(name):
    """Return the data of a server's replay."""
    return json.loads(lzma.decompress((REPLAYS / f"{name}.json.xz").read_bytes()))


@pytest.mark.parametrize("server", ARCHITECTURES, ids=lambda one: one.name)
def test_a_chapter_has_a_replay_of_its_server_and_the_simulator_with_a_control(server):
    text = (TOP / f"docs/tutorial/{server.folder}.md").read_text(encoding="utf-8")
    assert re.findall(r"^:::\{replay\} (\w+)$", text, re.MULTILINE) == [server.name]
    (shown, control), = re.findall(r"^:::\{simulator\} (\w+) (\w+)$", text, re.MULTILINE)
    assert shown == server.name and control in CONTROLS
    data = recorded(server.name)
    (one,), files = data["servers"], dict(data["files"])
    assert one["title"] == server.folder.replace("_", " ")
    assert [role for _, role, _ in one["rows"]].count("client") == 8
    assert f"{server.folder}/main.c" in files
    for _, _, bars in one["rows"]:      # each line that a hand points to is in the page
        for place, line, _ in (frame for bar in bars for frame in bar[4]):
            assert 0 < line <= len(data["files"][place][1])
    assert len(replay.page(data).encode()) < 600_000


WAY_BACK = """const a = document.querySelector('#home a');
              return a.getClientRects().length > 0 && a.href"""


def test_what_moves_leads_back_to_the_book(browser, book):
    """In a page of its own; in a frame of a chapter, the chapter is there."""
    chapter = book / "tutorial" / "07_epoll.html"
    for name, home in (("simulator.html", book / "index.html"),
                       ("simulator.html#server=epoll&only=clients", book / "index.html"),
                       ("replay-epoll.html", chapter)):
        browser.get("about:blank")      # another fragment alone would load nothing
        browser.get(book.as_uri() + "/" + name)
        assert browser.execute_script(WAY_BACK) == home.as_uri()
    browser.get(chapter.as_uri())
    for kind in ("replay", "simulator"):
        frame = browser.find_element("css selector", f"iframe.{kind}")
        browser.execute_script("arguments[0].scrollIntoView()", frame)
        browser.switch_to.frame(frame)
        assert wait.until(lambda: browser.execute_script(
            "return document.readyState === 'complete' && !!document.querySelector('#home')"), 60)
        assert browser.execute_script(WAY_BACK) is False
        browser.switch_to.default_content()
    assert "id=\"home\"" not in page.draw(model.load()) + replay.page(recorded("epoll"))
