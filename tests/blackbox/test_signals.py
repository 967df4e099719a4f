"""Signals: stopping without losing anything, and reports. Both with a hundred clients are in
tests/faults/test_stop.py."""

import os
import signal

import pytest

from tests.support.client import Closed, build
from tests.support.processes import children, session_members, wait_for
from tests.support.scenarios import complete, half
from tests.support.servers import is_refused


@pytest.fixture
def large(own_site):
    """A site with a file that no socket buffer can swallow."""
    content = os.urandom(1 << 20) * 8
    own_site.write("large.bin", content)
    own_site.content = content
    return own_site


# Stopping

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_immediately_after_the_start(launch, number):
    """Ready means that signals are taken care of, too."""
    for _ in range(3):
        assert launch().stop(number) == (0, 0)


def test_idle_connections_do_not_delay_the_stop(launch):
    """They are closed, not waited for: keep-alive is a day, and so is what
    a drain may take."""
    server = launch("--keep-alive", "86400", "--drain-timeout", "86400")
    with server.connect() as connection:
        assert connection.request("/answer").body == b"42"
        server.send_signal(signal.SIGTERM)
        connection.expect_closed()
        assert server.finish() == (1, 1)


def test_stop_while_a_page_waits_for_redis(launch, own_redis):
    server = launch("--drain-timeout", "3600", redis=own_redis.address)
    assert server.request("/guestbook").status == 200
    own_redis.freeze()
    with server.connect() as connection:
        connection.send(build("/guestbook"))
        server.wait_until_read(connection)
        server.send_signal(signal.SIGTERM)
        own_redis.thaw()
        assert connection.read_response().status in (200, 503)
        connection.expect_closed()
        server.finish()


def test_every_answer_that_was_begun_is_finished(launch, large, server_name):
    """Whole, for several slow readers where the model serves several; new clients are
    refused, exit status 0."""
    server = launch("--drain-timeout", "3600", "--request-timeout", "3600",
                    root=large.root)
    count = 1 if server_name == "iterative" else 4
    readers = [server.connect(receive_buffer=8192) for _ in range(count)]
    for reader in readers:
        reader.send(build("/large.bin"))
    for reader in readers:
        assert reader.receive(1000)
    server.send_signal(signal.SIGTERM)
    wait_for(lambda: is_refused(server), "new clients to be refused")
    assert server.is_running()
    for reader in readers:
        reader.widen()
        assert reader.read_response().body == large.content
        reader.expect_closed()
        reader.close()
    assert server.finish()[0] == count


@pytest.mark.slow
def test_the_drain_time_out_bounds_the_stop(launch, large):
    """A reader that never reads on is cut off; the stop is still a clean
    one."""
    server = launch("--drain-timeout", "0.5", root=large.root)
    with server.connect(receive_buffer=8192) as reader:
        reader.send(build("/large.bin"))
        assert reader.receive(1000)
        server.send_signal(signal.SIGTERM)
        server.finish()
        with pytest.raises(Closed):
            reader.read_response()


def test_a_second_signal_stops_immediately(launch, large):
    server = launch("--drain-timeout", "3600", root=large.root)
    with server.connect(receive_buffer=8192) as reader:
        reader.send(build("/large.bin"))
        assert reader.receive(1000)
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(server), "the first signal to be seen")
        assert server.is_running()

        def has_ended():  # what comes within 0.2 s is no second time
            server.send_signal(signal.SIGTERM)
            return not server.is_running()
        wait_for(has_ended, "the second signal to be obeyed")
        assert server.wait() in (0, 1)
        wait_for(lambda: not session_members(server.pid),
                 "its children to end, too")
    server.end()


def test_one_request_to_stop_may_come_twice(launch):
    """timeout(1) signals its child, then the group that the child is in. A request that was
    begun is finished, and told that it was the last."""
    server = launch()
    with half(server) as connection:
        server.send_signal(signal.SIGTERM)
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(server), "the signal to be seen")
        assert server.is_running()
        connection.send(b"\r\n")
        response = connection.read_response()
        assert response.status == 200 and response.closes
        connection.expect_closed()
    assert server.finish()[0] == 1


@pytest.mark.only("forking")
def test_a_stuck_child_at_the_bound_does_not_keep_its_parent(launch):
    server = launch("--max-children", "1", "--drain-timeout", "0.5")
    with half(server):
        [child] = children(server.pid)
        os.kill(child, signal.SIGSTOP)
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0
    server.end()


# Reports

def test_the_report_counts(launch):
    server = launch()
    with server.connect() as connection:
        connection.send(build("/answer") * 7)
        for _ in range(7):
            connection.read_response()
    for _ in range(5):
        assert server.request("/guestbook").status == 200
    assert server.request("/nothing").status == 404
    assert server.stop() == (13, 7)


def test_sigusr1_reports_and_goes_on(launch):
    server = launch()
    for i in range(1, 4):
        assert server.request("/answer").body == b"42"
        # A server counts an answer before it sends it, but in 02 and 03 that
        # is another process's work, and its close comes after ours.
        server.send_signal(signal.SIGUSR1)
        assert server.read_report() == (i, i)
    assert server.stop() == (3, 3)


def test_sigusr1_while_a_client_is_served(launch):
    """A signal that interrupts a wait must not end it."""
    server = launch()
    with half(server) as connection:
        for _ in range(3):
            server.send_signal(signal.SIGUSR1)
            server.read_report()
        complete(connection)
    server.stop()


def test_the_last_report_says_who_used_the_cpu_time(launch, server_name):
    """A computation is charged to the process that made it, to a child when it has ended."""
    server = launch("--compute")
    assert server.request("/compute?ms=100").status == 200
    server.stop()
    of_server, of_children = sum(server.cpu_seconds[:2]), sum(server.cpu_seconds[2:])
    if server_name in ("forking", "preforking"):
        assert of_children >= 0.09 > of_server
    else:
        assert of_server >= 0.09 and of_children == 0


def test_signals_that_are_no_reason_to_end(launch, server_name):
    """Neither for the process that was started nor for its workers."""
    server = launch()
    if server_name == "preforking":
        wait_for(lambda: len(children(server.pid)) == 4, "its workers")
    with server.connect() as connection:
        assert connection.request("/answer").body == b"42"
        members = session_members(server.pid)
        for number in signal.SIGPIPE, signal.SIGXFSZ, signal.SIGUSR2, signal.SIGIO:
            for pid in members:
                os.kill(pid, number)
            assert connection.request("/answer").body == b"42"
            assert session_members(server.pid) == members, number
