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


# name: (bytes, status or statuses)
REQUEST_LINES = {
    "garbage": (b"\x00\x01\x02\x03\xff\xfe\r\n\r\n", 400),
    "garbage without a line": (b"\x80\x81\x82\x83", 400),
    "a TLS hello": (bytes.fromhex(
        "16030100c8010000c40303") + bytes(range(64)), 400),
    "an SSH client": (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 400),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "no version": (get(line=b"GET /answer"), 400),
    "HTTP/0.9": (b"GET /\r\n", 400),
    "version 2.0": (get(line=b"GET /answer HTTP/2.0"), 505),
    "version 0.9": (get(line=b"GET /answer HTTP/0.9"), 505),
    "version 3": (get(line=b"GET /answer HTTP/3"), 400),
    "version 1": (get(line=b"GET /answer HTTP/1"), 400),
    "version 1.": (get(line=b"GET /answer HTTP/1."), 400),
    "version 1.10": (get(line=b"GET /answer HTTP/1.10"), 400),
    "version x.y": (get(line=b"GET /answer HTTP/x.y"), 400),
    "lower-case version": (get(line=b"GET /answer http/1.1"), 400),
    "other protocol": (get(line=b"GET /answer RTSP/1.0"), 400),
    "space before the method": (get(line=b" GET /answer HTTP/1.1"), 400),
    "two spaces after the method": (get(line=b"GET  /answer HTTP/1.1"), 400),
    "two spaces after the target": (get(line=b"GET /answer  HTTP/1.1"), 400),
    "space after the version": (get(line=b"GET /answer HTTP/1.1 "), 400),
    "tab for a space": (get(line=b"GET\t/answer HTTP/1.1"), 400),
    "bare CR in the line": (get(line=b"GET /answer\r HTTP/1.1"), 400),
    "bare CR ends the line": (b"GET /answer HTTP/1.1\rHost: a\r\n\r\n", 400),
    "bare CR first": (b"\rGET /answer HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "empty method": (get(line=b" /answer HTTP/1.1"), 400),
    "method is no token": (get(line=b"G@T /answer HTTP/1.1"), 400),
    "NUL in the method": (get(line=b"GE\0T /answer HTTP/1.1"), 400),
    "empty target": (get(line=b"GET  HTTP/1.1"), 400),
    "no target": (get(line=b"GET HTTP/1.1"), 400),
    "target without slash": (get(line=b"GET answer HTTP/1.1"), 400),
    "target with a space": (get(line=b"GET /an swer HTTP/1.1"), 400),
    "target with a tab": (get(line=b"GET /an\tswer HTTP/1.1"), 400),
    "target with NUL": (get(line=b"GET /an\0swer HTTP/1.1"), 400),
    "target with escape byte": (get(line=b"GET /\x1b[31m HTTP/1.1"), 400),
    "target with DEL": (get(line=b"GET /\x7f HTTP/1.1"), 400),
    "target beyond ASCII": (get(line=b"GET /\xc3\xbc HTTP/1.1"), 400),
    "target with a fragment": (get(line=b"GET /answer#2 HTTP/1.1"), 400),
    "asterisk for GET": (get(line=b"GET * HTTP/1.1"), 400),
    "authority for GET": (get(line=b"GET test:80 HTTP/1.1"), 400),
    "absolute form without host": (get(line=b"GET http:///a HTTP/1.1"), 400),
    "absolute form with a bracket": (get(line=b"GET http://[/ HTTP/1.1"), 400),
    "absolute form with a bad port": (
        get(line=b"GET http://a:99999/answer HTTP/1.1"), 400),
    "absolute form with a bad escape": (
        get(line=b"GET http://%zz/answer HTTP/1.1"), 400),
    "absolute form of ftp": (get(line=b"GET ftp://a/answer HTTP/1.1"), 400),
}

FIELDS = {
    "no Host": (get(host=None), 400),
    "empty Host": (get(host=b"Host:"), 400),
    "Host is a port only": (get(host=b"Host: :80"), 400),
    "empty Host for OPTIONS *": (
        get(line=b"OPTIONS * HTTP/1.1", host=b"Host:"), 400),
    "two Hosts": (get(b"Host: b"), 400),
    "the same Host twice": (get(b"Host: a"), 400),
    "Host with a space": (get(host=b"Host: a b"), 400),
    "Host with a path": (get(host=b"Host: a/b"), 400),
    "Host with user": (get(host=b"Host: me@a"), 400),
    **{f"Host is {host.decode()}": (get(host=b"Host: " + host), 400)
       for host in [b"[", b"]", b"[]", b"[::1", b"[::1]a", b"[example.org]",
                    b"::1", b"::::", b"a:b", b"a:b:c", b"a:99999", b"%zz",
                    b"a%4"]},
    "space before the colon": (get(b"X : y"), 400),
    "tab before the colon": (get(b"X\t: y"), 400),
    "space before the colon of a length": (get(b"Content-Length : 5"), 400),
    "folded line": (get(b"X: y", b" z"), 400),
    "folded line with a tab": (get(b"X: y", b"\tz"), 400),
    "folded first line": (b"GET /answer HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    "no colon": (get(b"nonsense"), 400),
    "empty name": (get(b": y"), 400),
    "name is no token": (get(b"X@Y: z"), 400),
    "name beyond ASCII": (get(b"\xc3\xbc: z"), 400),
    "NUL in a name": (get(b"X\0Y: z"), 400),
    "NUL in a value": (get(b"X: y\0z"), 400),
    "control byte in a value": (get(b"X: y\x01z"), 400),
    "escape byte in a value": (get(b"X: \x1b[31m"), 400),
    "DEL in a value": (get(b"X: \x7f"), 400),
    "bare CR in a value": (get(b"X: y\rY: z"), 400),
    "bare CR ends the head": (b"GET /answer HTTP/1.1\r\nHost: a\r\n\rX",
                              400),
    "two CRs": (get(b"X: y\r"), 400),
}

FRAMING = {
    "two lengths": (
        POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    "a list of lengths": (POST + b"Content-Length: 5, 6\r\n\r\n", 400),
    "length with a sign": (POST + b"Content-Length: +5\r\n\r\n", 400),
    "negative length": (POST + b"Content-Length: -5\r\n\r\n", 400),
    "hexadecimal length": (POST + b"Content-Length: 0x5\r\n\r\n", 400),
    "length with a fraction": (POST + b"Content-Length: 5.0\r\n\r\n", 400),
    "length with a space in it": (POST + b"Content-Length: 1 2\r\n\r\n",
                                  400),
    "empty length": (POST + b"Content-Length: \r\n\r\n", 400),
    "length in words": (POST + b"Content-Length: five\r\n\r\n", 400),
    "length beyond 64 bits": (
        POST + b"Content-Length: 99999999999999999999999\r\n\r\n", 413),
    "length that wraps to 5": (
        POST + b"Content-Length: 18446744073709551621\r\n\r\n", 413),
    "length and chunked": (
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n", 400),
    "chunked and length": (
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
        b"0\r\n\r\n", 400),
    "chunked twice in one field": (
        POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n", (400, 501)),
    "chunked in two fields": (
        POST + b"Transfer-Encoding: chunked\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n", 400),
    "chunked is not the last": (
        POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
    "identity": (POST + b"Transfer-Encoding: identity\r\n\r\n", 400),
    "not quite chunked": (POST + b"Transfer-Encoding: xchunked\r\n\r\n", 400),
    "chunked with a byte before": (
        POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n", 400),
    "empty coding": (POST + b"Transfer-Encoding:\r\n\r\n", 400),
    "a coding we do not know": (
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    "chunked in HTTP/1.0": (
        POST.replace(b"1.1", b"1.0")
        + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
}

CHUNKS = {
    "size in words": (CHUNKED + b"five\r\nhello\r\n", 400),
    "empty size": (CHUNKED + b"\r\nhello\r\n", 400),
    "size with a sign": (CHUNKED + b"+5\r\nhello\r\n", 400),
    "negative size": (CHUNKED + b"-5\r\nhello\r\n", 400),
    "size with 0x": (CHUNKED + b"0x5\r\nhello\r\n", 400),
    "size with a space before": (CHUNKED + b" 5\r\nhello\r\n", 400),
    "size with an underscore": (CHUNKED + b"1_0\r\nhello\r\n", 400),
    "size beyond 64 bits": (
        CHUNKED + b"fffffffffffffffff\r\nhello\r\n", 413),
    "size that wraps to 5": (
        CHUNKED + b"10000000000000005\r\nhello\r\n", 413),
    "size line ends in LF": (CHUNKED + b"5\nhello\r\n", 400),
    "size line ends in CR": (CHUNKED + b"5\rhello\r\n", 400),
    "data longer than its size": (CHUNKED + b"5\r\nhello!\r\n", 400),
    "data without its end": (CHUNKED + b"5\r\nhello0\r\n\r\n", 400),
    "data ends in LF": (CHUNKED + b"5\r\nhello\n0\r\n\r\n", 400),
    "NUL in an extension": (CHUNKED + b"5;\0\r\nhello\r\n", 400),
    "LF in an extension": (CHUNKED + b"5;a\nb\r\nhello\r\n", 400),
    "trailer without colon": (CHUNKED + b"0\r\ntrailer\r\n\r\n", 400),
    "trailer with a space before": (CHUNKED + b"0\r\n X: y\r\n\r\n", 400),
    "NUL in a trailer": (CHUNKED + b"0\r\nX: \0\r\n\r\n", 400),
    "last chunk ends in LF": (CHUNKED + b"0\r\n\n", 400),
}

CASES = {f"{kind}: {name}": case
         for kind, table in [("line", REQUEST_LINES), ("field", FIELDS),
                             ("framing", FRAMING), ("chunk", CHUNKS)]
         for name, case in table.items()}


@pytest.mark.parametrize("name", CASES)
def test_malformed(server, name):
    request, statuses = CASES[name]
    if isinstance(statuses, int):
        statuses = (statuses,)
    with server.connect() as connection:
        connection.send(request + GOOD)
        response = connection.read_response()
        assert response.status in statuses
        assert response.closes, "does not say that the connection ends"
        connection.expect_closed()
    assert server.request("/answer").body == b"42"


@pytest.mark.parametrize("name", ["line: garbage without a line",
                                  "line: a TLS hello"])
def test_what_can_never_become_a_request_is_refused_immediately(server, name):
    """It has no line end yet; waiting for one would end in a time-out."""
    with server.connect() as connection:
        connection.send(CASES[name][0])
        assert connection.read_response().status == 400
        connection.expect_closed()


def test_the_same_length_twice_is_no_contradiction(server):
    """RFC 9112, 6.3 lets a server take it or refuse it; not take it wrong."""
    with server.connect() as connection:
        connection.send(b"GET /answer HTTP/1.1\r\nHost: a\r\n"
                        b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n"
                        b"hello" + GOOD)
        response = connection.read_response()
        if response.status == 200:
            assert connection.read_response().body == b"Hello, World!"
        else:
            assert response.status == 400
            connection.expect_closed()


@pytest.mark.parametrize("path, status", [
    ("/%", 400), ("/%4", 400), ("/%zz", 400), ("/answer%", 400),
    ("/%4g", 400), ("/%00", (400, 404)), ("/answer%00", (400, 404)),
    ("/index.html%00.png", (400, 404)), ("/%u0041", 400)])
def test_bad_escapes_in_a_path(server, path, status):
    """The request is well-formed (so the connection may go on), its path is
    not."""
    with server.connect() as connection:
        response = connection.request(path)
        assert response.status in (status if isinstance(status, tuple)
                                   else (status,))
        if response.closes:
            connection.expect_closed()
        else:
            assert connection.request("/answer").body == b"42"


def test_good_requests_before_a_bad_one_are_answered(server):
    with server.connect() as connection:
        connection.send(build("/answer") + build("/hello")
                        + b"GET /answer HTTP/1.1\r\n\r\n" + GOOD)
        assert connection.read_response().body == b"42"
        assert connection.read_response().body == b"Hello, World!"
        assert connection.read_response().status == 400
        connection.expect_closed()
