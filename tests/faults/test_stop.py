"""Signals that come while a hundred clients are being served."""

import signal
import time

import pytest

from tests.support.client import build
from tests.support.guest import URLENCODED
from tests.support.load import Load
from tests.support.processes import expect_below, wait_for
from tests.support.servers import is_refused

CLIENTS = 100
SLACK = 5.0             # seconds for what takes no time

# So many at a time does each of these serve with the options given here; the
# others have their bound by default, which is more than that.
AT_A_TIME = {"iterative": 1, "preforking": 4, "prethreaded": 4}


@pytest.mark.parametrize("keep_alive", [False, True],
                         ids=["connection each", "keep-alive"])
def test_stop_under_load(launch, keep_alive):
    """What the server counted as served has arrived, whole. Other clients find the
    connection closed, and may ask elsewhere. It is reset if they still wait in the
    accept queue, or if their request was on its way to an idle connection.
    (404 is for the folder; with a hundred clients Redis may be slow: 503.)"""
    server = launch("--drain-timeout", "3600")
    load = Load(server, CLIENTS, ["/answer", "/", "/guestbook",
                                  "/pictures/", "/echo?value=x"],
                keep_alive, accept=(200, 404, 503), expect_reset=True)
    load.wait_for_answers(2 * CLIENTS)
    server.send_signal(signal.SIGTERM)
    requests, _ = server.finish()       # exit status 0, no orphans
    wait_for(lambda: load.refused, "a client to be refused")
    load.stop()
    assert load.faults == []
    assert load.answered == requests


def test_requests_that_have_begun_are_answered(launch, server_name):
    """A hundred clients have sent half a request. As many as the server has
    read of finish it after SIGTERM, and all of them get their answers."""
    server = launch("--drain-timeout", "3600", "--request-timeout", "3600",
                    "--keep-alive", "3600")
    body = b"guest-name=Late&guest-remarks=but+in+time"
    connections = []
    for i in range(AT_A_TIME.get(server_name, CLIENTS)):
        connection = server.connect()
        if i % 2:                       # half a head
            connection.send(build("/echo?value=late")[:-2])
            connection.rest = b"\r\n"
        else:                           # half a body
            connection.send(build("/guestbook", "POST", [URLENCODED], body)[:-10])
            connection.rest = body[-10:]
        connections.append(connection)
    for connection in connections:
        server.wait_until_read(connection)
    server.send_signal(signal.SIGTERM)
    wait_for(lambda: is_refused(server), "new clients to be refused")
    for connection in connections:
        connection.send(connection.rest)
    for connection in connections:
        response = connection.read_response()
        assert response.status in (200, 303)
        assert response.closes
        connection.expect_closed()
        connection.close()
    assert server.finish()[0] == len(connections)


def test_the_drain_timeout_with_many_clients(launch, server_name):
    """Clients that never finish their requests do not keep the server."""
    def seconds_to_stop():
        server = launch("--drain-timeout", "1", "--request-timeout", "3600")
        connections = []
        for _ in range(AT_A_TIME.get(server_name, CLIENTS)):
            connection = server.connect()
            connection.send(build("/answer")[:-2])
            connections.append(connection)
        for connection in connections:
            server.wait_until_read(connection)
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        server.finish()
        for connection in connections:
            connection.close()
        return time.monotonic() - began

    expect_below(1 + SLACK, seconds_to_stop)


def test_signals_are_heard_under_load(launch):
    """Nothing waits for long under load, so no call is interrupted."""
    server = launch()
    load = Load(server, 20)
    load.wait_for_answers(50)
    reports = []
    for _ in range(10):
        server.send_signal(signal.SIGUSR1)
        reports.append(server.read_report())
        load.wait_for_answers(10)
    load.stop()
    assert reports == sorted(reports) and reports[0] < reports[-1]
    assert load.faults == []


def test_the_log_rotates_under_load(launch, own_site):
    """Five rotations; every answer has its line, and just one."""
    folder = own_site.root / "log"
    folder.mkdir()
    log = folder / "access.log"
    server = launch("--access-log", log)
    load = Load(server, 20, keep_alive=True)
    for i in range(5):
        load.wait_for_answers(50)
        log.rename(folder / f"access.log.{i}")
        server.send_signal(signal.SIGHUP)
        wait_for(lambda: log.exists() and log.stat().st_size,
                 "a line in the new log")
    load.stop()
    assert load.faults == []
    requests, _ = server.stop()
    lines = [line for file in folder.iterdir()
             for line in file.read_text(encoding="ascii").splitlines()]
    assert len(lines) == requests == load.answered
    assert all(line.endswith('"GET /answer HTTP/1.1" 200 2') for line in lines)
