"""Every call that a server makes is short, interrupted or failing now and then.

A failure names its seed: `pytest tests/shim --seed N --servers NAME` plays the
same faults again.
"""

import collections
import re
import signal
import time

import pytest

from tests.support.client import build
from tests.support.guest import URLENCODED, form
from tests.support.procfs import cpu_seconds
from tests.support.processes import wait_for
from tests.support.servers import is_refused
from tests.shim.shim import HARD, LACKING, NO_ROOM, SOFT
from tests.shim.traffic import Traffic

# Few slots: the limits are part of what is tried.
OPTIONS = {"forking": ["--max-children", "4"],
           "threaded": ["--max-threads", "4"]}
LINE = re.compile(r'\S+ - - \[[^]]+\] "(\S+ \S+) HTTP/1\.1" (\d+) (\d+)')

# Faults that only these servers, or servers of this kind, can have.
BLOCKING = {"recv_interrupted", "send_interrupted",
            "redis_read_interrupted", "redis_write_interrupted",
            "accept_interrupted", "redis_connect_interrupted"}
LOOP = {"send_again", "sendfile_again", "redis_read_again",
        "redis_write_again", "accept_again"}
OF_EPOLL = {"epoll_wait_interrupted", "epoll_add_watches",
            "epoll_add_memory", "redis_epoll_memory"}
OF_FORKING = {"fork_processes", "fork_memory"}
OF_THREADED = {"thread_threads", "sem_wait_interrupted"}


def possible(faults, server_name, spares_memory):
    """Return those of the faults that the server can have."""
    loop = server_name in ("poll", "epoll")
    impossible = BLOCKING if loop else LOOP
    for name, its in {"epoll": OF_EPOLL, "forking": OF_FORKING,
                      "threaded": OF_THREADED}.items():
        if name != server_name:
            impossible = impossible | its
    if server_name == "epoll":
        impossible = impossible | {"poll_interrupted"}
    if spares_memory:
        impossible = impossible | {"malloc_memory"}
    return {name: chance for name, chance in faults.items()
            if name not in impossible}


class Run:
    """A server with the library, its log, and what was asked of it."""

    def __init__(self, launch, shim, site, redis, name):
        self.shim, self.redis, self.name = shim, redis, name
        self.log = site.root / "access.log"
        self.server = launch("--access-log", self.log, "--drain-timeout", 60,
                             "--request-timeout", 60, *OPTIONS.get(name, ()),
                             root=site.root, env=shim.environment)
        self.site = site
        redis("FLUSHALL")
        # Out of memory at its start, a server ends: wait until it serves.
        self.server.request("/answer")

    def play(self, faults, seed, **settings):
        """Let the traffic run under these faults; return it."""
        self.shim.set(possible(faults, self.name, self.shim.spares_memory))
        traffic = Traffic(self.server, self.site, seed, **settings)
        traffic.join()
        self.server.check()
        # At most one shortage is reported in a minute, and no worker ends.
        assert len(self.server.stderr().splitlines()) <= 1, self.server.stderr()
        assert "starting another" not in self.server.stderr()
        return traffic

    def check_calm(self):
        """Without clients it does nothing, although calls go on failing."""
        wait_for(lambda: self.shim.clients == 0, "every client to be closed")
        calls, cpu, began = (self.shim.calls, cpu_seconds(self.server),
                             time.monotonic())
        time.sleep(0.3)                 # the interval that is measured
        seconds = time.monotonic() - began
        assert self.shim.calls - calls < 1000 * seconds
        assert cpu_seconds(self.server) - cpu < 0.1 + seconds / 4

    def check_recovery(self):
        """Without faults it serves everything; Redis may need up to a second."""
        self.shim.stop()
        for target in ("/answer", "/", "/large.bin"):
            assert self.server.request(target).status == 200
        wait_for(lambda: self.server.request("/guestbook").status == 200,
                 "the guestbook")
        wait_for(lambda: self.server.request(
            "/guestbook", "POST", [URLENCODED], form("Ada", "after all")).status
                 == 303, "thanks")

    def check_stop(self):
        """It finishes what has begun, though calls are short and interrupted,
        and ends with 0. Returns how many requests it says that it served."""
        self.shim.set(possible(SOFT, self.name, self.shim.spares_memory))
        with self.server.connect() as connection:
            request = build("/echo?value=late&at=the+end")
            connection.send(request[:-2])
            self.server.wait_until_read(connection)
            self.server.send_signal(signal.SIGTERM)
            wait_for(lambda: is_refused(self.server), "the stop to begin")
            connection.send(request[-2:])
            response = connection.read_response()
            assert response.status == 200 and response.closes
            connection.expect_closed()
        return self.server.finish()[0]

    def check_log(self, traffic, served):
        """Each answer that the server counted has its line, and no other line
        is there; each that arrived has the line of its own request."""
        lines = []
        for line in self.log.read_text(encoding="ascii").splitlines():
            match = LINE.fullmatch(line)
            assert match, f"log line {line!r}"
            lines.append((match[1], int(match[2]), int(match[3])))
        lost = 0 if self.shim.spares_memory else self.shim.injected(["malloc_memory"])
        assert served - lost <= len(lines) <= served
        logged = collections.defaultdict(list)
        for request, status, length in lines:
            logged[request].append((status, length))
        for request, response in traffic.answers:
            entries = logged[f"{request.method} {request.target}"]
            assert [status for status, _ in entries] == [response.status] or \
                lost and not entries, (request.target, entries)
            if entries and request.method != "HEAD":
                assert entries[0][1] == len(response.body), request.target

    def check_remarks(self, traffic):
        """Each remark that was thanked for is there once; no other twice."""
        stored = collections.Counter(
            remark.decode().removesuffix(" - Ada") for remark in
            self.redis("LRANGE", "guestbook_remarks", "0", "-1"))
        thanked = [request.remark for request, response in traffic.answers
                   if response.status == 303]
        assert [r for r in thanked if stored[r] != 1] == []
        assert [r for r, n in stored.items() if n > 1] == []


