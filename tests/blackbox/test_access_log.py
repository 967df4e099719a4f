"""The access log: its lines, a reader that stops reading, and rotation. What a line may say
stands in tests/unit/test_access_log.c; rotation under load, in tests/faults/test_stop.py."""

import os
import random
import shutil
import signal

import pytest

from tests.support.access_log import fields, log_lines
from tests.support.client import build, chunked
from tests.support.guest import URLENCODED, form
from tests.support.processes import wait_for


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


# Each line names the request whose answer it counts. A server reads ahead: when an answer is
# complete, its buffer may hold part of the next request, and making room for the rest moves
# that part. The server must write the line before anything moves. Otherwise a client chooses
# what the log says about it.

def requests(generator, count):
    """Return (bytes, method, request line) of requests of all kinds, each with its
    own number."""
    found = []
    for i in range(count):
        name = f"{i}{generator.randint(0, 90) * 'n'}"
        pad = [("X-Pad", generator.randint(0, 700) * "p")]
        method, target, more, body = generator.choice([
            ("GET", f"/echo?value={name}", [], b""),
            ("HEAD", f"/answer?{name}", [], b""),
            ("GET", f"/nothing/{name}", [], b""),
            ("GET", f"/style.css?{name}", [], b""),
            ("GET", f"/guestbook?{name}", [], b""),
            ("POST", f"/guestbook?{name}", [URLENCODED], form("A", name)),
            ("POST", f"/guestbook?{name}",
             [URLENCODED, ("Transfer-Encoding", "chunked")],
             chunked(form("A", name), extension=";" + 9 * "e")),
            ("POST", f"/x?{name}", [], generator.randint(1, 2000) * b"x")])
        found.append((build(target, method, more + pad, body), method,
                      f"{method} {target} HTTP/1.1"))
    return found


@pytest.mark.protocol
@pytest.mark.parametrize("seed", range(3))
def test_lines_and_answers_are_the_same_in_the_same_order(launch, tmp_path, seed):
    """However the requests are split, and whichever of them one read takes."""
    generator = random.Random(seed)
    log = tmp_path / "access.log"
    server = launch("--access-log", log)
    asked = requests(generator, 100)
    data = b"".join(request for request, _, _ in asked)
    with server.connect() as connection:
        while data:
            length = generator.choice([1, 100, 512, 5000, 16384, 40000])
            connection.send(data[:length])
            data = data[length:]
            if generator.random() < 0.3:
                server.wait_until_read(connection)
        answers = [connection.read_response(method) for _, method, _ in asked]
    assert [fields(line) for line in log_lines(log, 100)] == [
        (line, answer.status, len(answer.body))
        for (_, _, line), answer in zip(asked, answers)]


# Its reader and its file

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
