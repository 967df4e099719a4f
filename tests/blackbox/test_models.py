"""What differs between the seven: which clients wait, and for what."""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from tests.support.client import Closed, Reset, build
from tests.support.processes import (DEADLINE, children, descriptors, expect_below,
                                     is_stopped, seconds_of, session_members, threads,
                                     wait_for, zombies)
from tests.support.servers import TOP, Server

# Servers, or pools of one worker, that serve one client at a time.
ONE_AT_A_TIME = {"iterative": [], "preforking": ["--workers", "1"],
                 "prethreaded": ["--threads", "1"]}
TOGETHER = ["forking", "preforking", "threaded", "prethreaded", "poll",
           "epoll"]
LOOPS = ["poll", "epoll"]
SILENCE = 0.3           # seconds in which something wrong could happen


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


# Several clients

@pytest.mark.only(*TOGETHER)
def test_a_client_that_is_stuck_delays_no_other(launch):
    server = launch()
    with half(server) as stuck:
        for _ in range(3):
            assert server.request("/answer").body == b"42"
        complete(stuck)


@pytest.mark.only(*ONE_AT_A_TIME)
def test_clients_are_served_one_after_the_other(launch, server_name):
    """The second client is not refused: it waits until the first is done."""
    server = launch(*ONE_AT_A_TIME[server_name])
    with half(server) as first, server.connect() as second:
        second.send(build("/answer"))
        second.expect_silence(SILENCE)
        complete(first)
        assert second.read_response().body == b"42"


def test_each_client_gets_its_own_answer(server):
    """Eight clients together, and no answer has another client's data."""
    wrong = []

    def ask(number):
        for i in range(25):
            value = f"{number}-{i}-" + "x" * (number * 100)
            got = server.request(f"/echo?value={value}").text
            if got != f"<http_test><value>{value}</value></http_test>":
                wrong.append((value, got))

    clients = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert not wrong


def test_a_slow_reader_of_a_large_file(launch, own_site, server_name):
    """It gets every byte, however long it takes; other clients do not wait."""
    content = os.urandom(1 << 20) * 16
    own_site.write("large.bin", content)
    server = launch(root=own_site.root)
    with server.connect(receive_buffer=8192) as reader:
        reader.send(build("/large.bin", fields=[("Connection", "close")]))
        assert reader.receive(1000)
        if server_name in TOGETHER:
            for _ in range(3):
                assert server.request("/answer").body == b"42"
        reader.widen()
        response = reader.read_response()
    assert response.body == content


def test_several_hundred_connections(launch, server_name):
    """More than a pool has workers: the others wait in the accept queue."""
    server = launch()
    connections = [server.connect() for _ in range(300)]
    for connection in connections:
        connection.send(build("/answer", fields=[("Connection", "close")]))
    for connection in connections:
        assert connection.read_response().body == b"42"
        connection.expect_closed()
        connection.close()
    assert server.stop() == (300, 300)


# Keep-alive while other clients wait

@pytest.mark.only(*ONE_AT_A_TIME)
def test_an_idle_client_is_closed_for_one_that_waits(launch, server_name):
    """Long before its keep-alive timeout, which is a day here."""
    server = launch(*ONE_AT_A_TIME[server_name], "--keep-alive", "86400")
    with server.connect() as idle:
        for _ in range(2):
            response = idle.request("/answer")
            assert response.body == b"42" and not response.closes
        assert server.request("/hello").body == b"Hello, World!"
        idle.expect_closed()


@pytest.mark.only(*ONE_AT_A_TIME)
def test_an_idle_client_is_kept_while_no_client_waits(launch, server_name):
    server = launch(*ONE_AT_A_TIME[server_name])
    with server.connect() as idle:
        assert idle.request("/answer").body == b"42"
        idle.expect_silence(SILENCE)
        assert idle.request("/answer").body == b"42"


@pytest.mark.only(*ONE_AT_A_TIME)
def test_an_endless_pipeline_is_ended_when_a_client_waits(launch, server_name):
    """One client that never stops asking must not lock out the others."""
    server = launch(*ONE_AT_A_TIME[server_name])
    with server.connect() as greedy, server.connect() as waiting:
        greedy.request("/answer")
        waiting.send(build("/hello"))
        served = 0
        with pytest.raises(Closed):
            while served < 100_000:
                greedy.send(build("/answer") * 10)
                for _ in range(10):
                    greedy.read_response()
                    served += 1
        assert waiting.read_response().body == b"Hello, World!"


