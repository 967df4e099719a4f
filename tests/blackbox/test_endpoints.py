"""The small pages, and the pages that say what was wrong. What each says to each method stands
in tests/unit/test_endpoints.c and test_router.c."""

import re

import pytest

from tests.support.client import build
from tests.support.servers import FOLDERS

pytestmark = pytest.mark.protocol


def test_the_small_pages(server, server_name):
    for page, kind, body in [
            ("/answer", "text/plain", b"42"), ("/hello", "text/plain", b"Hello, World!"),
            ("/echo?value=x", "text/xml", b"<http_test><value>x</value></http_test>")]:
        response = server.request(page)
        assert (response.status, response.body) == (200, body)
        assert response.get("Content-Type").startswith(kind)
        assert response.get("Server") == f"zerohttpd/2.0 ({server_name})"


def test_redirect_leads_to_a_picture(server):
    response = server.request("/redirect")
    assert response.status == 302
    target = response.get("Location")
    assert target.startswith("/pictures/")
    picture = server.request(target)
    assert picture.status == 200
    assert picture.get("Content-Type").startswith("image/")
    assert picture.body


def test_home_page_explains_and_links(server):
    """Each of its links works. (Other hosts are none of this test's business.)"""
    response = server.request("/")
    assert response.status == 200
    assert response.get("Content-Type") == "text/html; charset=utf-8"
    assert all(name in response.text for name in FOLDERS)
    links = set(re.findall(r'(?:href|src)="(/[^"#]*)"', response.text))
    assert {"/answer", "/hello", "/redirect", "/guestbook"} <= links
    assert any(link.startswith("/echo?value=") for link in links)
    for link in links:
        assert server.request(link.replace("&amp;", "&")).status in (200, 302)


def test_pages_need_no_other_host(server):
    for page in ["/", "/guestbook", "/style.css"]:
        text = server.request(page).text
        assert not re.search(r"""(?:src=|url\(|@import)\s*["']?"""
                             r"(?:https?:)?//", text), page
        assert not re.search(r"<link[^>]+href=\"(?:https?:)?//", text), page


# Every error answer is a short page in plain words: what was wrong, what to do. (That it
# carries the security fields is checked with every answer.)

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


def test_error_page(server, site):
    """It names nothing of the machine."""
    for status, request in ERRORS.items():
        with server.connect() as connection:
            connection.send(request)
            response = connection.read_response()
        assert response.status == status
        assert response.get("Content-Type") == "text/html; charset=utf-8"
        assert response.text.startswith("<!DOCTYPE html>")
        [title] = re.findall(r"<title>(.*?)</title>", response.text)
        assert response.reason and response.reason in title
        sentences = re.findall(r"<p>(.*?)</p>", response.text, re.DOTALL)
        assert len(re.findall(r"[A-Za-z]+", " ".join(sentences))) >= 8, "it explains nothing"
        assert len(response.body) < 4096
        assert str(site.root).encode() not in response.body


def test_error_pages_do_not_repeat_what_was_asked(server):
    for path in ["/%3Cscript%3Ealert(1)%3C/script%3E", "/<script>alert(1)</script>",
                 "/\"onload=alert(1)"]:
        body = server.request(path).body
        assert b"<script" not in body and b"onload" not in body
