"""The access log: its lines, a reader that stops reading, and rotation."""

import contextlib
import os
import shutil
import signal

import pytest

from tests.support.access_log import fields, log_lines
from tests.support.client import build
from tests.support.processes import wait_for
from tests.support.servers import SMALL_POOL


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


@pytest.mark.protocol
def test_a_client_cannot_forge_a_line(launch, own_site):
    """One request, one line, of printable ASCII. tests/unit/test_access_log.c has more."""
    log = own_site.root / "access.log"
    server = launch("--access-log", log)
    statuses = []
    for line in [b"GET /\x1b[31mred HTTP/1.1\r\n", b"GET /a\x00b HTTP/1.1\r\n",
                 b"\x01\x02\x7f\x80\xff\r\n", b"GET /\"quoted\"\\ HTTP/1.1\r\n",
                 b"GET /x HTTP/1.1\rforged\r\n",
                 b"GET /%0a127.0.0.1%20-%20-%20%22forged HTTP/1.1\r\n",
                 b"GET /" + b"x" * 7000 + b" HTTP/1.1\r\n"]:
        with server.connect() as connection:
            connection.send(line + b"Host: a\r\n\r\n")
            statuses.append(connection.read_response().status)
            lines = log_lines(log, len(statuses))
            assert lines[-1].isprintable()
            assert [fields(one)[1] for one in lines] == statuses


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


def test_sighup_without_a_log_is_no_end(server):
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

    def is_reopened():
        """The new file exists before its descriptor takes the place of the old one."""
        server.request("/answer")
        return log.exists() and log.stat().st_size > 0

    wait_for(is_reopened, "a line in the new log")
    assert server.stderr() == ""
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
