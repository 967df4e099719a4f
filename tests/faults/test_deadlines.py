"""Every wait for a client has an end, and slow clients delay others only as far
as the architecture does."""

import socket
import time

import pytest

from tests.support.client import Closed, Reset, build
from tests.support.crowd import Crowd
from tests.support.guest import URLENCODED
from tests.support.procfs import is_held, is_served
from tests.support.processes import DEADLINE, expect_below
from tests.support.scenarios import slow_clients
from tests.support.servers import serving
from tools.kit.servers import POOL, SEQUENTIAL, WORKER_EACH

TIMEOUT = 0.6           # seconds, for the option under test
NEVER = "3600"
# Seconds on top of each of the times below. These tests tell bounded from unbounded;
# docs/reference/promises.md has the promises.
SLACK = 3.0

POOLS = serving(3, SEQUENTIAL, WORKER_EACH, POOL)


def send_until_told(connection, data, pause):
    """Send byte after byte, `pause` seconds apart, until the server has
    something to say or closes. Returns how long that took, in seconds."""
    began = time.monotonic()
    for byte in data:
        if connection.readable(pause) or not connection.send(bytes([byte])):
            break
        assert time.monotonic() - began < DEADLINE
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

@pytest.mark.parametrize("pause", [0.001, 0.2])
def test_a_head_that_drips(launch, pause):
    server = launch("--request-timeout", TIMEOUT, "--keep-alive", NEVER)

    def seconds_until_told():
        with server.connect() as connection:
            took = send_until_told(connection, b"GET / HTTP/1.1\r\nHost: a\r\nX: "
                                   + b"y" * 10_000, pause)
            response = connection.read_response()
            assert response.status == 408 and response.closes
            connection.expect_closed()
        assert took > 0.8 * TIMEOUT
        return took

    expect_below(TIMEOUT + SLACK, seconds_until_told)


BODIES = [(("Content-Length", "60000"), b"x" * 30_000),
          (("Transfer-Encoding", "chunked"), b"EA60\r\n" + b"x" * 30_000),
          (("Transfer-Encoding", "chunked"), b"1\r\nx\r\n" * 5_000)]


def test_a_body_that_drips(launch):
    server = launch("--request-timeout", TIMEOUT, "--keep-alive", NEVER)

    def seconds_until_told(framing, data):
        with server.connect() as connection:
            began = time.monotonic()    # the head is the request's beginning
            connection.send(build("/guestbook", "POST", [URLENCODED, framing]))
            send_until_told(connection, data, 0.002)
            took = time.monotonic() - began
            assert connection.read_response().status == 408
            connection.expect_closed()
        assert took > 0.8 * TIMEOUT
        return took

    for body in BODIES:
        expect_below(TIMEOUT + SLACK, lambda b=body: seconds_until_told(*b))


def test_a_refused_client_cannot_stay_by_sending_more(launch):
    """After an error the server reads on, so that no reset destroys its answer:
    for a second, not for as long as the client sends."""
    server = launch("--request-timeout", NEVER, "--keep-alive", NEVER)

    def seconds_it_stays():
        with server.connect() as connection:
            connection.send(b"nonsense\r\n\r\n")
            assert connection.read_response().status == 400
            began = time.monotonic()
            while is_held(server, connection):
                assert time.monotonic() - began < DEADLINE
                connection.send(b"x")
                time.sleep(0.01)
            return time.monotonic() - began

    expect_below(1 + SLACK, seconds_it_stays)


@pytest.mark.parametrize("chatty", [False, True], ids=["silent", "chatty"])
def test_a_reader_that_does_not_read(launch, large, chatty):
    """Also when it sends more: only taking the answer counts."""
    server = launch("--request-timeout", TIMEOUT, "--keep-alive", NEVER,
                    root=large.root)

    def seconds_it_stays():
        with server.connect(receive_buffer=8192) as reader:
            fill(reader, "/large.bin")
            began = time.monotonic()
            while is_served(server, reader):
                assert time.monotonic() - began < DEADLINE
                if chatty:
                    reader.send(b"G")
                time.sleep(0.02)
            return time.monotonic() - began

    expect_below(TIMEOUT + 5 * SLACK, seconds_it_stays)


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


def test_a_reader_that_makes_room_in_small_steps_is_served(launch, large):
    """Whose segments are as small as on a real network: the window never opens as far
    as the piece that waits at the head of the server's queue."""
    server = launch("--request-timeout", TIMEOUT, "--keep-alive", NEVER,
                    root=large.root)
    with socket.socket() as reader:
        reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        reader.settimeout(DEADLINE)
        reader.connect(server.address)
        reader.sendall(build("/large.bin"))
        ends = time.monotonic() + 12 * TIMEOUT
        while time.monotonic() < ends:
            assert reader.recv(3000)
            time.sleep(0.05)


def test_an_idle_connection_that_was_busy(launch):
    """Kept for --keep-alive after its last answer, not its first, and not much longer."""
    server = launch("--request-timeout", NEVER, "--keep-alive", 2 * TIMEOUT)

    def seconds_it_stays():
        with server.connect() as connection:
            try:
                for _ in range(10):
                    began = time.monotonic()    # before the server's clock
                    connection.request("/answer")
                    time.sleep(TIMEOUT / 4)
            except (Closed, Reset):     # the machine slept longer than the deadline
                return DEADLINE
            connection.expect_closed()
            took = time.monotonic() - began
        assert took > 2 * TIMEOUT * 0.9
        return took

    expect_below(2 * TIMEOUT * 9 / 8 + SLACK, seconds_it_stays)


# What others notice

@pytest.mark.only("poll", "epoll")
def test_two_thousand_slow_clients(launch):
    """One byte a second each. A normal client does not notice, and each slow
    client gets a 408 at its deadline."""
    timeout = 3
    server = launch("--request-timeout", timeout)

    def longest_delay():
        crowd = Crowd(server.address, 2000, 1.0)
        delays = []
        try:
            crowd.wait_until_ready()
            with server.connect() as normal:
                while not delays or not crowd.is_gone():
                    began = time.monotonic()
                    assert normal.request("/answer").body == b"42"
                    delays.append(time.monotonic() - began)
                    time.sleep(0.01)
            figures = crowd.finish()
        finally:
            crowd.end()
        assert figures["refused"] == 2000 and figures["reset"] == 0
        assert figures["shortest"] > 0.9 * timeout
        return max(sorted(delays)[int(0.99 * len(delays))], figures["longest"] - timeout)

    expect_below(SLACK, longest_delay)


@pytest.mark.only(*POOLS)
def test_slow_clients_in_every_worker(launch, server_name):
    """The price of a process or a thread for each client: as many slow clients
    as there may be of them make all others wait, until --request-timeout."""
    places = 1 if server_name == "iterative" else 3
    timeout = 2.0
    server = launch(*POOLS[server_name], "--request-timeout", timeout)
    expect_below(timeout + SLACK, lambda: slow_clients(server, places, 0.9 * timeout))
