"""Each line of the access log names the request whose answer it counts.

A server reads ahead: when an answer is complete, its buffer may hold part of the next
request, and making room for the rest moves that part. The server must write the line
before anything moves. Otherwise a client chooses what the log says about it.
"""

import random

import pytest

from tests.support.access_log import fields, log_lines
from tests.support.client import build, chunked
from tests.support.guest import URLENCODED, form

pytestmark = pytest.mark.protocol

INNOCENT = "POST /x?innocent HTTP/1.1"
ATTACK = "GET /echo?value=attack HTTP/1.1"


@pytest.fixture
def logged(launch, tmp_path):
    """logged(*options) is a server with a log, and a function that returns the
    (request line, status, bytes) of each of its `count` lines."""
    log = tmp_path / "access.log"

    def start(*options):
        server = launch("--access-log", log, *options)
        return server, lambda count: [fields(line)
                                      for line in log_lines(log, count)]
    return start


@pytest.mark.parametrize("framing, rest", [
    (("Content-Length", "3000"), 2990 * b"x"),
    (("Transfer-Encoding", "chunked"), 8 * b"x" + b"\r\n0\r\n\r\n")],
    ids=["length", "chunked"])
def test_half_a_request_does_not_take_the_line_of_the_one_before(logged, framing,
                                                                 rest):
    """The second request has a complete head, but not a complete body. The server
    moves the head to where the first request was."""
    server, lines = logged()
    begun = 10 * b"x" if framing[0] == "Content-Length" else b"10\r\n" + 8 * b"x"
    with server.connect() as connection:
        connection.send(build("/echo?value=attack")
                        + build("/x?innocent", "POST", [framing]) + begun)
        assert "attack" in connection.read_response().text
        assert [line[:2] for line in lines(1)] == [(ATTACK, 200)]
        connection.send(rest)
        assert connection.read_response().status == 405
    assert [line[:2] for line in lines(2)] == [(ATTACK, 200), (INNOCENT, 405)]


@pytest.mark.slow
def test_a_time_out_names_the_request_that_was_late(logged):
    """Or "-", if its request line had not arrived."""
    server, lines = logged("--request-timeout", "0.3")
    late = build("/x?innocent", "POST", [("Content-Length", "9")], b"half")
    expected = []
    for first, rest, line in [("/echo?value=attack", late, INNOCENT),
                              ("/guestbook", late[:40], INNOCENT), ("/guestbook", late[:9], "-")]:
        with server.connect() as connection:
            connection.send(build(first) + rest)
            assert connection.read_response().status == 200
            assert connection.read_response().status == 408
            connection.expect_closed()
        expected += [(f"GET {first} HTTP/1.1", 200), (line, 408)]
        assert [one[:2] for one in lines(len(expected))] == expected


def test_a_refusal_names_the_request_that_was_refused(logged):
    server, lines = logged()
    expected = []
    for bad, line in [
            (b"G@T /innocent HTTP/1.1\r\n\r\n", "-"),
            (b"GET /innocent HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", "GET /innocent HTTP/1.1"),
            (b"POST /innocent HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
             b"zz\r\n", "POST /innocent HTTP/1.1"),
            (b"POST /innocent HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n"
             + 3000 * b"x", "POST /innocent HTTP/1.1")]:
        with server.connect() as connection:
            connection.send(build("/echo?value=attack") + bad)
            connection.read_response()
            expected += [(ATTACK, 200), (line, connection.read_response().status)]
            connection.expect_closed()
        assert [one[:2] for one in lines(len(expected))] == expected


def requests(generator, count):
    """Return (bytes, method, request line) of requests of all kinds, each with its
    own number."""
    found = []
    for i in range(count):
        name = f"{i}{generator.randint(0, 90) * 'n'}"
        pad = [("X-Pad", generator.randint(0, 700) * "p")]
        method, target, more, body = generator.choice([
            ("GET", f"/echo?value={name}", [], b""),
            ("HEAD", f"/answer?{name}", [], b""),
            ("GET", f"/nothing/{name}", [], b""),
            ("GET", f"/style.css?{name}", [], b""),
            ("GET", f"/guestbook?{name}", [], b""),
            ("POST", f"/guestbook?{name}", [URLENCODED], form("A", name)),
            ("POST", f"/guestbook?{name}",
             [URLENCODED, ("Transfer-Encoding", "chunked")],
             chunked(form("A", name), extension=";" + 9 * "e")),
            ("POST", f"/x?{name}", [], generator.randint(1, 2000) * b"x")])
        found.append((build(target, method, more + pad, body), method,
                      f"{method} {target} HTTP/1.1"))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_lines_and_answers_are_the_same_in_the_same_order(logged, seed):
    """However the requests are split, and whichever of them one read takes."""
    generator = random.Random(seed)
    server, lines = logged()
    asked = requests(generator, 100)
    data = b"".join(request for request, _, _ in asked)
    with server.connect() as connection:
        while data:
            length = generator.choice([1, 100, 512, 5000, 16384, 40000])
            connection.send(data[:length])
            data = data[length:]
            if generator.random() < 0.3:
                server.wait_until_read(connection)
        answers = [connection.read_response(method) for _, method, _ in asked]
    assert lines(100) == [
        (line, answer.status, len(answer.body))
        for (_, _, line), answer in zip(asked, answers)]
