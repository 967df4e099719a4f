"""200 clients, while an instance dies, and while all are restarted.

Each test has a neighbour that takes the protection away and sees requests
fail: the first would not notice otherwise that it has become harmless.
"""

import contextlib
import os
import re
import signal
from pathlib import Path

import pytest

from tests.support.client import build
from tests.support.guest import URLENCODED, form
from tests.support.load import Load
from tests.support.processes import session_members, wait_for

CLIENTS = 200
READ = ("/guestbook", "/answer", "/guestbook", "/hello")
SIGN = "POST /guestbook"
haproxy = pytest.mark.parametrize("name", ["haproxy"], indirect=True)


class Guests(Load):
    """200 clients that read, and sign the guestbook where `targets` say so.

    A 303 thanks for a remark. A 503 of an instance (one of the balancer counts
    as failed) says that Redis is slow, as it is on a crowded machine.
    """

    def __init__(self, server, targets=READ, **options):
        super().__init__(server, CLIENTS, targets, prepare=self.request,
                         accept=(200, 303, 503), **options)

    def __enter__(self):
        self.wait_for_answers(500)
        return self

    def __exit__(self, *_):
        self.stop()

    @staticmethod
    def request(target, fields):
        """Return the bytes of a request."""
        if target == SIGN:
            return build("/guestbook", "POST", [*fields, URLENCODED],
                         form("A", "B"))
        return build(target, fields=fields)

    def failed(self):
        """List what failed before an answer had begun."""
        return (["refused"] * self.refused + ["unanswered"] * self.unanswered
                + [fault for fault in self.faults
                   if not re.search("closed (after|within)", fault)])


def unread_requests(port):
    """Return how many connections to a port of this machine hold bytes that
    the server has not read."""
    rows = [line.split() for line in
            Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}")
               and int(row[4].split(":")[1], 16) > 0 for row in rows)


def send_all(session, number):
    """Send a signal to all processes of an instance, its first one first:
    a child of 02 may end in that time, but then no further one is made."""
    for pid in (session, *session_members(session)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def stall(balanced, server_name):
    """Stop an instance until requests that it has not read have piled up, so
    that whatever happens to it next happens to them. Return its pid."""
    pid, port = balanced.instance("s2")
    send_all(pid, signal.SIGSTOP)
    least = 1 if server_name == "iterative" else 10
    wait_for(lambda: unread_requests(port) >= least, "unread requests")
    return pid


def kill_one(balanced, server_name):
    """Kill an instance that has requests."""
    send_all(stall(balanced, server_name), signal.SIGKILL)


def words(server_name, name, *more):
    """Return the words for run.py: three instances that stay dead."""
    return [server_name, "--balancer", name, "--restart-after", "3600", *more]


def test_no_get_fails_when_an_instance_is_killed(balanced, name, server_name):
    server = balanced(*words(server_name, name))
    with Guests(server) as guests:
        kill_one(server, server_name)
        guests.wait_for_answers(500)
    assert not guests.failed()


@pytest.mark.only("epoll")
def test_some_fail_without_retries(balanced, changed, name, server_name):
    line, instead = {"haproxy": ("retry-on", ""),
                     "nginx": ("proxy_next_upstream ", "proxy_next_upstream off;\n")}[name]
    server = balanced(*words(server_name, name, "--template", changed(
        name, line, replace_by=instead)))
    with Guests(server) as guests:
        kill_one(server, server_name)
        guests.wait_for_answers(100)
    assert guests.failed()


@haproxy
def test_no_request_fails_in_a_rolling_restart(balanced, name, server_name):
    """Not even one that must not be sent twice."""
    server = balanced(*words(server_name, name))
    before = [server.instance(one)[0] for one in ("s1", "s2", "s3")]
    with Guests(server, (*READ, SIGN)) as guests:
        server.rolling_restart()
        guests.wait_for_answers(500)
    assert not guests.failed() and not guests.faults
    now = [server.instance(one)[0] for one in ("s1", "s2", "s3")]
    assert not set(before) & set(now)


@pytest.mark.only("epoll")
@pytest.mark.parametrize("name", ["nginx"], indirect=True)
def test_nginx_restarts_them_for_clients_that_connect_again(
        balanced, name, server_name):
    """nginx cannot drain without a reload, and that closes idle connections
    of clients, some just when the next request arrives."""
    server = balanced(*words(server_name, name))
    with Guests(server, (*READ, SIGN), keep_alive=False) as guests:
        server.rolling_restart()
        guests.wait_for_answers(500)
    assert not guests.failed() and not guests.faults


@haproxy
@pytest.mark.only("epoll")
def test_some_fail_without_draining(balanced, name, server_name):
    """SIGTERM alone: requests on their way to the instance are lost, and those
    that sign the guestbook are not sent again."""
    server = balanced(server_name, "--balancer", name, "--restart-after", "0")
    with Guests(server, (SIGN,)) as guests:
        for times in range(2, 12):
            pid = stall(server, server_name)
            os.kill(pid, signal.SIGTERM)
            send_all(pid, signal.SIGCONT)
            server.wait_for_line("^s2: process", times)
            guests.wait_for_answers(100)
            if guests.failed():
                break
    assert guests.failed()
