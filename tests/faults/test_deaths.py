"""Workers that die are replaced, and cost no more than the clients that they were serving."""

import contextlib
import os
import signal
import time

import pytest

from tests.support.client import Closed, build
from tests.support.load import Load
from tests.support.procfs import cpu_seconds, owner
from tests.support.processes import children, expect_below, wait_for, zombies
from tests.support.scenarios import replacement

# Promised: replaced within 100 ms. A sanitized server may add:
SLACK = 2.0
OPTIONS = {"preforking": ["--workers", "4"], "epoll": ["--workers", "4"]}


@pytest.fixture
def workers(launch, server_name):
    """A server with four worker processes."""
    server = launch(*OPTIONS[server_name])
    wait_for(lambda: len(children(server.pid)) == 4, "four workers")
    return server


@pytest.mark.only(*OPTIONS)
def test_a_killed_worker_is_replaced(workers):
    """Under load, and only the clients that it was serving notice.

    A connection for each request: an idle one of a client that the machine holds up
    may be closed in favour of a waiting client, just as the next request is sent.
    """
    load = Load(workers, 8, keep_alive=False)
    load.wait_for_answers(100)
    killed = 0

    def kill_one(server):
        nonlocal killed
        killed += 1
        return replacement(server)

    for _ in range(4):
        expect_below(0.1 + SLACK, lambda: kill_one(workers))
        load.wait_for_answers(100)
    load.stop()
    # A worker of 03 has one client; a loop of 07 may have all eight.
    at_a_time = 1 if workers.name == "preforking" else 8
    assert load.unanswered + len(load.faults) <= killed * at_a_time
    assert load.refused == 0


@pytest.mark.only("forking", *OPTIONS)
def test_the_clients_of_the_others_do_not_notice(launch, server_name):
    """Each worker has clients with half a request; then one is killed."""
    server = launch(*OPTIONS.get(server_name, ()), "--request-timeout", "3600")
    with contextlib.ExitStack() as stack:
        owned = {}
        for _ in range(4 if server_name == "preforking" else 8):
            connection = stack.enter_context(server.connect())
            connection.send(build("/hello")[:-2])
            server.wait_until_read(connection)
            [pid] = [pid for pid in owner(server, connection)
                     if pid != server.pid]
            owned.setdefault(pid, []).append(connection)
        assert len(owned) > 1
        victim = next(iter(owned))
        os.kill(victim, signal.SIGKILL)
        for connection in owned.pop(victim):
            with pytest.raises(Closed):
                connection.read_response()
        for connections in owned.values():
            for connection in connections:
                connection.send(b"\r\n")
                assert connection.read_response().body == b"Hello, World!"


@pytest.mark.only(*OPTIONS)
def test_a_crash_loop_backs_off(launch, server_name):
    """What kills each new worker immediately must not keep the machine busy with
    starting others."""
    server = launch("--workers", "2")
    wait_for(lambda: len(children(server.pid)) == 2, "two workers")
    killed = set()              # one that was killed may be there a while longer
    before, began = cpu_seconds(server), time.monotonic()
    while len(killed) < 10:
        for pid in children(server.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.002)
    # The first two immediately; each of the others lives in a second of its own.
    assert time.monotonic() - began > 3 * 0.9
    assert cpu_seconds(server) - before < 1.0
    wait_for(lambda: len({*children(server.pid)} - killed) == 2, "two workers that live")
    wait_for(lambda: not zombies(server.pid), "all to be reaped")
    assert server.request("/answer").body == b"42"


@pytest.mark.only("forking")
def test_children_that_crash_cost_their_own_clients(launch):
    """Each child is killed as soon as it is seen, for a while."""
    server = launch()
    load = Load(server, 8, keep_alive=False)
    load.wait_for_answers(50)
    killed = 0
    while killed < 10:
        for pid in children(server.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.001)
    load.wait_for_answers(100)
    load.stop()
    assert load.unanswered + len(load.faults) <= killed
    assert load.refused == 0
    wait_for(lambda: not children(server.pid) and not zombies(server.pid), "all to be reaped")
