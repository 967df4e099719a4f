"""What moves in the book: replays of committed recordings, the simulator with one control."""

import json
import lzma
import re

import pytest

from tests.docs.conftest import TOP
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


def test_the_replays_of_all_seven_stay_small():
    assert sum(len(replay.page(recorded(one.name)).encode()) for one in ARCHITECTURES) < 2_000_000


def test_the_simulator_of_the_book_leads_back(browser, book):
    """In a page of its own; in a frame of a chapter, the chapter is there."""
    def shown(query):
        browser.get("about:blank")      # another fragment alone would load nothing
        browser.get((book / "simulator.html").as_uri() + query)
        return browser.execute_script(
            "const a = document.querySelector('#home a');"
            "return a.getClientRects().length > 0 && a.href")

    assert shown("") == (book / "index.html").as_uri()
    assert shown("#server=epoll&only=clients") is False
    assert "id=\"home\"" not in page.draw(model.load())
