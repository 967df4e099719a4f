"""The guestbook: a template, three Redis commands, and what guests may do."""

import threading

import pytest

from tests.support.client import build, chunked
from tests.support.guest import URLENCODED, Guest, form

pytestmark = pytest.mark.shared

GHOST = "\U0001f47b"    # beyond the BMP: four bytes of UTF-8, one character


@pytest.fixture(params=["one by one", "--pipeline"])
def guest(request, server_name, shared_server, launch, redis, site):
    """A guest of an empty guestbook, of either kind of server."""
    redis("FLUSHALL")
    options = [] if request.param == "one by one" else [request.param]
    return Guest(launch(*options), site.template)


@pytest.fixture
def visitor(server, redis, site):
    """A guest of an empty guestbook, of the server that tests share."""
    redis("FLUSHALL")
    return Guest(server, site.template)


# The rules that must hold for --pipeline too

def test_sign_and_read(guest, redis, server_name):
    page = guest.read()
    assert page.remarks == []
    assert page.visitors == 1
    assert page.message == ""
    assert (page.name, page.text) == ("", "")
    assert page.server == server_name

    response = guest.sign("Ada", "Hello, World!")
    assert response.status == 303
    assert response.get("Location") == "/guestbook?thanks"
    assert "hank" in response.text
    assert redis("LRANGE", "guestbook_remarks", "0", "-1") == \
        [b"Hello, World! - Ada"]

    page = guest.read("?thanks")
    assert page.remarks == ["Hello, World! - Ada"]
    assert page.kind == "ok" and "hank" in page.message
    assert page.visitors == 2
    assert redis("GET", "visitor_count") == b"2"


def test_each_visit_counts(guest):
    assert [guest.read().visitors for _ in range(5)] == [1, 2, 3, 4, 5]


def test_the_newest_hundred_newest_first(guest, redis):
    redis("RPUSH", "guestbook_remarks",
          *(f"remark {i} - guest" for i in range(150)))
    assert guest.read().remarks == \
        [f"remark {i} - guest" for i in range(149, 49, -1)]


def test_what_is_wrong_is_said_and_what_was_typed_is_kept(guest, redis):
    page = guest.refused("", "a remark")
    assert "name" in page.message
    assert (page.name, page.text) == ("", "a remark")
    page = guest.refused("Ada", "")
    assert "remark" in page.message
    assert (page.name, page.text) == ("Ada", "")
    assert redis("EXISTS", "guestbook_remarks") == 0


def test_wrong_type_in_redis(guest, redis):
    """Somebody else uses the key. No page, but an answer, and it recovers."""
    redis("SET", "guestbook_remarks", "a string")
    for _ in range(3):
        assert guest.server.request("/guestbook").status in (500, 502, 503)
        assert guest.sign("Ada", "x").status in (500, 502, 503)
    redis("DEL", "guestbook_remarks")
    redis("SET", "visitor_count", "many")
    for _ in range(3):
        assert guest.server.request("/guestbook").status in (500, 502, 503)
    redis("FLUSHALL")
    assert guest.read().visitors >= 1


def test_many_remarks_at_once(guest, redis):
    def sign(number):
        for i in range(5):
            assert guest.sign(f"guest {number}",
                              f"remark {i}").status == 303

    guests = [threading.Thread(target=sign, args=(n,)) for n in range(8)]
    for thread in guests:
        thread.start()
    for thread in guests:
        thread.join()
    expected = sorted(f"remark {i} - guest {n}"
                      for n in range(8) for i in range(5))
    assert sorted(guest.read().remarks) == expected


def test_pipelined_pages_count_each(guest):
    with guest.server.connect() as connection:
        connection.send(build("/guestbook") * 20)
        for _ in range(20):
            assert connection.read_response().status == 200
    assert guest.read().visitors == 21


# The page

def test_head_counts_as_a_visit(visitor):
    visitor.read()
    response = visitor.server.request("/guestbook", "HEAD")
    assert response.status == 200
    assert response.body == b""
    assert visitor.read().visitors == 3


def test_the_page_is_not_for_caches(visitor):
    assert "no-store" in \
        visitor.server.request("/guestbook").get("Cache-Control")


@pytest.mark.parametrize("query", ["?thank", "?thanks=no", "?thanks&x",
                                   "?THANKS", "?x=thanks"])
def test_thanks_only_where_they_are_due(visitor, query):
    assert visitor.read(query).message == ""


