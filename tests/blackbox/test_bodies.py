"""Content of requests: by length, in chunks, and after 100 Continue."""

import pytest

from tests.support.client import build, chunked

pytestmark = pytest.mark.protocol

FORM = b"guest-name=Ada&guest-remarks=Hello"
URLENCODED = ("Content-Type", "application/x-www-form-urlencoded")


# Bodies (RFC 9112, 6 and 7)

def test_a_body_by_length(server):
    with server.connect() as connection:
        for _ in range(3):
            assert connection.request("/guestbook", "POST", [URLENCODED],
                                      FORM).status == 303


@pytest.mark.parametrize("body", [
    chunked(FORM),
    chunked(FORM[:1], FORM[1:20], FORM[20:]),
    chunked(*(bytes([b]) for b in FORM)),
    chunked(FORM, extension=";name=value"),
    chunked(FORM, extension=';name="quoted; value"'),
    chunked(FORM, trailers=[("Expires", "never"), ("X", "")]),
    b"0022\r\n%s\r\n000\r\n\r\n" % FORM,
], ids=["one", "three", "bytes", "extension", "quoted-extension", "trailers",
        "leading-zeros"])
def test_a_chunked_body(server, body):
    assert len(FORM) == 0x22
    with server.connect() as connection:
        for _ in range(2):
            assert connection.request(
                "/guestbook", "POST",
                [URLENCODED, ("Transfer-Encoding", "chunked")],
                body).status == 303
        assert connection.request("/answer").body == b"42"


@pytest.mark.parametrize("size", ["1A", "1a"])
def test_chunk_sizes_in_either_case(server, size):
    form = b"guest-name=A&guest-remarks"
    assert len(form) == 0x1a
    body = f"{size}\r\n".encode() + form + b"\r\n2\r\n=B\r\n0\r\n\r\n"
    assert server.request("/guestbook", "POST",
                          [URLENCODED, ("Transfer-Encoding", "Chunked")],
                          body).status == 303


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
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

@pytest.mark.parametrize("value", ["100-continue", "100-Continue"])
def test_expect_100_continue(server, value):
    with server.connect() as connection:
        connection.send(build("/guestbook", "POST", [
            URLENCODED, ("Content-Length", str(len(FORM))),
            ("Expect", value)]))
        assert connection.read_response().status == 100
        connection.send(FORM)
        assert connection.read_response().status == 303
        assert connection.request("/answer").body == b"42"


def test_expect_100_continue_with_a_chunked_body(server):
    with server.connect() as connection:
        connection.send(build("/guestbook", "POST", [
            URLENCODED, ("Transfer-Encoding", "chunked"),
            ("Expect", "100-continue")]))
        assert connection.read_response().status == 100
        connection.send(chunked(FORM))
        assert connection.read_response().status == 303


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


def test_expect_what_cannot_be_met(server):
    with server.connect() as connection:
        response = connection.request("/answer",
                                      fields=[("Expect", "42-towels")])
        assert response.status == 417


def test_expect_for_a_body_that_is_too_large(server):
    """The refusal comes before the body, so that the client need not send it."""
    with server.connect() as connection:
        response = connection.request("/guestbook", "POST", [
            URLENCODED, ("Content-Length", "100000000"),
            ("Expect", "100-continue")])
        assert response.status == 413
        connection.expect_closed()