@pytest.mark.only("forking", "threaded", "poll", "epoll")
def test_idle_clients_are_kept_where_that_is_cheap(launch):
    server = launch()
    with server.connect() as first, server.connect() as second:
        for _ in range(3):
            for connection in (first, second):
                response = connection.request("/answer")
                assert response.body == b"42" and not response.closes


@pytest.mark.only("forking", "threaded")
@pytest.mark.parametrize("bound", [1, 2])
def test_at_the_limit_idle_clients_are_closed_for_one_that_waits(launch, server_name, bound):
    server = launch({"forking": "--max-children",
                     "threaded": "--max-threads"}[server_name], bound,
                    "--keep-alive", "86400")
    idle = [server.connect() for _ in range(bound)]
    for connection in idle:
        assert connection.request("/answer").body == b"42"
    assert server.request("/hello").body == b"Hello, World!"
    for connection in idle:
        connection.close()


# Limits: a client above the limit waits

LIMITS = {"forking": "--max-children", "preforking": "--workers",
          "threaded": "--max-threads", "prethreaded": "--threads",
          "poll": "--max-connections", "epoll": "--max-connections"}


@pytest.mark.only(*LIMITS)
def test_clients_above_the_limit_wait(launch, server_name):
    server = launch(LIMITS[server_name], 2)
    with half(server) as first, half(server) as second, \
            server.connect() as third, server.connect() as fourth:
        third.send(build("/hello"))
        fourth.send(build("/hello"))
        third.expect_silence(SILENCE)
        assert not fourth.readable()
        complete(first)
        first.close()
        complete(second)
        second.close()
        assert third.read_response().body == b"Hello, World!"
        third.close()
        assert fourth.read_response().body == b"Hello, World!"


@pytest.mark.only("forking")
def test_a_child_lives_as_long_as_its_client(launch):
    server = launch("--max-children", "3")
    assert children(server.pid) == []
    held = [half(server) for _ in range(3)]
    assert len(children(server.pid)) == 3
    for connection in held:
        complete(connection)
        connection.close()
    wait_for(lambda: not children(server.pid), "the children to end")


@pytest.mark.only("threaded")
def test_a_thread_lives_as_long_as_its_client(launch):
    server = launch("--max-threads", "3")
    held = [half(server) for _ in range(3)]
    # Not only the main one: a sanitizer has threads of its own.
    base = threads(server.pid) - 3
    assert base >= 1
    for connection in held:
        complete(connection)
        connection.close()
    wait_for(lambda: threads(server.pid) == base, "the threads to end")


@pytest.mark.only("preforking")
def test_a_hundred_workers_by_default(executable, site, redis):
    server = Server(executable, "-p", 0, "-r", site.root, "--redis",
                    redis.address)
    wait_for(lambda: len(children(server.pid)) == 100, "100 children")
    assert server.request("/answer").body == b"42"
    server.stop()


@pytest.mark.only("prethreaded")
def test_a_hundred_threads_by_default(executable, site, redis):
    server = Server(executable, "-p", 0, "-r", site.root, "--redis",
                    redis.address)
    assert threads(server.pid) >= 100
    assert server.request("/answer").body == b"42"
    server.stop()


@pytest.mark.only("iterative", "prethreaded", "threaded", "poll")
def test_no_other_processes(server):
    assert server.request("/guestbook").status == 200
    assert session_members(server.pid) == [server.pid]


# Pools, without a lock around accept

POOLS = {"preforking": "--workers", "prethreaded": "--threads"}


@pytest.fixture
def pool(launch, server_name):
    """A pool on one core, with deadlines that no test reaches: a worker that
    stood in the way of the others would do so until the test's own deadline."""
    def on_one_core():
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])

    def start(workers=2, **settings):
        return launch(POOLS[server_name], workers, "--keep-alive", "86400",
                      "--request-timeout", "3600", preexec_fn=on_one_core,
                      **settings)
    return start


STUCK = {
    "silent": b"",
    "in a head": build("/answer")[:-2],
    "in a body": build("/guestbook", "POST", body=b"name=a&remark=b")[:-1],
    "in a second head": build("/answer") + build("/answer")[:-2],
    "idle": build("/answer"),
    "in a large answer": build("/large.bin"),
    "in many answers": build("/large.bin") * 3,
}


@pytest.mark.only(*POOLS)
@pytest.mark.parametrize("data", STUCK.values(), ids=STUCK)
def test_a_worker_that_waits_for_its_client_delays_no_other(pool, own_site,
                                                            data):
    own_site.write("large.bin", os.urandom(1 << 20) * 16)
    server = pool(root=own_site.root)
    with server.connect(receive_buffer=8192) as stuck:
        if data:
            stuck.send(data)
            server.wait_until_read(stuck)
        for _ in range(5):
            assert server.request("/answer").body == b"42"


