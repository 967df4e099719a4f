"""The machine has run out of a resource. The server serves the clients that it
can, reports the shortage once, does not spin, and works normally when there is
enough again."""

import os
import resource

import pytest

from tests.support import others
from tests.support.client import Closed, Reset, build
from tests.support.guest import URLENCODED, form
from tests.support.procfs import expect_calm, status
from tests.support.processes import children, end, spawn, wait_for
from tests.support.scenarios import crowd, few_descriptors
from tests.support.servers import serving
from tools.kit import procfs
from tools.kit.servers import POOL

NEVER = "3600"
# As without SMALL_POOL: so many that descriptors run out before workers do.
MANY = serving(100, POOL)


def patient(launch, server_name, *options, **settings):
    """A server with 64 descriptors, whose timeouts end no client."""
    return launch("--request-timeout", NEVER, "--keep-alive", NEVER,
                  *MANY.get(server_name, ()), *options,
                  preexec_fn=few_descriptors, **settings)


def expect_one_word(server):
    """Check that the shortage was reported at most once."""
    lines = server.stderr().splitlines()
    assert len(lines) <= 1, lines
    return lines


def expect_as_before(server):
    """Check that clients are served as if nothing had been.

    On a machine that stands still for a quarter of a second, Redis is late and the
    guestbook says 503 for once."""
    def three_times():
        for _ in range(3):
            assert server.request("/").status == 200
            if (server.request("/guestbook").status,
                    server.request("/guestbook", "POST", [URLENCODED],
                                   form("Ada", "still here")).status) != (200, 303):
                return False
        return True

    wait_for(three_times, "the guestbook, three times in a row")


# Descriptors

def test_half_requests_hold_every_descriptor(launch, server_name):
    """Nobody can be accepted for a while; then everybody is."""
    server = patient(launch, server_name)
    last = [("Connection", "close")]
    with crowd(server, build("/hello", fields=last)[:-2]) as connections:
        server.wait_until_read(connections[0])
        expect_calm(server)
        for connection in connections:
            connection.send(b"\r\n")
        for connection in connections:
            assert connection.read_response().body == b"Hello, World!"
    expect_as_before(server)
    expect_one_word(server)


def test_idle_connections_make_room_when_descriptors_run_out(
        launch, server_name):
    """Clients that stay connected and silent make room for those that come."""
    server = patient(launch, server_name)
    with crowd(server, build("/hello")) as connections:
        for connection in connections:
            assert connection.read_response().body == b"Hello, World!"
        expect_calm(server)
        expect_as_before(server)
    expect_one_word(server)


def test_silent_clients_make_room_when_descriptors_run_out(
        launch, server_name):
    """Not even those that never said a word."""
    server = patient(launch, server_name)
    with crowd(server, b""):
        assert server.request("/answer").body == b"42"
        expect_calm(server)
        assert server.request("/answer").body == b"42"
    expect_as_before(server)


@pytest.mark.only("iterative", "poll", "epoll")
def test_no_descriptor_for_a_client(launch):
    """Clients wait in the accept queue, and the server says why. (In 01,
    accept4(2) has taken a descriptor before it waits, so the second client finds none.)"""
    server = launch()
    assert server.request("/answer").body == b"42"      # it has what it needs itself
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, hard))    # its standard streams
    with crowd(server, build("/answer"), 2) as connections:
        wait_for(lambda: "ulimit -n" in server.stderr(), "a word about descriptors")
        expect_calm(server)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))
        for connection in connections:
            assert connection.read_response().body == b"42"
    expect_one_word(server)


@pytest.mark.only("iterative", "poll", "epoll")
def test_no_descriptor_for_a_file(launch, own_site):
    """A page whose file cannot be opened now is a 503, not a fault of ours."""
    server = launch(root=own_site.root)
    expect_as_before(server)
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)

    def refused():
        """Leave the lowest descriptor that is free for a client, and none for
        the file. Again each time: the last client's may not be closed yet."""
        taken = set(map(int, os.listdir(f"/proc/{server.pid}/fd")))
        lowest = min(set(range(len(taken) + 1)) - taken)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE,
                         (lowest + 1, hard))
        return server.request("/").status != 200

    wait_for(refused, "a 503")
    assert server.request("/").status == 503
    assert server.request("/answer").body == b"42"
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))
    expect_as_before(server)


# Processes and threads. The kernel does not hold root to this limit, so a
# server that root starts becomes a user with no other processes.

LIMIT = 10

