"""Every error answer is a short page in plain words: what was wrong, what to
do. (That it carries the security fields is checked with every answer.)"""

import html.parser
import re

import pytest

from tests.support.client import build

pytestmark = pytest.mark.protocol

ERRORS = {
    400: b"nonsense\r\n\r\n",
    404: build("/nothing"),
    405: build("/answer", "DELETE"),
    413: build("/guestbook", "POST", [("Content-Length", "999999")]),
    414: build("/" + "x" * 9000),
    415: build("/guestbook", "POST", [("Content-Type", "text/plain")],
               b"hello"),
    416: build("/robots.txt", fields=[("Range", "bytes=999999-")]),
    417: build("/answer", fields=[("Expect", "miracles")]),
    431: build("/answer", fields=[("X", "y" * 20_000)]),
    501: build("/answer", "BREW"),
    505: build("/answer", version="HTTP/2.0"),
}


class Outline(html.parser.HTMLParser):
    """The tags of a page, and its text by innermost tag."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], set(), {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for name, _ in attributes:
            assert not name.startswith("on") and name != "style", name
        if tag not in ("meta", "link", "input", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in self.open, f"</{tag}> closes nothing"
        while self.open.pop() != tag:
            pass

    def handle_data(self, data):
        tag = self.open[-1] if self.open else ""
        self.text[tag] = self.text.get(tag, "") + data


def test_error_page(server, site):
    """It names nothing of the machine."""
    for status, request in ERRORS.items():
        with server.connect() as connection:
            connection.send(request)
            response = connection.read_response()
        assert response.status == status
        assert response.get("Content-Type") == "text/html; charset=utf-8"
        assert response.text.startswith("<!DOCTYPE html>")
        page = Outline(response.text)
        assert {"html", "title", "h1", "p"} <= page.tags
        assert "script" not in page.tags
        assert response.reason and response.reason in page.text["title"]
        words = re.findall(r"[A-Za-z]+", page.text["p"])
        assert len(words) >= 8, "no sentence that explains"
        assert len(response.body) < 4096
        assert str(site.root).encode() not in response.body


def test_head_of_an_error(server):
    with server.connect() as connection:
        connection.send(ERRORS[404].replace(b"GET", b"HEAD") + build("/answer"))
        assert connection.read_response("HEAD").status == 404
        assert connection.read_response().body == b"42"


def test_error_pages_do_not_repeat_what_was_asked(server):
    for path in ["/%3Cscript%3Ealert(1)%3C/script%3E", "/<script>alert(1)</script>",
                 "/\"onload=alert(1)"]:
        body = server.request(path).body
        assert b"<script" not in body and b"onload" not in body