@pytest.fixture
def run(launch, shim, own_site, own_redis, server_name):
    """A server under the library, with a site and a Redis of its own."""
    return Run(lambda *options, **settings: launch(
        *options, redis=own_redis.address, **settings),
        shim, own_site, own_redis, server_name)


def check_all(run, traffic, faults, seconds):
    """What holds whatever calls fail."""
    assert traffic.faults == []
    asked = len(traffic.answers) + len(traffic.missing)
    # Each call that failed may be tried again, and the loops look at the time.
    counts = run.shim.counts()
    injected = sum(row.injected for row in counts.values())
    assert injected > asked / 10
    if run.name in ("poll", "epoll"):   # an idle client makes room, or is lost
        assert len(traffic.ended) <= \
            run.shim.injected(NO_ROOM) + run.shim.injected(HARD)
    assert run.shim.calls < 60 * asked + 10 * injected + 1000 * seconds
    for name, chance in possible(faults, run.name, run.shim.spares_memory).items():
        if counts[name].tried * chance > 20:    # e**-20 that none comes
            assert counts[name].injected, name
    run.check_calm()
    run.check_recovery()
    served = run.check_stop()
    run.check_remarks(traffic)
    run.check_log(traffic, served)


def test_what_a_call_leaves_the_next_one_does(run, seed):
    """Calls are short, interrupted or have to be repeated: no client notices."""
    began = time.monotonic()
    traffic = run.play(SOFT, seed)
    assert traffic.cut == traffic.refused == []
    for _ in range(20):     # no other client comes that could wake the server
        assert run.server.request("/answer").body == b"42"
    assert {r.status for _, r in traffic.answers} >= {200, 206, 303, 404}
    # On a crowded machine a reply of Redis may be late.
    late = [request.target for request, response in traffic.answers if response.status == 503]
    assert len(late) < len(traffic.answers) / 20
    assert all(target.startswith("/guestbook") for target in late)
    check_all(run, traffic, SOFT, time.monotonic() - began)


def test_a_call_that_fails_costs_its_own_client(run, seed):
    """Without a file, without Redis, without memory for a page: 503. Without
    memory for a client, that one is closed, and all others are served."""
    faults = {**SOFT, **LACKING, **HARD}
    began = time.monotonic()
    traffic = run.play(faults, seed)
    lost = len(traffic.cut) + len(traffic.refused)
    assert lost <= run.shim.injected(HARD)
    # These two pages need nothing but memory.
    without_memory = [request for request, response in traffic.answers
                      if response.status == 503
                      and request.target.startswith(("/answer", "/echo"))]
    assert len(without_memory) <= run.shim.injected(["malloc_memory"])
    check_all(run, traffic, faults, time.monotonic() - began)


@pytest.mark.only("epoll")
def test_a_full_set_serves_a_request_that_is_here(run):
    """The kernel refuses to watch any client (max_user_watches). One whose
    request has come before it is accepted gets its answer."""
    run.shim.set({"epoll_add_watches": 1.0})
    run.server.send_signal(signal.SIGSTOP)
    with run.server.connect() as connection:
        connection.send(build("/answer"))
        run.server.send_signal(signal.SIGCONT)
        assert connection.read_response().body == b"42"
        connection.expect_closed()
    assert run.shim.counts()["epoll_add_watches"].injected == 2
    run.shim.stop()
    assert run.server.request("/answer").body == b"42"
