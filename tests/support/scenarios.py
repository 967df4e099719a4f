"""The faults, played against a running server.

Each function returns what was seen, mostly in seconds. The tests compare it
with the promise and a margin for busy machines; measure.py writes it down.
"""

import collections
import contextlib
import os
import resource
import signal
import threading
import time

from tests.support.client import build
from tests.support.guest import URLENCODED, form
from tests.support.procfs import age
from tests.support.processes import DEADLINE, children, wait_for     # for what hangs

DESCRIPTORS = 64             # of few_descriptors()


def few_descriptors():
    """For preexec_fn: what `ulimit -n 64` does."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


@contextlib.contextmanager
def crowd(server, data, count=500):
    """Connect `count` clients that have all sent `data`."""
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(count):
            connections.append(stack.enter_context(server.connect()))
            connections[-1].send(data)
        yield connections


def half(server):
    """Return a connection with half a request that the server has read."""
    connection = server.connect()
    connection.send(build("/echo?value=half")[:-2])
    server.wait_until_read(connection)
    return connection


def complete(connection):
    """Send the other half and check the answer."""
    connection.send(b"\r\n")
    assert "half" in connection.read_response().text


def slow_clients(server, count, patience=0.0):
    """Let `count` clients drip a request; return how many seconds a normal
    client waits for its answer while they do.

    The slow ones drip until the normal one has been answered, or the server
    has ended them. AssertionError if the normal one is answered before the first
    of them has had `patience` seconds.
    """
    with contextlib.ExitStack() as stack:
        slow, first = [], time.monotonic()
        for _ in range(count):
            connection = stack.enter_context(server.connect())
            connection.send(b"GET /answer HTTP/1.1\r\nHost: a\r\nX: ")
            server.wait_until_read(connection)
            slow.append(connection)
        normal = stack.enter_context(server.connect())
        began = time.monotonic()
        normal.send(build("/answer"))
        while not normal.readable(0.05):
            assert time.monotonic() - began < DEADLINE, "no client is served"
            for connection in slow:
                connection.send(b"y")
        took = time.monotonic() - began
        assert time.monotonic() - first > patience, "served too early"
        assert normal.read_response().body == b"42"
    return took


def away(server, requests=3):
    """Ask for the guestbook while Redis does not answer as it should.

    Returns the seconds that the slowest of `requests` pages, and as many posts,
    took to become a 503. AssertionError if any becomes something else, or if
    the pages that need no Redis fail in that time.
    """
    slowest = 0.0
    for i in range(requests):
        for method, body in [("GET", b""), ("POST", form("Ada", f"no {i}"))]:
            began = time.monotonic()
            response = server.request("/guestbook", method,
                                      [URLENCODED] if body else [], body)
            slowest = max(slowest, time.monotonic() - began)
            assert response.status == 503
            assert server.request("/answer").body == b"42"
            assert server.request("/").status == 200
    return slowest


def recovery(server):
    """Return the seconds until the guestbook is there again, for good.

    Each process or thread finds Redis again on its own, the last one up to half
    a second after the first: so pages have to come for longer than that.
    """
    began = time.monotonic()
    took, pages = 0.0, 0
    while pages < 20:
        if server.request("/guestbook").status == 200:
            took = took if pages else time.monotonic() - began
            pages += 1
        else:
            pages = 0
        assert time.monotonic() - began < DEADLINE, "Redis is not found again"
        time.sleep(0.03)
    return took


class Signers:
    """Guests that sign the guestbook as fast as it thanks them, each remark
    with a number of its own. `thanked` holds those that were, `asked` all."""

    def __init__(self, server, count):
        self.asked = []
        self.thanked = []
        self.refused = 0
        self._server = server
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._sign, args=(i,),
                                          daemon=True) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def _sign(self, guest):
        number = 0
        while not self._stop.is_set():
            remark = f"remark {number} of {guest}"
            number += 1
            with self._lock:
                self.asked.append(remark)
            response = self._server.request(
                "/guestbook", "POST", [URLENCODED], form("Ada", remark))
            assert response.status in (303, 503), response
            with self._lock:
                if response.status == 303:
                    self.thanked.append(remark)
                else:
                    self.refused += 1

    def stop(self):
        """Let everybody finish. AssertionError if one has given up."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert len(self.asked) == len(self.thanked) + self.refused


def exactly_once(server, redis, rounds=5, guests=8):
    """Kill and restart a Redis `rounds` times while guests sign.

    Returns (thanked, refused, lost, twice): numbers of remarks that were thanked
    for and of those that were not; of those thanked for that are not in the list;
    and of all that are in it more than once.
    """
    signers = Signers(server, guests)
    for _ in range(rounds):
        some = len(signers.thanked) + 40
        wait_for(lambda: len(signers.thanked) >= some, "remarks to be thanked")
        redis.stop()                    # SIGKILL
        refused = signers.refused + guests
        wait_for(lambda: signers.refused >= refused, "remarks to be refused")
        redis.start()
    some = len(signers.thanked) + 40
    wait_for(lambda: len(signers.thanked) >= some, "remarks to be thanked")
    signers.stop()
    stored = collections.Counter(
        remark.decode().removesuffix(" - Ada")
        for remark in redis("LRANGE", "guestbook_remarks", "0", "-1"))
    return (len(signers.thanked), signers.refused,
            sum(stored[remark] == 0 for remark in signers.thanked),
            sum(count > 1 for count in stored.values()))


def replacement(server):
    """Kill a worker process that is older than a second, as younger ones are
    replaced later; return the seconds until there is another."""
    before = set(children(server.pid))
    victim = max(before, key=age)
    wait_for(lambda: age(victim) > 1.1, "a worker to be old enough")
    os.kill(victim, signal.SIGKILL)
    began = time.monotonic()
    while not set(children(server.pid)) - before:
        assert time.monotonic() - began < DEADLINE, "no other was started"
        time.sleep(0.001)
    return time.monotonic() - began