def test_the_page_needs_no_inline_script_or_style(visitor):
    visitor.sign("Ada", "hello")
    text = visitor.server.request("/guestbook").text.lower()
    assert "<script>" not in text
    assert "<style" not in text
    assert " style=" not in text
    assert " onclick=" not in text


# What guests write

@pytest.mark.parametrize("remark", [
    "<b>bold</b>", "<script>alert('x')</script>", "&amp; & &lt;",
    "\"double\" 'single'", "</li></ul></textarea><h1>", "<!-- -->",
    "a & b < c > d \" e ' f", "]]>", "&#60;b&#62;"])
def test_markup_is_text(visitor, remark):
    assert visitor.sign(remark, remark).status == 303
    page = visitor.read()
    assert page.remarks == [f"{remark} - {remark}"]
    for character in "<>\"'":
        assert character not in page.raw_remarks.replace(
            "<li>", "").replace("</li>", "")


@pytest.mark.parametrize("remark", [
    "$VISITOR_COUNT$", "$GUEST_REMARKS$", "$MESSAGE$$SERVER$",
    "$$VISITOR_COUNT$$", "$VISITOR_$SERVER$COUNT$", "$", "$$", "cost: 5$"])
def test_text_that_looks_like_a_placeholder_stays_text(visitor, remark):
    assert visitor.sign(remark, remark).status == 303
    page = visitor.read()
    assert page.remarks == [f"{remark} - {remark}"]
    assert page.visitors == 1
    kept = visitor.refused(remark, remark + "x" * 1000)
    assert (kept.name, kept.text) == (remark, remark + "x" * 1000)


@pytest.mark.parametrize("text", [
    "Gr\u00fc\u00dfe", "\u4f60\u597d", "\u0645\u0631\u062d\u0628\u0627",
    GHOST * 3, "e\u0301", "a+b=c&d%25", "100%", "\u00a0x\u00a0", "x\ufffdx",
    "\U0010ffff", "two  spaces"])
def test_any_character(visitor, redis, text):
    assert visitor.sign(text, text).status == 303
    assert visitor.read().remarks == [f"{text} - {text}"]
    assert redis("LINDEX", "guestbook_remarks", "0").decode() == \
        f"{text} - {text}"


def test_lines_of_a_remark(visitor):
    assert visitor.sign("Ada", "one\r\ntwo\r\n\r\nthree").status == 303
    [remark] = visitor.read().remarks
    assert remark == "one\ntwo\n\nthree - Ada"


def test_a_line_end_counts_once(visitor, redis):
    """A form sends CR LF where its guest has typed one line end."""
    typed = "\n".join(10 * ["x" * 99])       # 999 characters
    assert visitor.sign("Ada", typed.replace("\n", "\r\n")).status == 303
    assert redis("LINDEX", "guestbook_remarks", "0").decode() == f"{typed} - Ada"
    page = visitor.refused("Ada", f"{typed}\n{'x'}".replace("\n", "\r\n"))
    assert "1,000" in page.message
    assert page.text == f"{typed}\nx"


@pytest.mark.parametrize("character", ["x", "\u00fc", "\u4f60", GHOST, "<"])
def test_lengths_are_counted_in_characters(visitor, redis, character):
    assert visitor.sign(character * 64, "x").status == 303
    assert visitor.sign("x", character * 1000).status == 303
    stored = redis("LLEN", "guestbook_remarks")
    page = visitor.refused(character * 65, "x")
    assert "64" in page.message
    assert (page.name, page.text) == (character * 65, "x")
    page = visitor.refused("x", character * 1001)
    assert "1,000" in page.message
    assert (page.name, page.text) == ("x", character * 1001)
    assert redis("LLEN", "guestbook_remarks") == stored == 2


@pytest.mark.parametrize("name, remark", [
    ("", ""), ("   ", "remark"), ("\t\r\n", "remark"), ("name", "  \r\n ")])
def test_blank_is_nothing(visitor, redis, name, remark):
    visitor.refused(name, remark)
    assert redis("EXISTS", "guestbook_remarks") == 0


@pytest.mark.parametrize("body", [
    b"", b"&", b"=", b"guest-name=Ada", b"guest-remarks=hello",
    b"guest-name&guest-remarks", b"name=Ada&remarks=hello",
    b"guest-name=Ada&guest-remark=hello",
    b"GUEST-NAME=Ada&GUEST-REMARKS=hello"])
