"""Signals: stopping without losing anything, reports, a log that rotates."""

import contextlib
import os
import shutil
import signal
import time

import pytest

from tests.support.access_log import fields, log_lines
from tests.support.client import Closed, build
from tests.support.processes import DEADLINE, children, session_members, wait_for
from tests.support.servers import REPORT, SMALL_POOL, is_refused


@pytest.fixture
def large(own_site):
    """A site with a file that no socket buffer can swallow."""
    content = os.urandom(1 << 20) * 16
    own_site.write("large.bin", content)
    own_site.content = content
    return own_site


# Stopping

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop(launch, number):
    server = launch()
    assert server.request("/answer").body == b"42"
    assert server.stop(number) == (1, 1)


def test_stop_without_ever_having_served(launch):
    assert launch().stop() == (0, 0)


def test_stop_immediately_after_the_start(launch):
    """Ready means that signals are taken care of, too."""
    for _ in range(5):
        assert launch().stop() == (0, 0)


def test_idle_connections_do_not_delay_the_stop(launch):
    """They are closed, not waited for: keep-alive is a day, and so is what
    a drain may take."""
    server = launch("--keep-alive", "86400", "--drain-timeout", "86400")
    with server.connect() as connection:
        assert connection.request("/answer").body == b"42"
        server.send_signal(signal.SIGTERM)
        connection.expect_closed()
        assert server.finish() == (1, 1)


def test_stop_in_the_middle_of_an_answer(launch, large):
    """The answer arrives whole, new clients are refused, exit status 0."""
    server = launch("--drain-timeout", "3600", root=large.root)
    with server.connect(receive_buffer=8192) as reader:
        reader.send(build("/large.bin"))
        assert reader.receive(1000)
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(server), "new clients to be refused")
        assert server.is_running()
        reader.widen()
        response = reader.read_response()
        assert response.body == large.content
        reader.expect_closed()
        assert server.finish()[0] == 1


def test_stop_in_the_middle_of_a_request(launch):
    """What was begun is finished, and told that it was the last."""
    server = launch("--drain-timeout", "3600", "--request-timeout", "3600")
    with server.connect() as connection:
        connection.send(build("/echo?value=late")[:-2])
        server.wait_until_read(connection)
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(server), "new clients to be refused")
        assert server.is_running()
        connection.send(b"\r\n")
        response = connection.read_response()
        assert "late" in response.text
        assert response.closes
        connection.expect_closed()
        assert server.finish()[0] == 1


def test_stop_between_head_and_body(launch, redis, site):
    server = launch("--drain-timeout", "3600", "--request-timeout", "3600")
    with server.connect() as connection:
        body = b"guest-name=Late&guest-remarks=but+in+time"
        connection.send(build("/guestbook", "POST", [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Content-Length", str(len(body))),
            ("Expect", "100-continue")]))
        assert connection.read_response().status == 100
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(server), "new clients to be refused")
        connection.send(body)
        assert connection.read_response().status == 303
        connection.expect_closed()
    server.finish()
    assert redis("LINDEX", "guestbook_remarks", "-1") == b"but in time - Late"


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


@pytest.mark.slow
def test_every_answer_that_was_begun_is_finished(launch, large, server_name):
    """Several slow readers at the same time, where the model serves several."""
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
    """timeout(1) signals its child, then the group that the child is in."""
    server = launch()
    with server.connect() as connection:
        connection.send(build("/answer")[:-2])
        server.wait_until_read(connection)
        server.send_signal(signal.SIGTERM)
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(server), "the signal to be seen")
        connection.send(b"\r\n")
        assert connection.read_response().body == b"42"
    server.finish()


@pytest.mark.only("forking")
def test_a_stuck_child_at_the_bound_does_not_keep_its_parent(launch):
    server = launch("--max-children", "1", "--drain-timeout", "0.5")
    with server.connect() as connection:
        connection.send(build("/answer")[:-2])
        server.wait_until_read(connection)
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


