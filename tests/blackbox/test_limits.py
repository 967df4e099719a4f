"""Every limit has a name and a status; what lies just within it is fine."""

import pytest

from tests.support.client import build, chunked
from tests.support.guest import URLENCODED

pytestmark = pytest.mark.protocol

TARGET = 8000           # bytes of the request target: 414
HEAD = 16384            # bytes of request line and fields: 431
BODY = 65536            # bytes of content: 413


def refused(server, data, status):
    """Send and expect that status, a closed connection and nothing more."""
    with server.connect() as connection:
        connection.send(data)
        response = connection.read_response()
        assert response.status == status, data[:100]
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


def form(length):
    """A form of that many bytes, with a remark that is far too long."""
    return b"guest-name=Ada&guest-remarks=".ljust(length, b"x")


def post(body, *fields):
    """A signature of the guestbook."""
    return build("/guestbook", "POST", [URLENCODED, *fields], body)


def post_chunks(body):
    """The same, of chunks."""
    return post(body, ("Transfer-Encoding", "chunked"))


def test_within_the_limits(server):
    """A form is read whole; what is wrong with it is the remark's length."""
    chunks = chunked(*[form(BODY)[i:i + 1000] for i in range(0, BODY, 1000)])
    with server.connect() as connection:
        response = connection.request(target(TARGET))
        assert response.status == 200
        assert response.body.count(b"x") >= TARGET - len("/echo?value=")
        for _ in range(3):
            assert len(head(HEAD)) == HEAD
            connection.send(head(HEAD))
            assert connection.read_response().body == b"42"
        for request in post(form(BODY)), post_chunks(chunks):
            connection.send(request)
            assert connection.read_response().status == 400


def test_heads_that_are_too_large(server):
    """Or that do not end."""
    for data, status in [
            (build(target(TARGET + 1)), 414), (b"GET /" + b"x" * 1_000_000, 414),
            (head(HEAD + 1), 431), (b"G" * 1_000_000, 501),
            (build("/answer")[:-2] + b"X: y\r\n" * 90 + b"X: " + b"y" * 1_000_000, 431)]:
        refused(server, data, status)


def test_bodies_that_are_too_large(server):
    """The refusal comes before the client has sent it, or though it sends everything first."""
    for data in [post(form(BODY + 1)), post(form(10 * BODY)),
                 post(b"", ("Content-Length", "1000000000")),
                 build("/answer", fields=[("Content-Length", str(BODY + 1))]),
                 post_chunks((b"1000\r\n" + b"x" * 4096 + b"\r\n") * 40),
                 post_chunks(b"10001\r\n" + b"x" * 0x10001),
                 post_chunks(b"1;" + b"x" * 1_000_000), post_chunks(b"0" * 1_000_000),
                 post_chunks(b"0\r\n" + b"X: y\r\n" * 100_000)]:
        refused(server, data, 413)