def test_missing_fields(visitor, redis, body):
    assert visitor.post(body).status == 400
    assert redis("EXISTS", "guestbook_remarks") == 0


@pytest.mark.parametrize("text", [
    b"\xff", b"\x80", b"\xc3", b"\xc3(", b"a\xe2\x82", b"\xf0\x9f\x91",
    b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe"],
    ids=lambda b: b.hex())
def test_invalid_utf8(visitor, redis, text):
    """Also overlong forms, halves of surrogate pairs, and what is beyond
    U+10FFFF."""
    for name, remark in [(text, b"x"), (b"x", text), (b"x", b"x" + text)]:
        assert visitor.sign(name, remark).status == 400
    assert redis("EXISTS", "guestbook_remarks") == 0


def test_the_page_that_refuses_invalid_utf8_is_utf8(visitor):
    visitor.sign(b"\xff", b"\xc3").text


@pytest.mark.parametrize("text", ["a\x00b", "a\x1b[31mb", "a\x7fb", "\x08",
                                  "a\x85b", "\x80", "\x9f"])
def test_control_characters(visitor, redis, text):
    for name, remark in [(text, "x"), ("x", text)]:
        assert visitor.sign(name, remark).status == 400
    assert redis("EXISTS", "guestbook_remarks") == 0


@pytest.mark.parametrize("body", [
    b"guest-remarks=hello&guest-name=Ada",
    b"x=y&guest-name=Ada&z&guest-remarks=hello&submit=Sign",
    b"&&guest-name=Ada&&guest-remarks=hello&",
    b"guest%2Dname=%41da&guest%2dremarks=h%65llo"])
def test_forms_in_other_words(visitor, body):
    assert visitor.post(body).status == 303
    assert visitor.read().remarks == ["hello - Ada"]


@pytest.mark.parametrize("body", [b"guest-name=%zz&guest-remarks=x",
                                  b"guest-name=x&guest-remarks=%4",
                                  b"guest-name=x&guest-remarks=%"])
def test_bad_escapes_in_a_form(visitor, redis, body):
    assert visitor.post(body).status == 400
    assert redis("EXISTS", "guestbook_remarks") == 0


def test_a_chunked_form(visitor):
    body = form("Ada", "Hello")
    assert visitor.post(chunked(body[:7], body[7:8], body[8:]), [
        URLENCODED, ("Transfer-Encoding", "chunked")]).status == 303
    assert visitor.read().remarks == ["Hello - Ada"]


@pytest.mark.parametrize("kind", [
    "application/x-www-form-urlencoded",
    "Application/X-WWW-Form-URLencoded",
    "application/x-www-form-urlencoded; charset=UTF-8",
    "application/x-www-form-urlencoded;charset=utf-8"])
def test_the_content_type_of_a_form(visitor, kind):
    assert visitor.post(form("Ada", "Hi"),
                        [("Content-Type", kind)]).status == 303


@pytest.mark.parametrize("kind", [
    "text/plain", "multipart/form-data; boundary=x", "application/json", "",
    "application/x-www-form-urlencodedx", "application/x-www-form"])
def test_another_content_type(visitor, redis, kind):
    assert visitor.post(form("Ada", "Hi"),
                        [("Content-Type", kind)]).status == 415
    assert redis("EXISTS", "guestbook_remarks") == 0


def test_no_content_type(visitor):
    assert visitor.post(form("Ada", "Hi"), []).status == 415


# What else may lie in Redis

def test_what_other_programs_put_into_redis(visitor, redis):
    """It was never checked by us: markup, bytes that are no UTF-8, nothing."""
    redis("RPUSH", "guestbook_remarks", "<i>x</i>", b"\xff\xfe\x00", "",
          "x" * 100_000)
    response = visitor.server.request("/guestbook")
    assert response.status == 200
    assert b"<i>" not in response.body
    assert b"x" * 100_000 in response.body


def test_a_hundred_long_remarks(visitor):
    """The largest page that guests can make, whole."""
    long = "\u4f60" * 1000
    with visitor.server.connect() as connection:
        connection.send(build("/guestbook", "POST", [URLENCODED],
                              form("Ada", long)) * 100)
        for _ in range(100):
            assert connection.read_response().status == 303
    assert visitor.read().remarks == [f"{long} - Ada"] * 100