@pytest.mark.only(*POOLS)
def test_a_worker_that_waits_for_redis_delays_no_other(pool, own_redis):
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
def test_an_endless_pipeline_holds_one_worker_only(pool):
    """The other clients are served by the second worker."""
    server = pool()

    def others_are_served_beside_it():
        """False if the server has ended the greedy client's connection: it may, while the
        second worker has not started or is still busy with the client before."""
        over, received, ended = threading.Event(), threading.Event(), threading.Event()

        def ask():
            while not over.is_set() and greedy.send(build("/answer") * 1000):
                pass
            with contextlib.suppress(OSError):
                greedy.socket.shutdown(socket.SHUT_WR)

        def read():
            with contextlib.suppress(ConnectionResetError):
                while greedy.socket.recv(65536):
                    received.set()
            ended.set()
            received.set()

        with server.connect() as greedy:
            both = [threading.Thread(target=ask), threading.Thread(target=read)]
            for thread in both:
                thread.start()
            assert received.wait(DEADLINE)
            for _ in range(3):
                assert server.request("/answer").body == b"42"
            beside = not ended.is_set()
            over.set()
            for thread in both:
                thread.join()
        return beside

    wait_for(others_are_served_beside_it, "two workers")


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
def test_clients_are_accepted_while_idle_workers_die(pool):
    """All workers wait in accept, and are killed one after the other."""
    server = pool(4)
    first = wait_for(lambda: len(children(server.pid)) == 4
                     and children(server.pid), "four workers")
    assert server.request("/answer").body == b"42"
    for victim in first:
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: victim not in children(server.pid), "its end")
        assert server.request("/answer").body == b"42"


@pytest.mark.only("preforking")
def test_clients_are_accepted_while_an_idle_worker_is_stopped(pool):
    """As by a debugger. All workers wait in accept."""
    server = pool(4)
    workers = wait_for(lambda: len(children(server.pid)) == 4
                       and children(server.pid), "four workers")
    assert server.request("/answer").body == b"42"
    for victim in workers:
        os.kill(victim, signal.SIGSTOP)
        wait_for(lambda: is_stopped(victim), "its stop")
        assert server.request("/answer").body == b"42"
        os.kill(victim, signal.SIGCONT)


# Workers that die

WORKERS = {"preforking": ["--workers", "3"], "epoll": ["--workers", "3"]}


