"""Connections that stay open, and how the bytes of requests arrive."""

import select

import pytest

from tests.support.client import build, chunked
from tests.support.guest import URLENCODED, form

pytestmark = pytest.mark.protocol

FORM = form("Ada", "Hello")


# Persistence (RFC 9112, 9.3)

def test_http11_keeps_the_connection(server):
    with server.connect() as connection:
        for _ in range(10):
            response = connection.request("/answer")
            assert response.body == b"42"
            assert not response.closes


def test_connection_close(server):
    for values in ["Close"], ["foo,\tclose ,bar"], ["x", "close"]:
        with server.connect() as connection:
            response = connection.request(
                "/answer", fields=[("Connection", value) for value in values])
            assert response.body == b"42"
            assert response.closes, values
            connection.expect_closed()


def test_nothing_after_connection_close_is_answered(server):
    with server.connect() as connection:
        connection.send(
            build("/answer", fields=[("Connection", "close")])
            + build("/hello"))
        assert connection.read_response().body == b"42"
        connection.expect_closed()


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


def test_http10_closes_and_needs_no_host(server):
    with server.connect() as connection:
        response = connection.request("/answer", version="HTTP/1.0",
                                      host=None)
        assert response.body == b"42"
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


def test_a_higher_minor_version_is_answered_as_1_1(server):
    with server.connect() as connection:
        assert connection.request("/answer", version="HTTP/1.9").status == 200
        assert connection.request("/answer").status == 200


def test_errors_keep_the_connection(server):
    """The request was well-formed; that there is no such page is no reason
    to part."""
    with server.connect() as connection:
        for target, status in [("/nothing", 404), ("/answer", 200),
                               ("/.hidden", 404), ("/answer", 200)]:
            response = connection.request(target)
            assert response.status == status
            assert not response.closes


def test_half_closed_client_gets_its_answers(server):
    with server.connect() as connection:
        connection.send(build("/answer") + build("/hello"))
        connection.finish_sending()
        assert connection.read_response().body == b"42"
        assert connection.read_response().body == b"Hello, World!"
        connection.expect_closed()


def test_end_of_file_in_the_middle_of_a_request(server):
    """Closed without an answer, or with 400; what must not be is a server
    that goes on reading the end of file for ever."""
    for part in [b"G", b"GET / HTTP/1.1\r\nHost: a\r\n",
                 b"POST /guestbook HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nguest"]:
        with server.connect() as connection:
            connection.send(part)
            connection.finish_sending()
            if connection.receive():
                assert connection.read_response().status == 400
            connection.expect_closed()
        assert server.request("/answer").status == 200


# How the bytes arrive

def test_one_byte_at_a_time(server):
    with server.connect() as connection:
        request = build("/echo?value=slow", fields=[("X", "y")])
        for byte in request[:-1]:
            connection.send(bytes([byte]))
            server.wait_until_read(connection)
        assert not connection.readable()
        connection.send(request[-1:])
        assert "slow" in connection.read_response().text


def test_a_body_one_byte_at_a_time(server):
    body = chunked(FORM[:9], FORM[9:], extension=";a=b",
                   trailers=[("T", "v")])
    with server.connect() as connection:
        connection.send(build("/guestbook", "POST", [
            URLENCODED, ("Transfer-Encoding", "chunked")]))
        for byte in body[:-1]:
            connection.send(bytes([byte]))
            server.wait_until_read(connection)
        assert not connection.readable()
        connection.send(body[-1:])
        assert connection.read_response().status == 303


def test_split_at_every_byte(server):
    request = b"GET /hello HTTP/1.1\r\nHost:a\r\n\r\n"
    with server.connect() as connection:
        for at in range(1, len(request)):
            connection.send(request[:at])
            server.wait_until_read(connection)
            assert not connection.readable()
            connection.send(request[at:])
            assert connection.read_response().body == b"Hello, World!"


def test_fifty_pipelined_requests_of_all_kinds(server, site):
    site.write("pipeline.txt", b"0123456789" * 10)
    site.write("pipeline-large.txt", b"0123456789" * 20_000)
    kinds = [
        (build("/answer"), "GET", lambda r: r.body == b"42"),
        (build("/guestbook"), "GET",
         lambda r: r.status == 200 and r.body.endswith(b"</html>\n")),
        (build("/pipeline.txt"), "GET",
         lambda r: r.body == b"0123456789" * 10),
        (build("/guestbook", "POST", [URLENCODED], FORM), "POST",
         lambda r: r.status == 303),
        (build("/pipeline-large.txt"), "GET",
         lambda r: r.body == b"0123456789" * 20_000),
        (build("/style.css", "HEAD"), "HEAD",
         lambda r: r.status == 200 and not r.body),
        (build("/nothing"), "GET", lambda r: r.status == 404),
        (build("/pipeline.txt", fields=[("Range", "bytes=3-5")]), "GET",
         lambda r: r.status == 206 and r.body == b"345"),
        (build("/guestbook", "POST",
               [URLENCODED, ("Transfer-Encoding", "chunked")],
               chunked(FORM)), "POST", lambda r: r.status == 303),
        (build("/echo?value=mine"), "GET", lambda r: "<value>mine</value>" in r.text),
    ]
    with server.connect() as connection:
        connection.send(b"".join(kinds[i % 10][0] for i in range(50)))
        for i in range(50):
            _, method, is_right = kinds[i % 10]
            response = connection.read_response(method)
            assert is_right(response), (i, response)


def test_a_line_end_behind_a_form_belongs_to_the_next_request(server):
    """Old clients send one that belongs to nothing (RFC 9112, 2.2), in the same
    packet or in a later one."""
    signature = build("/guestbook", "POST", [URLENCODED], FORM)
    with server.connect() as connection:
        for at_once, later in (b"\r\n", b""), (b"", b"\r\n"):
            connection.send(signature + at_once)
            assert connection.read_response().status == 303
            connection.send(later)
            assert connection.request("/answer").body == b"42"


def test_lines_may_end_in_a_bare_lf(server):
    """RFC 9112, 2.2 allows it; so one can type a request with nc."""
    with server.connect() as connection:
        connection.send(b"GET /answer HTTP/1.1\nHost: a\n\n")
        assert connection.read_response().body == b"42"


def test_fields_in_any_spelling(server):
    """Names in any case, space around a value, none in it, or bytes beyond ASCII."""
    with server.connect() as connection:
        connection.send(b"\r\nGET /answer HTTP/1.1\r\nhOsT:\t a \t\r\nEmpty:\r\n"
                        b"X: \xc3\xbc\xff \"#\r\ncOnNeCtIoN:   ClOsE  \r\n\r\n")
        assert connection.read_response().closes
        connection.expect_closed()


# Targets (RFC 9112, 3.2) and hosts (RFC 3986, 3.2.2)

def test_absolute_form(server):
    """Without a path it is the home page."""
    for target in "http://test/answer", "HTTP://test:8000/answer", "http://[::1]:80/answer?q":
        assert server.request(target).body == b"42", target
    for target in "http://test", "http://test?query":
        assert server.request(target).body == server.request("/").body


def test_any_valid_host(server):
    """The port may be left out though its colon is there. Where the target names a host, that
    counts; without either there is none, and no http URI: see test_malformed."""
    for host in "localhost:8000", "localhost:", "[::1]", "[2001:db8::1]:80", "caf%C3%A9":
        assert server.request("/answer", host=host).body == b"42", host
    assert server.request("http://test/answer", host="").body == b"42"
    assert server.request("/answer", host="", version="HTTP/1.0").body == b"42"


# Data of one client must not reach another.

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
