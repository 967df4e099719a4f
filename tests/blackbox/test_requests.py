"""How requests arrive, how large they may be, and what ends a connection. What the parser takes
and refuses stands in tests/unit, and in the public cases of test_compliance.py."""

import select

import pytest

from tests.support.client import build, chunked
from tests.support.guest import URLENCODED, form

pytestmark = pytest.mark.protocol

FORM = form("Ada", "Hello")
CHUNKED = ("Transfer-Encoding", "chunked")

TARGET = 8000           # bytes of the request target: 414
HEAD = 16384            # bytes of request line and fields: 431
BODY = 65536            # bytes of content: 413


# How the bytes arrive

def test_one_byte_at_a_time(server):
    body = chunked(FORM[:9], FORM[9:], extension=";a=b", trailers=[("T", "v")])
    request = build("/guestbook", "POST", [URLENCODED, CHUNKED], body)
    with server.connect() as connection:
        for byte in request[:-1]:
            connection.send(bytes([byte]))
            server.wait_until_read(connection)
        assert not connection.readable()
        connection.send(request[-1:])
        assert connection.read_response().status == 303


def test_fifty_pipelined_requests_of_all_kinds(server, site):
    small, large = b"0123456789" * 10, b"0123456789" * 20_000
    site.write("pipeline.txt", small)
    site.write("pipeline-large.txt", large)
    kinds = [       # request, status, what the body ends with
        (build("/answer"), 200, b"42"),
        (build("/guestbook"), 200, b"</html>\n"),
        (build("/pipeline.txt"), 200, small),
        (build("/guestbook", "POST", [URLENCODED], FORM), 303, b""),
        (build("/pipeline-large.txt"), 200, large),
        (build("/style.css", "HEAD"), 200, b""),
        (build("/nothing"), 404, b""),
        (build("/pipeline.txt", fields=[("Range", "bytes=3-5")]), 206, b"345"),
        (build("/guestbook", "POST", [URLENCODED, CHUNKED], chunked(FORM)), 303, b""),
        (build("/echo?value=mine"), 200, b"<value>mine</value></http_test>")] * 5
    with server.connect() as connection:
        connection.send(b"".join(request for request, _, _ in kinds))
        for request, status, end in kinds:
            response = connection.read_response(request.partition(b" ")[0].decode())
            assert response.status == status, request
            assert response.body.endswith(end), request


def test_a_client_that_waits_with_its_body_gets_100_continue(server):
    with server.connect() as connection:
        for framing, body in [(("Content-Length", str(len(FORM))), FORM),
                              (CHUNKED, chunked(FORM))]:
            connection.send(build("/guestbook", "POST", [
                URLENCODED, framing, ("Expect", "100-Continue")]))
            assert connection.read_response().status == 100
            connection.send(body)
            assert connection.read_response().status == 303
        assert connection.request("/answer").body == b"42"


def test_a_begun_answer_goes_to_no_other_client(server):
    """A client that breaks off must leave nothing for the next one."""
    for _ in range(20):
        with server.connect() as connection:
            connection.send(build("/echo?value=secret"))
            connection.send(b"GET /echo?value=half HTTP/1.1\r\nHo")
        with server.connect() as connection:
            response = connection.request("/echo?value=mine")
            assert "mine" in response.text
            assert "secret" not in response.text
            assert not connection.readable()


# The end of a connection

def test_the_last_answer_comes_with_the_fin(server):
    """In one packet: a client that sees the answer sees the end with it. (Not
    with a file: sendfile(2) knows no MSG_MORE.)"""
    with server.connect() as connection:
        connection.send(build("/answer", fields=[("Connection", "close")]))
        poller = select.poll()
        poller.register(connection.socket, select.POLLIN | select.POLLRDHUP)
        (_, events), = poller.poll(5000)
        assert events & select.POLLRDHUP
        assert connection.read_response().closes
        connection.expect_closed()


