"""Silent clients: they connect and send nothing, as browsers do in advance. More of them than
descriptors are in tests/faults/test_exhaustion.py."""

import contextlib
import re
import time

import pytest

from tests.support.client import Reset, build
from tests.support.processes import expect_below
from tests.support.servers import LOOPS, ONE_CLIENT, TOP

NEVER = "3600"

# Seconds for which a silent client is safe while others wait for its place.
GRACE = int(re.search(r"FIRST_BYTE_GRACE_MS = (\d+)",
                      (TOP / "common/room.h").read_text())[1]) / 1000
MARGIN = 0.5            # seconds that 500 silent clients may cost on top
CROWD = 500


def cost_of(server, clients):
    """Return the seconds that ordinary clients take, one after the other: few,
    unless the machine is busy or the server sanitized."""
    began = time.monotonic()
    for _ in range(clients // 10):
        assert server.request("/answer").body == b"42"
    return (time.monotonic() - began) * 10


@pytest.mark.slow
def test_behind_silent_clients_a_client_waits_for_one_grace(launch,
                                                            server_name):
    """Their time in the accept queue counts: 500 that come together cost one
    grace, not 500, even where one client is served at a time."""
    server = launch(*ONE_CLIENT[server_name], "--request-timeout", NEVER)

    def beyond_the_cost():
        busy = 3 * cost_of(server, CROWD)
        began = time.monotonic()
        silent = [server.connect() for _ in range(CROWD)]
        assert server.request("/answer").body == b"42"
        took = time.monotonic() - began
        # A client that speaks after that is too late.
        for connection in silent[:3]:
            connection.send(build("/answer"))
            connection.expect_closed()
        for connection in silent:
            connection.close()
        return took - busy

    expect_below(GRACE + MARGIN, beyond_the_cost)


@pytest.mark.slow
@pytest.mark.only("iterative", "forking")
def test_a_silent_client_is_kept_while_no_client_waits(launch, server_name):
    server = launch(*ONE_CLIENT[server_name], "--request-timeout", NEVER)
    with server.connect() as silent:
        silent.expect_silence(GRACE + MARGIN)
        assert silent.request("/answer").body == b"42"


@pytest.mark.only(*LOOPS)
def test_silent_clients_of_an_event_loop_delay_no_other(launch):
    """They are accepted as they come, and each is served when it speaks."""
    server = launch("--request-timeout", NEVER)
    clients = 0

    def three_others():
        nonlocal clients
        silent = [server.connect() for _ in range(CROWD)]
        began = time.monotonic()
        for _ in range(3):
            assert server.request("/answer").body == b"42"
        took = time.monotonic() - began
        for connection in reversed(silent):
            assert connection.request("/hello").body == b"Hello, World!"
            connection.close()
        clients += CROWD + 3
        return took

    expect_below(GRACE, three_others)
    silent = [server.connect() for _ in range(5)]       # and say nothing
    assert server.request("/answer").body == b"42"      # it came after them
    assert server.stop() == (clients + 1, clients + 6)
    for connection in silent:
        connection.close()


def test_a_silent_client_has_a_deadline(launch, server_name):
    server = launch(*ONE_CLIENT[server_name], "--request-timeout", "0.1")
    silent = [server.connect() for _ in range(3)]
    assert server.request("/answer").body == b"42"
    for connection in silent:
        connection.expect_closed()
    assert server.request("/answer").body == b"42"


def test_silent_clients_do_not_delay_the_stop(launch, server_name):
    server = launch(*ONE_CLIENT[server_name], "--request-timeout", NEVER)
    assert server.request("/answer").body == b"42"
    silent = [server.connect() for _ in range(5)]
    server.stop()
    for connection in silent:
        # The kernel resets clients that still wait in the accept queue.
        with contextlib.suppress(Reset):
            connection.expect_closed()
