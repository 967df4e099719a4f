"""200 clients, while an instance dies, and while all are restarted."""

import contextlib
import os
import re
import signal

import pytest

from tests.balancer.conftest import connections
from tests.support.client import build
from tests.support.guest import URLENCODED, form
from tests.support.load import Load
from tests.support.processes import session_members, wait_for
from tools.fleet.balancer.balancers import HAProxy

CLIENTS = 200
READ = ("/guestbook", "/answer", "/guestbook", "/hello")
SIGN = "POST /guestbook"


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
    return sum(int(row[4].split(":")[1], 16) > 0 for row in connections(port))


def send_all(session, number):
    """Send a signal to all processes of an instance, its first one first:
    a child of 02 may end in that time, but then no further one is made."""
    for pid in (session, *session_members(session)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill_one(balanced, server_name):
    """Kill an instance that has requests: it is stopped until some have piled up that it has not
    read."""
    pid, port = balanced.instance("s2")
    send_all(pid, signal.SIGSTOP)
    least = 1 if server_name == "iterative" else 10
    wait_for(lambda: unread_requests(port) >= least, "unread requests")
    send_all(pid, signal.SIGKILL)


def sent_again(server, name):
    """Return whether an instance left a request unanswered that the balancer then sent again:
    HAProxy counts these, nginx prints why."""
    text = server.log.read_text()
    if name == "nginx":
        return "reading response header from upstream" in text
    [folder] = re.findall(r"socat stdio (.*)/admin\.sock", text)
    return HAProxy(folder, {}).status("BACKEND")["wretr"] != "0"


def words(server_name, name):
    """Return the words for run.py: three instances that stay dead."""
    return [server_name, "--balancer", name, "--restart-after", "3600"]


def test_no_get_fails_when_an_instance_is_killed(balanced, name, server_name):
    server = balanced(*words(server_name, name))
    with Guests(server) as guests:
        kill_one(server, server_name)
        guests.wait_for_answers(500)
    assert sent_again(server, name) and not guests.failed()


@pytest.mark.parametrize("name", ["haproxy"], indirect=True)
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
    server.wait_for_line("enters drain state", 3)


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