def test_http10_keep_alive(server):
    with server.connect() as connection:
        for _ in range(3):
            response = connection.request(
                "/answer", version="HTTP/1.0",
                fields=[("Connection", "keep-alive")])
            assert response.body == b"42"
            assert response.get("Connection").lower() == "keep-alive"
        connection.request("/answer", version="HTTP/1.0")
        connection.expect_closed()


def test_half_closed_client_gets_its_answers(server):
    with server.connect() as connection:
        connection.send(build("/answer") + build("/hello"))
        connection.finish_sending()
        assert connection.read_response().body == b"42"
        assert connection.read_response().body == b"Hello, World!"
        connection.expect_closed()


def test_good_requests_before_a_bad_one_are_answered(server):
    """No server can know where the bad request ends, so that nothing behind it is answered."""
    with server.connect() as connection:
        connection.send(build("/answer") + build("/hello")
                        + b"GET /answer HTTP/1.1\r\n\r\n" + build("/hello"))
        assert connection.read_response().body == b"42"
        assert connection.read_response().body == b"Hello, World!"
        assert connection.read_response().status == 400
        connection.expect_closed()


# What is refused before it is complete

def refused(server, data, status):
    """Send and expect that status, a closed connection and nothing more."""
    with server.connect() as connection:
        connection.send(data)
        response = connection.read_response()
        assert response.status == status, data[:100]
        assert response.closes
        connection.expect_closed()
    assert server.request("/answer").status == 200


def test_what_can_never_become_a_request_is_refused_immediately(server):
    """It has no line end yet; waiting for one would end in a time-out."""
    refused(server, b"\x80\x81\x82\x83", 400)
    refused(server, bytes.fromhex("16030100c8010000c40303") + bytes(range(64)), 400)    # TLS


def target(length):
    """A target of that many bytes."""
    return "/echo?value=".ljust(length, "x")


def head(length):
    """A request whose head has that many bytes."""
    request = build("/answer", fields=[("X", "")])
    return request[:-4] + b"x" * (length - len(request)) + b"\r\n\r\n"


def post(body, *fields):
    """A signature of the guestbook."""
    return build("/guestbook", "POST", [URLENCODED, *fields], body)


def long_form(length):
    """A form of that many bytes, with a remark that is far too long."""
    return b"guest-name=Ada&guest-remarks=".ljust(length, b"x")


def test_within_the_limits(server):
    """A form is read whole; what is wrong with it is the remark's length."""
    largest = long_form(BODY)
    chunks = chunked(*[largest[i:i + 1000] for i in range(0, BODY, 1000)])
    with server.connect() as connection:
        response = connection.request(target(TARGET))
        assert response.status == 200
        assert response.body.count(b"x") >= TARGET - len("/echo?value=")
        for _ in range(3):
            assert len(head(HEAD)) == HEAD
            connection.send(head(HEAD))
            assert connection.read_response().body == b"42"
        for request in post(largest), post(chunks, CHUNKED):
            connection.send(request)
            assert connection.read_response().status == 400


def test_what_is_too_large(server):
    """The refusal comes before the client has sent it, or though it sends everything first."""
    for data, status in [
            (build(target(TARGET + 1)), 414), (b"GET /" + b"x" * 1_000_000, 414),
            (head(HEAD + 1), 431), (b"G" * 1_000_000, 501),
            (build("/answer")[:-2] + b"X: y\r\n" * 90 + b"X: " + b"y" * 1_000_000, 431),
            (post(long_form(BODY + 1)), 413), (post(long_form(10 * BODY)), 413),
            (post(b"", ("Content-Length", "1000000000"), ("Expect", "100-continue")), 413),
            (build("/answer", fields=[("Content-Length", str(BODY + 1))]), 413),
            (post((b"1000\r\n" + b"x" * 4096 + b"\r\n") * 40, CHUNKED), 413),
            (post(b"1;" + b"x" * 1_000_000, CHUNKED), 413),
            (post(b"0\r\n" + b"X: y\r\n" * 100_000, CHUNKED), 413)]:
        refused(server, data, status)
