"""The small pages: what each says to each method."""

import re
import xml.etree.ElementTree

import pytest

from tests.support.servers import FOLDERS

pytestmark = pytest.mark.protocol

PAGES = ["/answer", "/hello", "/redirect", "/echo", "/guestbook",
         "/", "/style.css"]


def listed(value):
    """The elements of a comma-separated list."""
    return {element.strip() for element in value.split(",")}


def test_answer(server):
    response = server.request("/answer")
    assert response.status == 200
    assert response.get("Content-Type") == "text/plain"
    assert response.get("Content-Length") == "2"
    assert response.body == b"42"


def test_hello(server):
    response = server.request("/hello")
    assert response.status == 200
    assert response.get("Content-Type").startswith("text/plain")
    assert response.body == b"Hello, World!"


def test_redirect_leads_to_a_picture(server):
    response = server.request("/redirect")
    assert response.status == 302
    target = response.get("Location")
    assert target.startswith("/pictures/")
    picture = server.request(target)
    assert picture.status == 200
    assert picture.get("Content-Type").startswith("image/")
    assert picture.body


def test_redirect_draws_lots(server, site):
    pictures = {f"/pictures/{p.name}"
                for p in (site.public / "pictures").iterdir()}
    assert len(pictures) > 1
    with server.connect() as connection:
        drawn = {connection.request("/redirect").get("Location")
                 for _ in range(60)}
    assert drawn <= pictures
    assert len(drawn) > 1, "sixty times the same picture"


def echo(server, query):
    response = server.request("/echo" + query)
    assert response.status == 200
    assert response.get("Content-Type").startswith("text/xml")
    return response.text


def test_echo(server):
    assert echo(server, "?value=x") == \
        "<http_test><value>x</value></http_test>"


def test_echo_decodes_and_escapes(server):
    for query in "", "?", "?other=1&valu=2":
        assert echo(server, query) == "<http_test><error>no value specified</error></http_test>"
    for query, value in [("?value=", ""), ("?a=1&value=two&value=three", "two"),
                         ("?value=a%20b+c", "a b c"), ("?value=%3Cb%3E%26%22'", "<b>&\"'"),
                         ("?v%61lue=%C3%BC", "\u00fc")]:
        document = xml.etree.ElementTree.fromstring(echo(server, query))
        assert (document.find("value").text or "") == value, query
    assert server.request("/echo?value=%zz").status == 400


def test_home_page_explains_and_links(server):
    response = server.request("/")
    assert response.status == 200
    assert response.get("Content-Type") == "text/html; charset=utf-8"
    links = set(re.findall(r'href="([^"]+)"', response.text))
    for page in ["/answer", "/hello", "/redirect", "/guestbook"]:
        assert page in links
    assert any(link.startswith("/echo?value=") for link in links)
    assert all(name in response.text for name in FOLDERS)


def test_every_link_of_the_home_page_works(server):
    """Ours, that is: other hosts are none of this test's business."""
    text = server.request("/").text
    links = set(re.findall(r'(?:href|src)="(/[^"#]*)"', text))
    assert links
    for link in links:
        assert server.request(link.replace("&amp;", "&")).status in (200, 302)


def test_pages_need_no_other_host(server):
    for page in ["/", "/guestbook", "/style.css"]:
        text = server.request(page).text
        assert not re.search(r"""(?:src=|url\(|@import)\s*["']?"""
                             r"(?:https?:)?//", text), page
        assert not re.search(r"<link[^>]+href=\"(?:https?:)?//", text), page


def test_server_field_names_the_architecture(server, server_name):
    assert server.request("/answer").get("Server") == \
        f"zerohttpd/2.0 ({server_name})"


def test_the_path_must_match_whole(server):
    for path in ["/answers", "/answer/", "/ANSWER", "/guestbook/"]:
        assert server.request(path).status == 404, path
    for path in ["/answer?how=now", "/%61nswer", "/a%6eswer?x=%zz"]:
        assert server.request(path).body == b"42", path


def test_head_has_the_fields_of_get(server):
    """RFC 9110, 9.3.2; values that change from one answer to the next (the
    hour, the lot drawn, the visitors counted) are compared by name only."""
    changing = {"/redirect": "Location", "/guestbook": "Content-Length"}
    for page in PAGES:
        got, head = server.request(page), server.request(page, "HEAD")
        assert head.status == got.status, page
        assert [n for n, _ in head.fields] == [n for n, _ in got.fields], page
        for (name, value), (_, other) in zip(head.fields, got.fields):
            assert name in ("Date", changing.get(page)) or value == other, (page, name)


def test_methods(server):
    """Each with each page: tests/unit/test_router.c."""
    for page in "/answer", "/guestbook", "/style.css", "*":
        response = server.request(page, "OPTIONS")
        assert response.status == 204
        assert listed(response.get("Allow")) == {"GET", "HEAD", "OPTIONS"} | (
            {"POST"} if page in ("/guestbook", "*") else set())
    for page, method in [("/answer", "POST"), ("/guestbook", "PUT"), ("/style.css", "DELETE"),
                         ("/", "PATCH"), ("/echo", "TRACE")]:
        response = server.request(page, method)
        assert response.status == 405, method
        assert {"GET", "HEAD", "OPTIONS"} <= listed(response.get("Allow")) - {method}
    for target, method in [("/answer", "BREW"), ("/answer", "get"), ("test:80", "CONNECT")]:
        assert server.request(target, method).status == 501, method


def test_the_body_of_a_refused_post_is_not_the_next_request(server):
    with server.connect() as connection:
        first = connection.request("/answer", "POST",
                                   body=b"GET /hello HTTP/1.1\r\n\r\n")
        assert first.status == 405
        if first.closes:
            connection.expect_closed()
        else:
            assert connection.request("/answer").body == b"42"