def test_sigusr1_reports_and_goes_on(launch, server_name):
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
    with server.connect() as connection:
        connection.send(build("/echo?value=half")[:-2])
        server.wait_until_read(connection)
        for _ in range(3):
            server.send_signal(signal.SIGUSR1)
            server.read_report()
        connection.send(b"\r\n")
        assert "half" in connection.read_response().text
    server.stop()


def test_reports_in_a_row(launch):
    """The next signal comes as soon as the report is out; none is lost."""
    for _ in range(5):
        server = launch()
        for _ in range(3):
            server.send_signal(signal.SIGUSR1)
            assert server.read_report() == (0, 0)
        server.stop()


def test_the_report_counts_the_children_s_time(launch):
    """It grows with work of the parent and with work of its children."""
    server = launch()
    ends = time.monotonic() + DEADLINE
    cpu = []
    while len(cpu) < 2 or cpu[-1] < cpu[0] + 0.05:
        assert time.monotonic() < ends, f"work costs it nothing: {cpu}"
        with server.connect() as connection:
            connection.send(build("/guestbook") * 50)
            for _ in range(50):
                connection.read_response()
        server.send_signal(signal.SIGUSR1)
        match = REPORT.fullmatch(server.read_line())
        cpu.append(float(match[3]) + float(match[4]))


@pytest.mark.parametrize("number", [signal.SIGPIPE, signal.SIGXFSZ,
                                    signal.SIGUSR2, signal.SIGIO])
def test_signals_that_are_no_reason_to_end(launch, server_name, number):
    """Neither for the process that was started nor for its workers."""
    server = launch()
    if server_name == "preforking":
        wait_for(lambda: len(children(server.pid)) == 4, "its workers")
    with server.connect() as connection:
        assert connection.request("/answer").body == b"42"
        members = session_members(server.pid)
        for pid in members:
            os.kill(pid, number)
        assert connection.request("/answer").body == b"42"
        assert session_members(server.pid) == members


# The access log

def test_the_log(launch, own_site):
    log = own_site.root / "access.log"
    server = launch("--access-log", log)
    with server.connect() as connection:
        connection.request("/answer")
        connection.request("/echo?value=a%20b", "HEAD")
        connection.request("/nothing")
        connection.request("/answer", version="HTTP/1.0",
                           fields=[("Connection", "close")])
    size = len(server.request("/guestbook").body)
    lines = [fields(line) for line in log_lines(log, 5)]
    assert lines[0] == ("GET /answer HTTP/1.1", 200, 2)
    assert lines[1] == ("HEAD /echo?value=a%20b HTTP/1.1", 200, 0)
    assert lines[2][:2] == ("GET /nothing HTTP/1.1", 404)
    assert lines[3] == ("GET /answer HTTP/1.0", 200, 2)
    assert lines[4] == ("GET /guestbook HTTP/1.1", 200, size)


def test_the_log_on_standard_output(launch):
    server = launch("--access-log", "-")
    server.request("/answer")
    assert fields(server.read_line().rstrip("\n")) == \
        ("GET /answer HTTP/1.1", 200, 2)


@pytest.mark.parametrize("request_", [
    b"GET /\x1b[31mred HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /a\x00b HTTP/1.1\r\nHost: a\r\n\r\n",
    b"\x01\x02\x7f\x80\xff\r\n\r\n",
    b"GET /\"quoted\"\\ HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /x HTTP/1.1\rforged\r\n\r\n",
    b"GET /%0a127.0.0.1%20-%20-%20%22forged HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /" + b"x" * 7000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
], ids=["escape", "NUL", "garbage", "quotes", "CR", "encoded", "long"])
def test_a_client_cannot_forge_a_line(launch, own_site, request_):
    """One request, one line, of printable ASCII."""
    log = own_site.root / "access.log"
    server = launch("--access-log", log)
    with server.connect() as connection:
        connection.send(request_)
        status = connection.read_response().status
    [line] = log_lines(log, 1)
    assert line.isprintable()
    assert fields(line)[1] == status