as_root = pytest.mark.skipif(os.geteuid() != 0 or others.CHECKOUT_IS_PRIVATE,
                             reason="needs a user with no other processes, who can enter here")


@pytest.fixture
def few_tasks():
    """A preexec_fn for a user of whose processes and threads there may be no
    more than LIMIT, and are none yet."""
    user = 200_000 + os.getpid()

    def become():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        resource.setrlimit(resource.RLIMIT_NPROC, (LIMIT, LIMIT))
    return become


@as_root
@pytest.mark.only("forking", "threaded")
def test_no_more_processes_or_threads(launch, few_tasks, server_name):
    """At most nine at a time can be made: so nine clients at a time are served,
    and the others wait their turn."""
    server = launch(preexec_fn=few_tasks)
    last = [("Connection", "close")]
    with crowd(server, build("/hello", fields=last)[:-2], 30) as connections:
        count = {"forking": lambda: len(children(server.pid)),
                 "threaded": lambda: len(procfs.threads(server.pid)) - 1}[server_name]
        wait_for(lambda: count() == LIMIT - 1, "as many as may be")
        expect_calm(server)
        for connection in connections:
            connection.send(b"\r\n")
        for connection in connections:
            assert connection.read_response().body == b"Hello, World!"
    assert expect_one_word(server)
    expect_as_before(server)


@as_root
@pytest.mark.only("forking", "threaded")
def test_a_silent_client_where_no_more_tasks_can_be_made(launch, few_tasks):
    """The server serves it itself, and gives it up for the next one when its
    grace is over, not after the hour that a silent client may take otherwise."""
    server = launch("--request-timeout", NEVER, preexec_fn=few_tasks)
    silent = [server.connect() for _ in range(LIMIT + 1)]
    assert server.request("/answer").body == b"42"
    for connection in silent:
        connection.close()


@as_root
@pytest.mark.only("preforking", "epoll")
def test_fewer_workers_than_asked_for(launch, few_tasks, server_name):
    """It works with those it gets, and goes on trying. What the model forbids:
    each loop of 07 has an accept queue of its own, so that clients in the queue
    of one that is missing wait for it."""
    others = [spawn(["sleep", "1000"], preexec_fn=few_tasks) for _ in range(6)]
    try:
        server = launch("--workers", "9", preexec_fn=few_tasks)
        wait_for(lambda: len(children(server.pid)) == 3, "three workers")
        wait_for(server.stderr, "a word about it")
        expect_calm(server, 2.0)
        assert expect_one_word(server)
        waiting = [server.connect() for _ in range(60)]
        for connection in waiting:
            connection.send(build("/answer"))
        if server_name == "preforking":
            wait_for(lambda: all(c.readable() for c in waiting), "all answers")
        else:
            wait_for(lambda: any(c.readable() for c in waiting), "some answers")
    finally:
        for process in others:
            end(process)
    for connection in waiting:
        assert connection.read_response().body == b"42"
        connection.close()
    wait_for(lambda: len(children(server.pid)) == 9, "nine workers")
    expect_as_before(server)


# Memory

@pytest.mark.only("iterative", "threaded", "prethreaded", "poll", "epoll")
def test_no_more_memory(launch, own_site, server_name):
    """A client without memory for its answer gets 503 or is closed; others are
    served."""
    own_site.write("large.txt", b"x" * 60_000)
    server = launch("--request-timeout", NEVER, root=own_site.root,
                    *MANY.get(server_name, ()))
    expect_as_before(server)
    size = int(status(server.pid, "VmSize").split()[0]) * 1024
    unlimited = resource.RLIM_INFINITY
    resource.prlimit(server.pid, resource.RLIMIT_AS, (size + 2**20, unlimited))
    pages = [build(target, fields=[("Connection", "close")])
             for target in ("/guestbook", "/large.txt", "/hello", "/nothing")]
    served = 0
    for page in pages:
        with crowd(server, page[:-2], 100) as connections:
            for connection in connections:
                connection.send(b"\r\n")
            for connection in connections:
                # A 503 without Date and so on, where there is no room for
                # more than that; or nothing at all: an event loop without
                # memory for the request closes the socket with it unread.
                try:
                    served += connection.read_head()[0] in (200, 404)
                except Closed:
                    pass
                except Reset as fault:
                    assert not fault.begun
    assert served > 0
    expect_calm(server)
    expect_one_word(server)
    resource.prlimit(server.pid, resource.RLIMIT_AS, (unlimited, unlimited))
    expect_as_before(server)
