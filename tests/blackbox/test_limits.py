"""Every limit has a name and a status; what lies just within it is fine."""

import pytest

from tests.support.client import build, chunked

pytestmark = pytest.mark.protocol

TARGET = 8000           # bytes of the request target: 414
HEAD = 16384            # bytes of request line and fields: 431
BODY = 65536            # bytes of content: 413
URLENCODED = ("Content-Type", "application/x-www-form-urlencoded")


def refused(server, data, status):
    """Send and expect that status, a closed connection and nothing more."""
    with server.connect() as connection:
        connection.send(data)
        response = connection.read_response()
        assert response.status == status
        assert response.closes
        connection.expect_closed()
    assert server.request("/answer").status == 200


def target(length):
    """A target of that many bytes."""
    return "/echo?value=".ljust(length, "x")


def head(length):
    """A request whose head has that many bytes."""
    request = build("/answer", fields=[("X", "")])
    return request[:-4] + b"x" * (length - len(request)) + b"\r\n\r\n"


def test_target_within_the_limit(server):
    response = server.request(target(TARGET))
    assert response.status == 200
    assert response.body.count(b"x") >= TARGET - len("/echo?value=")


def test_target_too_long(server):
    refused(server, build(target(TARGET + 1)), 414)


def test_target_without_end(server):
    refused(server, b"GET /" + b"x" * 1_000_000, 414)


def test_head_within_the_limit(server):
    with server.connect() as connection:
        assert len(head(HEAD)) == HEAD
        for _ in range(3):
            connection.send(head(HEAD))
            assert connection.read_response().body == b"42"


def test_head_too_large(server):
    refused(server, head(HEAD + 1), 431)


def test_head_without_end(server):
    refused(server, build("/answer")[:-2] + b"X: y\r\n" * 90 + b"X: "
            + b"y" * 1_000_000, 431)


def test_method_without_end(server):
    refused(server, b"G" * 1_000_000, 501)


def form(length):
    """A form of that many bytes, with a remark that is far too long."""
    return b"guest-name=Ada&guest-remarks=".ljust(length, b"x")


def test_body_within_the_limit(server):
    """It is read whole; what is wrong with it is the remark's length."""
    assert server.request("/guestbook", "POST", [URLENCODED],
                          form(BODY)).status == 400


def test_chunked_body_within_the_limit(server):
    assert server.request(
        "/guestbook", "POST",
        [URLENCODED, ("Transfer-Encoding", "chunked")],
        chunked(*[form(BODY)[i:i + 1000] for i in range(0, BODY, 1000)])
    ).status == 400


@pytest.mark.parametrize("length", [BODY + 1, 10 * BODY])
def test_body_too_large(server, length):
    """The client hears of it even if it sends everything first."""
    refused(server, build("/guestbook", "POST", [URLENCODED], form(length)),
            413)


def test_body_announced_too_large(server):
    """The refusal comes before the client has sent any of it."""
    refused(server, build("/guestbook", "POST",
                          [URLENCODED, ("Content-Length", "1000000000")]),
            413)


def test_body_too_large_for_any_page(server):
    refused(server, build("/answer", "GET",
                          [("Content-Length", str(BODY + 1))]), 413)


def test_chunked_body_too_large(server):
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    refused(server, build("/guestbook", "POST",
                          [URLENCODED, ("Transfer-Encoding", "chunked")],
                          chunk * 40), 413)


def test_one_chunk_too_large(server):
    refused(server, build("/guestbook", "POST",
                          [URLENCODED, ("Transfer-Encoding", "chunked")],
                          b"10001\r\n" + b"x" * 0x10001), 413)


def test_chunk_extension_without_end(server):
    refused(server, build("/guestbook", "POST",
                          [URLENCODED, ("Transfer-Encoding", "chunked")],
                          b"1;" + b"x" * 1_000_000), 413)


def test_leading_zeros_without_end(server):
    refused(server, build("/guestbook", "POST",
                          [URLENCODED, ("Transfer-Encoding", "chunked")],
                          b"0" * 1_000_000), 413)


def test_trailers_without_end(server):
    refused(server, build("/guestbook", "POST",
                          [URLENCODED, ("Transfer-Encoding", "chunked")],
                          b"0\r\n" + b"X: y\r\n" * 100_000), 413)
