"""The guestbook: a template, three Redis commands, and what guests may do. All that a form may
say stands in tests/unit/test_guestbook.c and test_text.c."""

import threading

import pytest

from tests.support.client import build
from tests.support.guest import Guest, form

pytestmark = pytest.mark.shared
protocol = pytest.mark.protocol

GHOST = "\U0001f47b"    # beyond the BMP: four bytes of UTF-8, one character


@pytest.fixture(params=["one by one", "--pipeline"])
def guest(request, launch, redis, site):
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
    redis("FLUSHALL")
    assert guest.read().visitors >= 1


def test_many_remarks_at_once(guest):
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

@protocol
def test_the_page_is_not_for_caches_and_has_no_inline_script_or_style(visitor):
    visitor.sign("Ada", "hello")
    response = visitor.server.request("/guestbook")
    assert "no-store" in response.get("Cache-Control")
    for word in "<script>", "<style", " style=", " onclick=":
        assert word not in response.text.lower()


@protocol
def test_thanks_only_where_they_are_due(visitor):
    for query in "?thank", "?thanks=no", "?thanks&x", "?x=thanks":
        assert visitor.read(query).message == "", query


# What guests write

@protocol
def test_markup_placeholders_and_any_character_are_text(visitor, redis):
    for text in ["<script>alert('x')</script>", "&amp; & &lt;", "\"double\" 'single'",
                 "</li></ul></textarea><h1>", "$MESSAGE$$SERVER$", "$VISITOR_$SERVER$COUNT$",
                 "$$", "\u0645\u0631\u062d\u0628\u0627", GHOST * 3, "a+b=c&d%25",
                 "\u00a0x\u00a0", "x\ufffdx", "two  spaces"]:
        assert visitor.sign(text, text).status == 303, text
        assert redis("LINDEX", "guestbook_remarks", "-1").decode() == f"{text} - {text}"
        page = visitor.read()
        assert page.remarks[0] == f"{text} - {text}"
        assert not set("<>\"'") & set(page.raw_remarks.replace("<li>", "").replace("</li>", ""))
        kept = visitor.refused(text, text + "x" * 1000)
        assert (kept.name, kept.text) == (text, text + "x" * 1000)


@protocol
def test_a_line_end_counts_once(visitor, redis):
    """A form sends CR LF where its guest has typed one line end."""
    typed = "\n".join(10 * ["x" * 99])       # 999 characters
    assert visitor.sign("Ada", typed.replace("\n", "\r\n")).status == 303
    assert visitor.read().remarks == [f"{typed} - Ada"]
    assert redis("LINDEX", "guestbook_remarks", "0").decode() == f"{typed} - Ada"
    page = visitor.refused("Ada", f"{typed}\n{'x'}".replace("\n", "\r\n"))
    assert "1,000" in page.message
    assert page.text == f"{typed}\nx"


@protocol
def test_lengths_are_counted_in_characters(visitor, redis):
    for character in GHOST, "<":
        redis("FLUSHALL")
        assert visitor.sign(character * 64, "x").status == 303
        assert visitor.sign("x", character * 1000).status == 303
        for name, remark, most in [(character * 65, "x", "64"),
                                   ("x", character * 1001, "1,000")]:
            page = visitor.refused(name, remark)
            assert most in page.message
            assert (page.name, page.text) == (name, remark)
        assert redis("LLEN", "guestbook_remarks") == 2


@protocol
def test_what_is_no_name_or_no_remark_is_refused(visitor, redis):
    """Blank or missing; not UTF-8; control characters; bad escapes."""
    for body in [form("   ", "remark"), form("name", "  \r\n "), b"", b"guest-name=Ada",
                 form(b"\xff", "x"), form("x", b"\xc0\xaf"), form("x", b"\xf4\x90\x80\x80"),
                 form("x", "a\x00b"), form("a\x1b[31mb", "x"), form("x", "a\x85b"),
                 b"guest-name=%zz&guest-remarks=x"]:
        response = visitor.post(body)
        assert response.status == 400, body
        response.body.decode()          # the page that says so is UTF-8
    assert redis("EXISTS", "guestbook_remarks") == 0
