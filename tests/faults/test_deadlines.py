"""Every wait for a client has an end, and slow clients delay others only as far
as the architecture does."""

import time

import pytest

from client import build
from crowd import Crowd
from load import Load, percentile
from observe import is_served
from processes import wait_for
from scenarios import slow_clients

TIMEOUT = 0.6           # seconds, for the option under test
NEVER = "3600"
# Seconds that a busy machine may add to each of the times below. These tests tell
# bounded from unbounded; docs/reference/promises.md has the promises.
SLACK = 3.0

POOLS = {"iterative": [], "preforking": ["--workers", "3"],
         "prethreaded": ["--threads", "3"], "forking": ["--max-children", "3"],
         "threaded": ["--max-threads", "3"]}


def send_until_told(connection, data, pause):
    """Send byte after byte, `pause` seconds apart, until the server has
    something to say or closes. Returns how long that took, in seconds."""
    began = time.monotonic()
    for byte in data:
        if connection.readable(pause) or not connection.send(bytes([byte])):
            break
        assert time.monotonic() - began < TIMEOUT + SLACK
    return time.monotonic() - began


def fill(connection, target):
    """Ask for a large file and read nothing of it until no more can come."""
    connection.send(build(target))
    assert connection.readable(10)


@pytest.fixture
def large(own_site):
    """A site with a file that no socket buffer can swallow."""
    own_site.write("large.bin", b"0123456789" * 3_000_000)
    return own_site


# One client's deadlines. Each sends often enough that no single wait of the
# server's is long: what ends the connection is the sum.

@pytest.mark.parametrize("pause", [0.001, 0.02, 0.2])
def test_a_head_that_drips(launch, pause):
    server = launch("--request-timeout", TIMEOUT, "--keep-alive", NEVER)
    with server.connect() as connection:
        took = send_until_told(connection, b"GET / HTTP/1.1\r\nHost: a\r\nX: "
                               + b"y" * 10_000, pause)
        response = connection.read_response()
        assert response.status == 408 and response.closes
        connection.expect_closed()
    assert 0.8 * TIMEOUT < took < TIMEOUT + SLACK


@pytest.mark.parametrize("framing, data", [
    (("Content-Length", "60000"), b"x" * 30_000),
    (("Transfer-Encoding", "chunked"), b"EA60\r\n" + b"x" * 30_000),
    (("Transfer-Encoding", "chunked"), b"1\r\nx\r\n" * 5_000),
], ids=["length", "chunk", "chunks"])
def test_a_body_that_drips(launch, framing, data):
    server = launch("--request-timeout", TIMEOUT, "--keep-alive", NEVER)
    with server.connect() as connection:
        connection.send(build("/guestbook", "POST", [
            ("Content-Type", "application/x-www-form-urlencoded"), framing]))
        took = send_until_told(connection, data, 0.002)
        assert connection.read_response().status == 408
        connection.expect_closed()
    assert 0.8 * TIMEOUT < took < TIMEOUT + SLACK


def test_a_refused_client_cannot_stay_by_sending_more(launch):
    """After an error the server reads on, so that no reset destroys its answer:
    for a second, not for as long as the client sends."""
    server = launch("--request-timeout", NEVER, "--keep-alive", NEVER)
    with server.connect() as connection:
        connection.send(b"nonsense\r\n\r\n")
        assert connection.read_response().status == 400
        began = time.monotonic()
        while is_served(server, connection):
            assert time.monotonic() - began < 1 + SLACK
            connection.send(b"x")
            time.sleep(0.01)


@pytest.mark.parametrize("chatty", [False, True], ids=["silent", "chatty"])
def test_a_reader_that_does_not_read(launch, large, chatty):
    """Also when it sends more: only taking the answer counts."""
    server = launch("--request-timeout", TIMEOUT, "--keep-alive", NEVER,
                    root=large.root)
    with server.connect(receive_buffer=8192) as reader:
        fill(reader, "/large.bin")
        began = time.monotonic()
        while is_served(server, reader):
            assert time.monotonic() - began < TIMEOUT + 5 * SLACK
            if chatty:
                reader.send(b"G")
            time.sleep(0.02)


def test_a_reader_that_reads_slowly_is_served(launch, large):
    """So slowly that the kernel's buffer, of several megabytes, is still nearly
    full at the deadline."""
    server = launch("--request-timeout", 3 * TIMEOUT, "--keep-alive", NEVER,
                    root=large.root)
    with server.connect(receive_buffer=65536) as reader:
        fill(reader, "/large.bin")
        ends = time.monotonic() + 8 * TIMEOUT
        while time.monotonic() < ends:
            assert reader.receive(8192)
            time.sleep(0.02)
        assert is_served(server, reader)


def test_an_idle_connection_that_was_busy(launch):
    """Kept for --keep-alive after its last answer, and not much longer."""
    server = launch("--request-timeout", NEVER, "--keep-alive", 2 * TIMEOUT)
    with server.connect() as connection:
        for _ in range(10):
            connection.request("/answer")
            time.sleep(TIMEOUT / 10)
        began = time.monotonic()
        connection.expect_closed()
        took = time.monotonic() - began
    assert 2 * TIMEOUT * 0.9 < took < 2 * TIMEOUT * 9 / 8 + SLACK


# What others notice

@pytest.mark.only("poll", "epoll")
def test_two_thousand_slow_clients(launch):
    """One byte a second each. A normal client does not notice, and each slow
    client gets a 408 at its deadline."""
    timeout = 6
    server = launch("--request-timeout", timeout)
    crowd = Crowd(server.address, 2000, 1.0)
    try:
        crowd.wait_until_ready()
        load = Load(server, 1)
        wait_for(crowd.is_gone, "the crowd to be told")
        load.stop()
        figures = crowd.finish()
    finally:
        crowd.end()
    assert load.faults == [] and load.unanswered == 0
    assert percentile(load.latencies, 99) < SLACK
    assert load.answered > 100
    assert figures["refused"] == 2000 and figures["reset"] == 0
    assert figures["shortest"] > 0.9 * timeout
    assert figures["longest"] < timeout + SLACK


@pytest.mark.only("poll", "epoll")
def test_slow_clients_of_an_event_loop_delay_no_other(launch):
    assert slow_clients(launch("--request-timeout", NEVER), 50) < SLACK


@pytest.mark.only(*POOLS)
def test_slow_clients_in_every_worker(launch, server_name):
    """The price of a process or a thread for each client: as many slow clients
    as there may be of them make all others wait, until --request-timeout."""
    places = 1 if server_name == "iterative" else 3
    timeout = 2.0
    server = launch(*POOLS[server_name], "--request-timeout", timeout)
    took = slow_clients(server, places)
    assert 0.5 * timeout < took < timeout + SLACK


@pytest.mark.only(*[name for name in POOLS if name != "iterative"])
def test_slow_clients_in_all_workers_but_one(launch, server_name):
    server = launch(*POOLS[server_name], "--request-timeout", NEVER)
    assert slow_clients(server, 2) < SLACK