def test_sighup_reopens_the_log(launch, own_site, server_name):
    """As logrotate does it: rename, then signal. No line is lost."""
    log = own_site.root / "access.log"
    old = own_site.root / "access.log.1"
    server = launch("--access-log", log)
    for _ in range(10):
        server.request("/answer")
    log_lines(log, 10)
    log.rename(old)
    asked = 0

    def is_reopened():
        nonlocal asked
        server.request("/hello")
        asked += 1
        return log.exists() and log.stat().st_size > 0

    server.send_signal(signal.SIGHUP)
    wait_for(is_reopened, "the new log")
    for _ in range(10):
        server.request("/answer")
    server.stop()
    lines = (old.read_text() + log.read_text()).splitlines()
    requests = [fields(line)[0] for line in lines]
    assert requests.count("GET /answer HTTP/1.1") == 20
    assert requests.count("GET /hello HTTP/1.1") == asked
    assert requests[-10:] == ["GET /answer HTTP/1.1"] * 10
    assert len(log.read_text().splitlines()) >= 11


def test_no_client_waits_for_a_reader_of_the_log(launch, own_site):
    """A pipe takes 64 KiB. When it is full lines are lost, and nothing else."""
    fifo = own_site.root / "log"
    os.mkfifo(fifo)
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb"):
        server = launch("--access-log", fifo)
        target = "/answer?" + 900 * "x"
        for _ in range(10):
            with server.connect() as connection:
                connection.send(build(target) * 20)
                connection.finish_sending()
                for _ in range(20):
                    assert connection.read_response().body == b"42"
        server.stop()


def test_sighup_without_a_log_is_no_end(launch):
    server = launch()
    for _ in range(3):
        server.send_signal(signal.SIGHUP)
        assert server.request("/answer").body == b"42"


def test_the_log_s_folder_may_vanish(launch, own_site):
    """Then the old file goes on being written, and the server goes on."""
    folder = own_site.root / "logs"
    folder.mkdir()
    log = folder / "access.log"
    server = launch("--access-log", log)
    server.request("/answer")
    log_lines(log, 1)
    moved = own_site.root / "elsewhere"
    folder.rename(moved)
    server.send_signal(signal.SIGHUP)
    for _ in range(3):
        assert server.request("/answer").body == b"42"
    log_lines(moved / "access.log", 4)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_another_user_reopens_the_log(launch, own_site):
    """It opened it, too: what can be opened at the start can be reopened."""
    log = own_site.root / "logs/access.log"
    log.parent.mkdir()
    shutil.chown(log.parent, "nobody")
    server = launch("--access-log", log, "--user", "nobody")
    log.rename(log.parent / "access.log.1")
    server.send_signal(signal.SIGHUP)
    wait_for(log.exists, "the new log")
    for _ in range(3):
        server.request("/answer")
    assert server.stderr() == ""
    log_lines(log, 3)
    assert log.owner() == "nobody"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_a_log_that_cannot_be_reopened_is_tried_once(launch, own_site,
                                                     server_name):
    """For each SIGHUP, not at every request after it."""
    folder = own_site.root / "logs"
    folder.mkdir(mode=0o755)
    log = folder / "access.log"
    log.touch()
    shutil.chown(log, "nobody")
    server = launch("--access-log", log, "--user", "nobody")
    server.request("/answer")
    old = log.rename(folder / "access.log.1")
    server.send_signal(signal.SIGHUP)
    wait_for(lambda: "cannot reopen" in server.stderr(), "the one attempt")
    workers = int(SMALL_POOL.get(server_name, ("", 1))[-1])
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(server.connect()) for _ in range(workers)]
        for client in held:     # each holds a worker, which so sees the signal
            client.send(build("/answer")[:-2])
            server.wait_until_read(client)
        for client in held:
            client.send(b"\r\n")
            assert client.read_response().body == b"42"
    log.touch()
    shutil.chown(log, "nobody")
    for _ in range(5):
        server.request("/answer")
    assert log.stat().st_size == 0
    log_lines(old, 1 + workers + 5)
    assert server.stderr().count("cannot reopen") == 1
