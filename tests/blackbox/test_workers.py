"""Pools without a lock around accept, and several loops. Workers that die are in
tests/faults/test_deaths.py."""

import os
import re
import signal
import subprocess

import pytest

from tests.support.client import build
from tests.support.processes import children, expect_below, freeze, session_members, wait_for
from tests.support.scenarios import half
from tools.kit import procfs
from tools.kit.servers import ARCHITECTURES, POOL, SEQUENTIAL

POOLS = {one.name: one.slots for one in ARCHITECTURES if one.model == POOL}


@pytest.fixture
def pool(launch, server_name):
    """A pool, or another server, on one core, with deadlines that no test reaches: a worker that
    stood in the way of the others would do so until the test's own deadline."""
    def on_one_core():
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])

    def start(workers=2, **settings):
        slots = (POOLS[server_name], workers) if server_name in POOLS else ()
        return launch(*slots, "--keep-alive", "86400",
                      "--request-timeout", "3600", preexec_fn=on_one_core,
                      **settings)
    return start


# Clients that say nothing, that are in a head, a body or a second head, that are idle, and
# that do not read.
STUCK = [b"", build("/answer")[:-2], build("/guestbook", "POST", body=b"name=a&remark=b")[:-1],
         build("/answer") + build("/answer")[:-2], build("/answer"), build("/large.bin") * 3]


@pytest.mark.only(*POOLS)
def test_a_worker_that_waits_for_its_client_delays_no_other(pool, own_site):
    own_site.write("large.bin", os.urandom(1 << 20) * 16)
    server = pool(root=own_site.root)
    for data in STUCK:
        with server.connect(receive_buffer=8192) as stuck:
            stuck.send(data)
            server.wait_until_read(stuck)
            for _ in range(5):
                assert server.request("/answer").body == b"42", data


@pytest.mark.only(*[one.name for one in ARCHITECTURES if one.model != SEQUENTIAL])
def test_a_page_that_waits_for_redis_delays_no_other(pool, own_redis):
    server = pool(redis=own_redis.address)

    def the_other_comes_first():
        """If not, it waited for Redis, too, or the machine stood still for that long."""
        wait_for(lambda: server.request("/guestbook").status == 200, "Redis")
        own_redis.freeze()
        with server.connect() as stuck:
            stuck.send(build("/guestbook"))
            server.wait_until_read(stuck)
            assert server.request("/answer").body == b"42"
            first = not stuck.readable()
            assert stuck.read_response().status == 503
        own_redis.thaw()
        return first

    wait_for(the_other_comes_first, "an answer that waits for no other")


@pytest.mark.only(*POOLS)
def test_no_kept_client_is_closed_while_a_worker_is_idle(pool):
    """A client in the accept queue does not mean that it waits for a worker."""
    server = pool(16)

    def both_are_kept():
        with server.connect() as first, server.connect() as second:
            first.send(build("/answer"))
            second.send(build("/answer"))
            return not (first.read_response().closes or
                        second.read_response().closes)

    wait_for(both_are_kept, "the workers to start")
    for _ in range(5):  # workers may still be busy with the clients before
        wait_for(both_are_kept, "two idle workers")
    with server.connect() as idle:
        assert not idle.request("/answer").closes
        for _ in range(200):
            server.request("/answer")
        assert not idle.readable()
        assert idle.request("/answer").body == b"42"


@pytest.mark.only("preforking")
def test_clients_are_accepted_while_idle_workers_are_stopped_or_killed(pool):
    """As by a debugger. All workers wait in accept."""
    server = pool(4)
    workers = wait_for(lambda: len(children(server.pid)) == 4
                       and children(server.pid), "four workers")
    assert server.request("/answer").body == b"42"
    for victim in workers:
        freeze([victim])
        assert server.request("/answer").body == b"42"
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: victim not in children(server.pid), "its end")
        assert server.request("/answer").body == b"42"


@pytest.mark.only(*POOLS)
def test_first_in_first_out_under_a_crowd(pool, own_redis):
    """ab connects all of its clients before it sends anything. None of them may
    wait until the end of the run.

    With a Redis of its own: the pages of the shared one are 300 KB when other
    tests have signed, and a sanitized pool asks for them faster than it can
    read them."""
    server = pool(32, redis=own_redis.address)

    def longest_part_of_the_run():
        load = subprocess.run(
            ["ab", "-q", "-n", "3000", "-c", "300",
             f"http://127.0.0.1:{server.address[1]}/guestbook"],
            capture_output=True, text=True, check=True, timeout=240).stdout
        run_s = float(re.search(r"Time taken for tests: +([\d.]+)", load)[1])
        longest_ms = int(re.search(r"100% +(\d+)", load)[1])
        return longest_ms / 1000 / run_s if "Non-2xx" not in load else 1

    expect_below(0.5, longest_part_of_the_run)


WORKERS = {"preforking": ["--workers", "3"], "epoll": ["--workers", "3"]}


@pytest.mark.only("preforking", "forking", "epoll")
def test_no_child_outlives_a_parent_that_was_killed(launch, server_name):
    server = launch(*WORKERS.get(server_name, ()))
    with half(server):
        wait_for(lambda: len(session_members(server.pid)) > 1, "children")
        server.send_signal(signal.SIGKILL)
        server.wait()
        wait_for(lambda: not session_members(server.pid),
                 "the children to end, too")
    server.end()


@pytest.mark.only("epoll")
def test_two_epoll_loops(launch):
    """Each has a listening socket of its own; together they are one server."""
    server = launch("--workers", "2")
    wait_for(lambda: len(children(server.pid)) == 2, "two workers")
    connections = [server.connect() for _ in range(60)]
    for connection in connections:
        assert connection.request("/guestbook").status == 200
    sockets = [sum("socket:" in target for target in
                   procfs.open_files(pid).values())
               for pid in children(server.pid)]
    assert min(sockets) > 10, "all clients ended up with one of the two"
    for connection in connections:
        assert connection.request("/answer").body == b"42"
        connection.close()
    assert server.stop() == (120, 60)
