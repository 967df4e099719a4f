"""Deadlines: what starts one, and what does not start it again. How long each lasts is in
tests/faults/test_deadlines.py."""

import time

import pytest

from tests.support.client import build
from tests.support.processes import expect_below, seconds_of

pytestmark = [pytest.mark.shared, pytest.mark.slow]

SHORT = 0.5             # seconds, for the option under test
NEVER = "3600"


def drip(connection, data, pause=0.02):
    """Send byte after byte until the server says something."""
    for byte in data:
        if connection.readable(pause) or not connection.send(bytes([byte])):
            return
    assert connection.readable(connection.deadline), "patient without end"


def test_a_request_that_stops_in_the_middle(launch):
    """The first of a connection, or a later one."""
    server = launch("--request-timeout", SHORT, "--keep-alive", NEVER)
    for part in [build("/answer")[:-1], build("/answer", fields=[("Content-Length", "5")]),
                 build("/answer") + build("/answer")[:20]]:
        with server.connect() as connection:
            connection.send(part)
            if part.startswith(build("/answer")):
                assert connection.read_response().body == b"42"
            assert connection.read_response().status == 408
            connection.expect_closed()


def test_an_idle_connection_is_not_told_408(launch):
    """There is no request that could have come too late. An empty line begins none
    (RFC 9112, 2.2)."""
    server = launch("--request-timeout", SHORT, "--keep-alive", SHORT)
    for line in b"", b"\r\n", b"\r":
        with server.connect() as connection:
            assert connection.request("/answer").body == b"42"
            connection.send(line)
            connection.expect_closed()


def test_empty_lines_do_not_keep_a_connection_open(launch):
    server = launch("--request-timeout", NEVER, "--keep-alive", SHORT)
    with server.connect() as connection:
        assert connection.request("/answer").body == b"42"
        drip(connection, b"\r\n" * 5000)
        connection.expect_closed()


def test_100_continue_does_not_restart_the_clock(launch):
    """The permission to send the body comes when most of the time has passed.
    A machine that stands still may be late once, not in each attempt."""
    limit, most = 1.5, 1.1
    server = launch("--request-timeout", limit, "--keep-alive", NEVER)
    for _ in range(5):
        with server.connect() as connection:
            connection.send(b"POST /guestbook HTTP/1.1\r\n")
            server.wait_until_read(connection)
            began = time.monotonic()
            connection.expect_silence(most)
            connection.send(b"Host: a\r\nExpect: 100-continue\r\n"
                            b"Content-Length: 30\r\n\r\n")
            status = connection.read_response().status
            if status == 100:           # else the machine stood still
                assert connection.read_response().status == 408
            if time.monotonic() - began < limit + most:
                return
    raise AssertionError(f"five times later than {limit + most} s")


@pytest.mark.only("iterative")
def test_a_refused_client_does_not_delay_others(launch):
    """Although the server reads on for a second."""
    server = launch()

    def wait_behind_it():
        with server.connect() as refused:
            refused.send(b"nonsense\r\n\r\n")
            assert refused.read_response().status == 400
            return seconds_of(lambda: server.request("/answer"))

    expect_below(0.8, wait_behind_it)   # of that second
