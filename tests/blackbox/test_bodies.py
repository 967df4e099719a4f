"""Content of requests: by length, in chunks, and after 100 Continue."""

import pytest

from tests.support.client import build, chunked
from tests.support.guest import URLENCODED, form

pytestmark = pytest.mark.protocol

FORM = form("Ada", "Hello")


# Bodies (RFC 9112, 6 and 7)

def test_a_body_by_length(server):
    with server.connect() as connection:
        for _ in range(3):
            assert connection.request("/guestbook", "POST", [URLENCODED],
                                      FORM).status == 303


def test_a_chunked_body(server):
    with server.connect() as connection:
        for body in [chunked(FORM), chunked(*(bytes([b]) for b in FORM)),
                     chunked(FORM, extension=';name="quoted; value"'),
                     chunked(FORM, trailers=[("Expires", "never"), ("X", "")]),
                     b"00%X\r\n%s\r\n000\r\n\r\n" % (len(FORM), FORM)]:
            assert connection.request(
                "/guestbook", "POST", [URLENCODED, ("Transfer-Encoding", "Chunked")],
                body).status == 303, body
        assert connection.request("/answer").body == b"42"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_unexpected_body_is_read_and_discarded(server, method):
    smuggled = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
    with server.connect() as connection:
        connection.send(build("/answer", method, body=smuggled)
                        + build("/answer", method,
                                [("Transfer-Encoding", "chunked")],
                                chunked(smuggled))
                        + build("/echo?value=last"))
        connection.read_response(method)
        connection.read_response(method)
        assert "last" in connection.read_response().text


def test_an_empty_body(server):
    with server.connect() as connection:
        connection.send(
            build("/answer", fields=[("Content-Length", "0")])
            + build("/answer", fields=[("Transfer-Encoding", "chunked")],
                    body=chunked()) + build("/hello"))
        assert connection.read_response().body == b"42"
        assert connection.read_response().body == b"42"
        assert connection.read_response().body == b"Hello, World!"


# Expect (RFC 9110, 10.1.1)

def test_expect_100_continue(server):
    with server.connect() as connection:
        for framing, body in [(("Content-Length", str(len(FORM))), FORM),
                              (("Transfer-Encoding", "chunked"), chunked(FORM))]:
            connection.send(build("/guestbook", "POST", [
                URLENCODED, framing, ("Expect", "100-Continue")]))
            assert connection.read_response().status == 100
            connection.send(body)
            assert connection.read_response().status == 303
        assert connection.request("/answer").body == b"42"


def test_expect_with_the_body_sent_at_once(server):
    """A 100 may still come; the final answer must."""
    with server.connect() as connection:
        connection.send(build("/guestbook", "POST", [
            URLENCODED, ("Expect", "100-continue")], FORM))
        response = connection.read_response()
        if response.status == 100:
            response = connection.read_response()
        assert response.status == 303


def test_expect_is_not_for_http10(server):
    with server.connect() as connection:
        connection.send(build("/guestbook", "POST", [
            URLENCODED, ("Content-Length", str(len(FORM))),
            ("Expect", "100-continue")], version="HTTP/1.0"))
        server.wait_until_read(connection)
        connection.send(FORM)
        assert connection.read_response().status == 303


def test_expect_for_a_body_that_is_too_large(server):
    """The refusal comes before the body, so that the client need not send it."""
    with server.connect() as connection:
        response = connection.request("/guestbook", "POST", [
            URLENCODED, ("Content-Length", "100000000"),
            ("Expect", "100-continue")])
        assert response.status == 413
        connection.expect_closed()