@pytest.mark.only(*WORKERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_worker_that_dies_is_replaced(launch, server_name, number):
    server = launch(*WORKERS[server_name])
    wait_for(lambda: len(children(server.pid)) == 3, "three workers")
    for _ in range(2):
        before = set(children(server.pid))
        victim = min(before)
        os.kill(victim, number)
        wait_for(lambda: len(set(children(server.pid)) - {victim}) == 3,
                 "a new worker")
        assert not zombies(server.pid)
        for _ in range(10):
            assert server.request("/answer").body == b"42"


@pytest.mark.only(*WORKERS)
def test_all_workers_that_die_together_are_replaced(launch, server_name):
    server = launch(*WORKERS[server_name])
    before = set(wait_for(lambda: len(children(server.pid)) == 3
                          and children(server.pid), "three workers"))
    for victim in before:
        os.kill(victim, signal.SIGKILL)
    wait_for(lambda: len(set(children(server.pid)) - before) == 3,
             "three new workers")
    for _ in range(10):
        assert server.request("/guestbook").status == 200


@pytest.mark.only("forking")
def test_a_child_that_dies_costs_only_its_own_client(launch):
    server = launch()
    with half(server) as victim:
        [child] = children(server.pid)
        with half(server) as other:
            os.kill(child, signal.SIGKILL)
            with pytest.raises(Closed):
                victim.read_response()
            complete(other)
    wait_for(lambda: not children(server.pid) and not zombies(server.pid),
             "the dead child to be reaped")


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


# Several loops

def two_loops(launch, **settings):
    """A server with two loops, when both run."""
    server = launch("--workers", "2", **settings)
    wait_for(lambda: len(children(server.pid)) == 2, "two workers")
    return server


@pytest.mark.only("epoll")
def test_two_epoll_loops(launch):
    """Each has a listening socket of its own; together they are one server."""
    server = two_loops(launch)
    connections = [server.connect() for _ in range(60)]
    for connection in connections:
        assert connection.request("/guestbook").status == 200
    sockets = [sum("socket:" in target for target in
                   descriptors(pid).values())
               for pid in children(server.pid)]
    assert min(sockets) > 10, "all clients ended up with one of the two"
    for connection in connections:
        assert connection.request("/answer").body == b"42"
        connection.close()
    assert server.stop() == (120, 60)


# Nothing is left behind

def rude(server, i):
    """Be a client that misbehaves in one of eight ways; i picks it."""
    kind = i % 8
    if kind == 0:
        server.connect().close()                        # sends nothing
        return
    if kind == 1:
        connection = server.connect()
        connection.send(build("/guestbook"))
        connection.reset()                              # does not wait
        return
    if kind == 2:
        with server.connect() as connection:
            connection.send(b"GET /half HTTP/1.1\r\nHo")
            return
    if kind == 3:
        with server.connect() as connection:
            connection.send(b"nonsense\r\n\r\n")
            assert connection.read_response().status == 400
            return
    path = ["/answer", "/guestbook", "/leaks/large.bin", "/"][kind - 4]
    # On a busy machine Redis may be too slow: 503.
    assert server.request(path).status in (200, 503)


# Descriptors that a process may open once and keep: each worker has a connection
# to Redis and three files, and may need them after the first 64 clients only.
KEPT = {"preforking": 4, "prethreaded": 4 * 4, "threaded": 4 * 4}


@pytest.mark.slow
def test_nothing_is_left_after_a_thousand_connections(launch, site,
                                                      server_name):
    """No zombie, no descriptor, no process or thread more than before."""
    site.write("leaks/large.bin", b"x" * 200_000)
    server = launch(*(["--max-threads", "4"] if server_name == "threaded"
                      else []))
    port = f":{server.address[1]:04X}"

    def client_sockets():
        """Inodes of the server's ends of connections from clients."""
        with open("/proc/net/tcp", encoding="ascii") as table:
            rows = [line.split() for line in table]
        return {f"socket:[{row[9]}]" for row in rows
                if row[1].endswith(port) and row[3] != "0A"}   # LISTEN

    def state():
        """{pid: (descriptors, threads)}, None while there are clients."""
        try:
            table = {pid: descriptors(pid)
                     for pid in session_members(server.pid)}
            count = {pid: threads(pid) for pid in table}
        except (FileNotFoundError, ProcessLookupError):
            return None                 # a child has ended just now
        clients = client_sockets()
        if any(clients & set(open_.values()) for open_ in table.values()):
            return None
        if server_name == "forking" and len(table) > 1:
            return None                 # a child that is about to end
        return {pid: (len(table[pid]), count[pid]) for pid in table}

    for i in range(64):                 # fill the caches, open what is kept
        rude(server, i)
    # Redis may have been too slow, and its connection given up: now there is one.
    wait_for(lambda: server.request("/guestbook").status == 200, "the guestbook")
    before = wait_for(state, "the first clients to be gone")
    for i in range(1000):
        rude(server, i)
    wait_for(lambda: not zombies(server.pid), "the zombies to be reaped")

    kept = KEPT.get(server_name, 0)

    def given_back():
        """Waited for: a connection that was reset leaves the kernel's table
        before the server closes its descriptor.
        """
        after = state()
        return after is not None and after.keys() == before.keys() and all(
            after[pid][0] <= open_before + kept and after[pid][1] <= threads_before
            for pid, (open_before, threads_before) in before.items())

    wait_for(given_back, "all that the clients took to be given back")


def test_the_port_can_be_used_again_immediately(launch):
    """Connections in TIME_WAIT do not keep a new server from its port."""
    first = launch()
    with first.connect() as connection:
        connection.request("/answer", fields=[("Connection", "close")])
        connection.expect_closed()
    port = first.address[1]
    first.stop()
    second = launch("-p", port)
    assert second.address[1] == port
    assert second.request("/answer").body == b"42"


# Silent clients: they connect and send nothing, as browsers do in advance

SMALLEST = {"forking": ["--max-children", "1"],
            "threaded": ["--max-threads", "1"], **ONE_AT_A_TIME,
            **dict.fromkeys(LOOPS, ["--max-connections", "1"])}
NEVER = "3600"

# Seconds for which a silent client is safe while others wait for its place.
GRACE = int(re.search(r"FIRST_BYTE_GRACE_MS = (\d+)",
                      (TOP / "common/room.h").read_text())[1]) / 1000
MARGIN = 0.5            # seconds that 500 silent clients may cost on top
CROWD = 500


def test_the_grace_costs_no_request():
    """A client whose first packet is lost sends it again after 1 s (RFC 6298)."""
    assert 3 <= GRACE < 10


def cost_of(server, clients):
    """Return the seconds that ordinary clients take, one after the other: few,
    unless the machine is busy or the server sanitized."""
    began = time.monotonic()
    for _ in range(clients // 10):
        assert server.request("/answer").body == b"42"
    return (time.monotonic() - began) * 10


@pytest.mark.slow
def test_behind_silent_clients_a_client_waits_for_one_grace(launch,
                                                            server_name):
    """Their time in the accept queue counts: 500 that come together cost one
    grace, not 500, even where one client is served at a time."""
    server = launch(*SMALLEST[server_name], "--request-timeout", NEVER)

    def beyond_the_cost():
        busy = 3 * cost_of(server, CROWD)
        began = time.monotonic()
        silent = [server.connect() for _ in range(CROWD)]
        assert server.request("/answer").body == b"42"
        took = time.monotonic() - began
        # A client that speaks after that is too late.
        for connection in silent[:3]:
            connection.send(build("/answer"))
            connection.expect_closed()
        for connection in silent:
            connection.close()
        return took - busy

    expect_below(GRACE + MARGIN, beyond_the_cost)


@pytest.mark.slow
@pytest.mark.only("iterative", "forking")
def test_a_silent_client_is_kept_while_no_client_waits(launch, server_name):
    server = launch(*SMALLEST[server_name], "--request-timeout", NEVER)
    with server.connect() as silent:
        silent.expect_silence(GRACE + MARGIN)
        assert silent.request("/answer").body == b"42"


@pytest.mark.only(*LOOPS)
def test_an_event_loop_accepts_silent_clients(launch):
    """As they come: they are not left to the kernel until they send something."""
    server = launch("--request-timeout", NEVER)
    silent = [server.connect() for _ in range(5)]
    assert server.request("/answer").body == b"42"      # it came after them
    assert server.stop() == (1, len(silent) + 1)
    for connection in silent:
        connection.close()


@pytest.mark.only(*LOOPS)
@pytest.mark.parametrize("crowd", [1, CROWD])
def test_silent_clients_of_an_event_loop_delay_no_other(launch, crowd):
    """And each is served when it speaks."""
    server = launch("--request-timeout", NEVER)
    clients = 0

    def three_others():
        nonlocal clients
        silent = [server.connect() for _ in range(crowd)]
        began = time.monotonic()
        for _ in range(3):
            assert server.request("/answer").body == b"42"
        took = time.monotonic() - began
        for connection in reversed(silent):
            assert connection.request("/hello").body == b"Hello, World!"
            connection.close()
        clients += crowd + 3
        return took

    expect_below(GRACE, three_others)
    assert server.stop() == (clients, clients)


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
            ["ab", "-q", "-n", "6000", "-c", "300",
             f"http://127.0.0.1:{server.address[1]}/guestbook"],
            capture_output=True, text=True, check=True, timeout=240).stdout
        run_s = float(re.search(r"Time taken for tests: +([\d.]+)", load)[1])
        longest_ms = int(re.search(r"100% +(\d+)", load)[1])
        return longest_ms / 1000 / run_s if "Non-2xx" not in load else 1

    expect_below(0.5, longest_part_of_the_run)


def test_a_silent_client_has_a_deadline(launch, server_name):
    server = launch(*SMALLEST[server_name], "--request-timeout", "0.1")
    silent = [server.connect() for _ in range(3)]
    assert server.request("/answer").body == b"42"
    for connection in silent:
        connection.expect_closed()
    assert server.request("/answer").body == b"42"


def test_silent_clients_do_not_delay_the_stop(launch, server_name):
    server = launch(*SMALLEST[server_name], "--request-timeout", NEVER)
    assert server.request("/answer").body == b"42"
    silent = [server.connect() for _ in range(5)]
    server.stop()
    for connection in silent:
        # The kernel resets clients that still wait in the accept queue.
        with contextlib.suppress(Reset):
            connection.expect_closed()


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


@pytest.mark.slow
def test_more_silent_clients_than_descriptors(launch, server_name):
    """Their deadline, or the grace, makes room for the client that speaks."""
    server = launch(*SMALLEST[server_name], "--request-timeout", "0.1",
                    preexec_fn=few_descriptors)
    silent = [server.connect() for _ in range(200)]
    for _ in range(3):
        assert server.request("/answer").body == b"42"
    for connection in silent:
        connection.close()
    assert server.request("/answer").body == b"42"
