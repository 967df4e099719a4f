"""/compute?ms=N: a page that uses the processor, where all others wait."""

import select
import signal

import pytest

from tests.support.client import build
from tests.support.processes import wait_for
from tests.support.procfs import cpu_seconds
from tests.support.servers import is_refused
from tools.kit.procfs import TICKS


@pytest.mark.protocol
def test_there_is_none_unless_asked_for(server, launch):
    """Each answer to a wrong number: tests/unit/test_endpoints.c."""
    assert server.request("/compute?ms=1000").status == 404
    response = launch("--compute").request("/compute?ms=1001")
    assert response.status == 400 and "whole number" in response.text


@pytest.mark.shared
def test_it_uses_the_cpu_time_that_was_asked_for(launch):
    """By each client's own thread: what the other one's uses does not count."""
    server = launch("--compute")
    before = cpu_seconds(server)
    with server.connect() as first, server.connect() as second:
        for client in first, second:
            client.send(build("/compute?ms=100", fields=[("Connection", "close")]))
        for client in first, second:
            assert client.read_response().body == b"100 ms of CPU time"
    # A child of 02 counts once it is reaped; each time is cut to ticks.
    wait_for(lambda: cpu_seconds(server) - before >= 0.2 - 4 / TICKS, "200 ms of CPU time")


@pytest.mark.shared
def test_pipelined_answers_keep_their_order(launch):
    server = launch("--compute")
    with server.connect() as connection:
        connection.send(build("/compute?ms=30") + build("/answer") + build("/compute?ms=2")
                        + build("/hello"))
        assert [connection.read_response().body for _ in range(4)] == [
            b"30 ms of CPU time", b"42", b"2 ms of CPU time", b"Hello, World!"]


def answered_before(server, milliseconds):
    """Ask for a computation, then, on a second connection, for /answer. Return whether the
    second client has its answer while the first one waits."""
    with server.connect() as first, server.connect() as second:
        first.send(build(f"/compute?ms={milliseconds}", fields=[("Connection", "close")]))
        server.wait_until_read(first)
        second.send(build("/answer"))
        wait_for(lambda: second.readable(1), "the answer of the second client")
        early = not select.select([first.socket], [], [], 0)[0]
        assert second.read_response().body == b"42"
        assert first.read_response().status == 200
    return early


@pytest.mark.slow
@pytest.mark.only("iterative", "poll", "epoll")
def test_one_that_computes_holds_all_others(launch):
    """There is one flow of control, and the page has it until it has computed."""
    server = launch("--compute")
    assert not any(answered_before(server, 100) for _ in range(3))


@pytest.mark.only("poll", "epoll")
def test_one_that_sends_a_hundred_holds_all_others(launch):
    """The loop gets back to other clients when the last of them is done."""
    server = launch("--compute")
    with server.connect() as connection:
        connection.send(build("/compute?ms=1") * 100)
        server.wait_until_read(connection)
        assert server.request("/answer").body == b"42"
        for _ in range(100):
            assert connection.readable(), "another client was served before"
            assert connection.read_response().body == b"1 ms of CPU time"


@pytest.mark.only("poll", "epoll")
def test_one_that_holds_all_others_uses_up_its_keep_alive(launch):
    """Its time has begun before the computation: when another client wakes the loop up, it is
    over."""
    server = launch("--compute", "--keep-alive", "0.1")
    with server.connect() as connection:
        assert connection.request("/compute?ms=150").body == b"150 ms of CPU time"
        assert server.request("/answer").body == b"42"
        assert connection.arrived(), "the time has begun after the computation"
        connection.expect_closed()


@pytest.mark.slow
@pytest.mark.only("forking", "preforking", "threaded", "prethreaded")
def test_one_that_computes_holds_nobody(launch):
    """The kernel shares the processor between workers. (A crowded machine may do so late, but
    not each time.)"""
    server = launch("--compute")
    wait_for(lambda: answered_before(server, 100), "a client that overtakes a computation")


@pytest.mark.shared
def test_a_computation_longer_than_request_timeout_is_answered(launch):
    """The limit is for what the client sends; and another client's limit still holds."""
    server = launch("--compute", "--request-timeout", "0.05", "--keep-alive", "3600")
    with server.connect() as computing, server.connect() as late:
        computing.send(build("/compute?ms=150", fields=[("Connection", "close")]))
        server.wait_until_read(computing)
        late.send(build("/answer")[:-2])
        assert computing.read_response().body == b"150 ms of CPU time"
        assert late.read_response().status == 408
        late.expect_closed()


@pytest.mark.shared
def test_stop_while_a_page_computes(launch):
    """What was begun is finished."""
    server = launch("--compute", "--drain-timeout", "3600")
    with server.connect() as connection:
        connection.send(build("/compute?ms=100"))
        server.wait_until_read(connection)
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(server), "new clients to be refused")
        assert connection.read_response().body == b"100 ms of CPU time"
        connection.expect_closed()
        assert server.finish()[0] == 1


@pytest.mark.shared
def test_stop_without_time_for_a_page_that_computes(launch):
    server = launch("--compute", "--drain-timeout", "0")
    with server.connect() as connection:
        connection.send(build("/compute?ms=100"))
        server.wait_until_read(connection)
        server.send_signal(signal.SIGTERM)
        server.finish()                 # exit status 0, its report, no process left


@pytest.mark.shared
def test_a_client_that_leaves_while_its_page_computes(launch):
    server = launch("--compute")
    connection = server.connect()
    connection.send(build("/compute?ms=100"))
    server.wait_until_read(connection)
    connection.reset()
    assert server.request("/answer").body == b"42"
    assert server.stop()[1] == 2        # connections; the log may miss the first answer
