"""What is not a well-formed request gets its status and a closed connection.

Each case is sent with a good request right behind it: that one must not be
answered, because no server can know where the bad request ends (a proxy and
a server that guess differently allow request smuggling, RFC 9112, 11.2).
"""

import pytest

from tests.support.client import build

pytestmark = pytest.mark.protocol

GOOD = build("/hello")
POST = b"POST /guestbook HTTP/1.1\r\nHost: a\r\n" \
       b"Content-Type: application/x-www-form-urlencoded\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def get(*lines, line=b"GET /answer HTTP/1.1", host=b"Host: a"):
    """A request of raw header lines."""
    return b"\r\n".join([line, *([host] if host else []), *lines, b"", b""])


# name: (bytes, status). One for each way to lose the end of a request. All that the
# parser refuses stands in tests/unit/test_http_parser.c and test_http_chunked.c.
CASES = {
    "garbage without a line": (b"\x80\x81\x82\x83", 400),
    "a TLS hello": (bytes.fromhex(
        "16030100c8010000c40303") + bytes(range(64)), 400),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "bare CR ends the line": (b"GET /answer HTTP/1.1\rHost: a\r\n\r\n", 400),
    "NUL in the target": (get(line=b"GET /an\0swer HTTP/1.1"), 400),
    "no Host": (get(host=None), 400),
    "a folded line": (get(b"X: y", b" z"), 400),
    "a space before the colon of a length": (get(b"Content-Length : 5"), 400),
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    "a length that wraps to 5": (
        POST + b"Content-Length: 18446744073709551621\r\n\r\n", 413),
    "length and chunked": (
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n", 400),
    "a coding we do not know": (
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    "a chunk that wraps to 5": (
        CHUNKED + b"10000000000000005\r\nhello\r\n", 413),
    "a chunk longer than its size": (CHUNKED + b"5\r\nhello!\r\n", 400),
    "NUL in a trailer": (CHUNKED + b"0\r\nX: \0\r\n\r\n", 400),
}


def test_malformed(server):
    for name, (request, status) in CASES.items():
        with server.connect() as connection:
            connection.send(request + GOOD)
            response = connection.read_response()
            assert response.status == status, name
            assert response.closes, "does not say that the connection ends"
            connection.expect_closed()
        assert server.request("/answer").body == b"42"


def test_what_can_never_become_a_request_is_refused_immediately(server):
    """It has no line end yet; waiting for one would end in a time-out."""
    for name in "garbage without a line", "a TLS hello":
        with server.connect() as connection:
            connection.send(CASES[name][0])
            assert connection.read_response().status == 400
            connection.expect_closed()


def test_bad_escapes_in_a_path(server):
    """The request is well-formed, so the connection goes on; its path is not."""
    with server.connect() as connection:
        for path, status in ("/%zz", 400), ("/index.html%00.png", 404):
            assert connection.request(path).status == status
        assert connection.request("/answer").body == b"42"


def test_good_requests_before_a_bad_one_are_answered(server):
    with server.connect() as connection:
        connection.send(build("/answer") + build("/hello")
                        + b"GET /answer HTTP/1.1\r\n\r\n" + GOOD)
        assert connection.read_response().body == b"42"
        assert connection.read_response().body == b"Hello, World!"
        assert connection.read_response().status == 400
        connection.expect_closed()
