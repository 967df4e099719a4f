"""What differs between the seven: who waits for whom, and what that costs."""

import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from client import Closed, build
from processes import (children, descriptors, is_stopped, policies,
                       session_members, threads, wait_for, zombies)
from servers import Server

# A client holds what serves it: a process, a thread, or nothing much.
ONE_AT_A_TIME = {"iterative": [], "preforking": ["--workers", "1"],
                 "prethreaded": ["--threads", "1"]}
AT_ONCE = ["forking", "preforking", "threaded", "prethreaded", "poll",
           "epoll"]
SILENCE = 0.3           # seconds in which what must not happen could happen


def half(server):
    """A connection with half a request that the server has read."""
    connection = server.connect()
    connection.send(build("/echo?value=half")[:-2])
    server.wait_until_read(connection)
    return connection


def complete(connection):
    """Send the other half and check the answer."""
    connection.send(b"\r\n")
    assert "half" in connection.read_response().text


# Clients at the same time

@pytest.mark.only(*AT_ONCE)
def test_a_client_that_is_stuck_does_not_stop_another(launch):
    server = launch()
    with half(server) as stuck:
        for _ in range(3):
            assert server.request("/answer").body == b"42"
        complete(stuck)


@pytest.mark.only(*ONE_AT_A_TIME)
def test_one_after_the_other(launch, server_name):
    """The second is not refused, it waits; and is served when the first is
    done."""
    server = launch(*ONE_AT_A_TIME[server_name])
    with half(server) as first, server.connect() as second:
        second.send(build("/answer"))
        second.expect_silence(SILENCE)
        complete(first)
        assert second.read_response().body == b"42"


def test_each_gets_his_own(server):
    """Eight clients at once, none with somebody else's data."""
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
    """It takes its time, and gets every byte; others need not wait."""
    content = os.urandom(1 << 20) * 16
    own_site.write("large.bin", content)
    server = launch(root=own_site.root)
    with server.connect(receive_buffer=8192) as reader:
        reader.send(build("/large.bin", fields=[("Connection", "close")]))
        assert reader.receive(1000)
        if server_name in AT_ONCE:
            for _ in range(3):
                assert server.request("/answer").body == b"42"
        response = reader.read_response()
    assert response.body == content


def test_several_hundred_connections(launch, server_name):
    """More than a pool has workers: the rest waits in the accept queue."""
    server = launch()
    connections = [server.connect() for _ in range(300)]
    for connection in connections:
        connection.send(build("/answer", fields=[("Connection", "close")]))
    for connection in connections:
        assert connection.read_response().body == b"42"
        connection.expect_closed()
        connection.close()
    assert server.stop() == (300, 300)


# Keep-alive, fair to those who wait

@pytest.mark.only(*ONE_AT_A_TIME)
def test_an_idle_client_is_given_up_for_one_that_waits(launch, server_name):
    """Without waiting for the keep-alive time-out, which is a day here."""
    server = launch(*ONE_AT_A_TIME[server_name], "--keep-alive", "86400")
    with server.connect() as idle:
        for _ in range(2):
            response = idle.request("/answer")
            assert response.body == b"42" and not response.closes
        assert server.request("/hello").body == b"Hello, World!"
        idle.expect_closed()


@pytest.mark.only(*ONE_AT_A_TIME)
def test_an_idle_client_is_kept_while_nobody_waits(launch, server_name):
    server = launch(*ONE_AT_A_TIME[server_name])
    with server.connect() as idle:
        assert idle.request("/answer").body == b"42"
        idle.expect_silence(SILENCE)
        assert idle.request("/answer").body == b"42"


@pytest.mark.only(*ONE_AT_A_TIME)
def test_who_never_stops_asking_is_not_kept_for_ever(launch, server_name):
    """One client's endless pipeline must not lock the others out."""
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
def test_both_are_kept_where_keeping_is_cheap(launch):
    server = launch()
    with server.connect() as first, server.connect() as second:
        for _ in range(3):
            for connection in (first, second):
                response = connection.request("/answer")
                assert response.body == b"42" and not response.closes


@pytest.mark.only("forking", "threaded")
@pytest.mark.parametrize("bound", [1, 2])
def test_at_the_bound_an_idle_client_is_given_up(launch, server_name, bound):
    server = launch({"forking": "--max-children",
                     "threaded": "--max-threads"}[server_name], bound,
                    "--keep-alive", "86400")
    idle = [server.connect() for _ in range(bound)]
    for connection in idle:
        assert connection.request("/answer").body == b"42"
    assert server.request("/hello").body == b"Hello, World!"
    for connection in idle:
        connection.close()


# Bounds: who does not fit in waits

BOUNDS = {"forking": "--max-children", "preforking": "--workers",
          "threaded": "--max-threads", "prethreaded": "--threads",
          "poll": "--max-connections", "epoll": "--max-connections"}


@pytest.mark.only(*BOUNDS)
def test_who_does_not_fit_in_waits(launch, server_name):
    server = launch(BOUNDS[server_name], 2)
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
def test_children_come_and_go(launch):
    server = launch("--max-children", "3")
    assert children(server.pid) == []
    held = [half(server) for _ in range(3)]
    assert len(children(server.pid)) == 3
    for connection in held:
        complete(connection)
        connection.close()
    wait_for(lambda: not children(server.pid), "the children to end")


@pytest.mark.only("threaded")
def test_threads_come_and_go(launch):
    server = launch("--max-threads", "3")
    held = [half(server) for _ in range(3)]
    # Those that there are before are the main one and a sanitizer's.
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


# Whose turn it is to accept

POOLS = {"preforking": "--workers", "prethreaded": "--threads"}


@pytest.fixture
def pool(launch, server_name):
    """A pool on one core: so there is one turn to accept, and a worker that
    kept it while it waits would keep the others from their clients."""
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
def test_whoever_waits_has_passed_on_its_turn(pool, own_site, data):
    own_site.write("large.bin", os.urandom(1 << 20) * 16)
    server = pool(root=own_site.root)
    with server.connect(receive_buffer=8192) as stuck:
        if data:
            stuck.send(data)
            server.wait_until_read(stuck)
        began = time.monotonic()
        for _ in range(5):
            assert server.request("/answer").body == b"42"
        # Where it has not, each of them waits for a second and goes without.
        assert time.monotonic() - began < 3


@pytest.mark.only("prethreaded")
def test_a_reader_of_tiny_segments_does_not_keep_the_turn(pool):
    """What the kernel holds for a client counts by the packet, not by the byte:
    30 KB in segments of 88 bytes are more than it takes at once."""
    server = pool(20)
    server.send_signal(signal.SIGSTOP)  # so that it finds each request whole
    stuck = [server.connect(receive_buffer=1, segment=88) for _ in range(12)]
    for connection in stuck:
        connection.send(build("/answer") * 300)
    with server.connect() as other:
        other.send(build("/answer"))
        began = time.monotonic()
        server.send_signal(signal.SIGCONT)
        assert other.read_response().body == b"42"
        assert time.monotonic() - began < 0.9   # one would keep it for 0.5 s,
                                                # the next for the other half
    for connection in stuck:
        connection.close()


@pytest.mark.only(*POOLS)
def test_a_turn_is_passed_on_before_waiting_for_redis(pool, own_redis):
    server = pool(redis=own_redis.address)
    wait_for(lambda: server.request("/guestbook").status == 200, "Redis")
    own_redis.freeze()
    with server.connect() as stuck:
        stuck.send(build("/guestbook"))
        server.wait_until_read(stuck)
        assert server.request("/answer").body == b"42"
        assert not stuck.readable(), "the other one had to wait for Redis too"
        assert stuck.read_response().status == 503
    own_redis.thaw()


@pytest.mark.only(*POOLS)
def test_who_never_stops_asking_does_not_keep_the_turn(pool):
    """The one with the endless pipeline has a worker, the others have one."""
    server = pool()
    over = threading.Event()

    def ask():
        while not over.is_set() and greedy.send(build("/answer") * 1000):
            pass

    def read():
        while greedy.socket.recv(65536):
            received.set()

    received = threading.Event()
    with server.connect() as greedy:
        both = [threading.Thread(target=ask), threading.Thread(target=read)]
        for thread in both:
            thread.start()
        assert received.wait(60)
        for _ in range(3):
            assert server.request("/answer").body == b"42"
        over.set()
        both[0].join()
        greedy.socket.shutdown(socket.SHUT_WR)
        both[1].join()


@pytest.mark.only(*POOLS)
def test_no_client_is_sent_away_while_a_worker_is_at_leisure(pool):
    """That a client waits for a turn does not mean that it waits for a
    worker."""
    server = pool(16)

    def both_are_kept():
        with server.connect() as first, server.connect() as second:
            first.send(build("/answer"))
            second.send(build("/answer"))
            return not (first.read_response().closes or
                        second.read_response().closes)

    wait_for(both_are_kept, "the workers to be there")
    for _ in range(5):  # those of the last rounds may not have been missed yet
        assert both_are_kept()


@pytest.mark.only("preforking")
def test_a_turn_outlives_the_worker_that_had_it(pool):
    """All are idle, so one of them is the one that waits in accept."""
    server = pool(4)
    first = wait_for(lambda: len(children(server.pid)) == 4
                     and children(server.pid), "four workers")
    assert server.request("/answer").body == b"42"
    for victim in first:
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: victim not in children(server.pid), "its end")
        assert server.request("/answer").body == b"42"


@pytest.mark.only("preforking")
def test_others_accept_while_whose_turn_it_is_has_been_stopped(pool):
    """As by a debugger. All are idle, so one of them has it."""
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
def test_all_workers_die_at_once(launch, server_name):
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
def test_a_child_that_dies_costs_its_own_client_alone(launch):
    server = launch()
    with half(server) as victim:
        [child] = children(server.pid)
        with half(server) as other:
            os.kill(child, signal.SIGKILL)
            with pytest.raises(Closed):
                victim.read_response()
            complete(other)
    wait_for(lambda: not children(server.pid) and not zombies(server.pid),
             "the dead child to be buried")


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


@pytest.mark.only("epoll")
def test_several_loops_do_not_preempt_each_other(launch):
    assert policies(two_loops(launch).pid) == {os.SCHED_BATCH}


@pytest.mark.only("epoll")
def test_a_policy_that_somebody_chose_is_kept(launch):
    def idle():
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    assert policies(two_loops(launch, preexec_fn=idle).pid) == {os.SCHED_IDLE}


def test_who_shares_with_no_other_loop_keeps_the_policy(server):
    """A pool, too: what it gains is less than what it costs those whose core
    another program keeps busy."""
    assert policies(server.pid) == {os.SCHED_OTHER}


# Nothing is left behind

def rude(server, i):
    """A client of one of the kinds that there are; i picks it."""
    kind = i % 8
    if kind == 0:
        server.connect().close()                        # never says a word
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
    # A Redis that gets no processor for a while is away, to a server.
    assert server.request(path).status in (200, 503)


# Descriptors that a process may open once and keep: each worker of a pool
# meets Redis, or the large file, when its turn comes.
KEPT = {"preforking": 2, "prethreaded": 8, "threaded": 8}


def test_nothing_is_left_after_a_thousand_connections(launch, site,
                                                      server_name):
    """No zombie, no descriptor, no process or thread more than before."""
    site.write("leaks/large.bin", b"x" * 200_000)
    server = launch()
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
    before = wait_for(state, "the first clients to be gone")
    for i in range(1000):
        rude(server, i)
    wait_for(lambda: not zombies(server.pid), "the zombies to be buried")
    if server_name == "threaded":
        wait_for(lambda: threads(server.pid) <= before[server.pid][1],
                 "the threads to end")
    after = wait_for(state, "the last clients to be gone")
    assert after.keys() == before.keys()
    for pid, (open_now, threads_now) in after.items():
        assert open_now <= before[pid][0] + KEPT.get(server_name, 0)
        assert threads_now <= before[pid][1]


def test_the_address_can_be_used_again_at_once(launch):
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


# Clients that connect and say nothing, as browsers do in advance

SMALLEST = {"forking": ["--max-children", "1"], "poll": [], "epoll": [],
            "threaded": ["--max-threads", "1"], **ONE_AT_A_TIME}


@pytest.mark.parametrize("crowd", [1, 40])
def test_who_never_says_a_word_stops_nobody(launch, server_name, crowd):
    """Not even where one is served at a time; and is served when he speaks."""
    server = launch(*SMALLEST[server_name], "--request-timeout", "3600")
    silent = [server.connect() for _ in range(crowd)]
    for _ in range(3):
        assert server.request("/answer").body == b"42"
    for connection in reversed(silent):
        assert connection.request("/hello").body == b"Hello, World!"
        connection.close()
    assert server.stop() == (crowd + 3, crowd + 3)


@pytest.mark.only(*POOLS)
def test_who_is_put_aside_waits_no_longer_than_others(pool, own_redis):
    """ab connects to all before it says a word. If one worker put them all
    aside it would serve them one by one until the end, whenever that is.

    With a Redis of its own: the pages of the shared one are 300 KB when other
    tests have signed, and a sanitized pool asks for them faster than it can
    read them."""
    server = pool(32, redis=own_redis.address)
    load = subprocess.run(
        ["ab", "-q", "-n", "6000", "-c", "300", f"http://127.0.0.1:{server.address[1]}/guestbook"],
        capture_output=True, text=True, check=True, timeout=120).stdout
    run_s = float(re.search(r"Time taken for tests: +([\d.]+)", load)[1])
    longest_ms = int(re.search(r"100% +(\d+)", load)[1])
    assert "Non-2xx" not in load, load
    assert longest_ms < 1000 * run_s / 2, load


@pytest.mark.only(*POOLS)
def test_the_last_worker_takes_whoever_comes(pool, own_site):
    """However many silent clients it has put aside, and the others are stuck
    with clients that do not read."""
    own_site.write("large.bin", os.urandom(1 << 20) * 16)
    server = pool(8, root=own_site.root)
    stuck = [server.connect(receive_buffer=8192) for _ in range(7)]
    for connection in stuck:
        connection.send(build("/large.bin"))
        connection.socket.recv(1)
    silent = [server.connect() for _ in range(50)]
    for _ in range(3):
        assert server.request("/answer").body == b"42"
    for connection in silent:
        connection.close()
    for connection in stuck:
        connection.close()


def test_silence_has_an_end(launch, server_name):
    server = launch(*SMALLEST[server_name], "--request-timeout", "0.1")
    silent = [server.connect() for _ in range(3)]
    assert server.request("/answer").body == b"42"
    if server_name not in ("poll", "epoll"):  # the kernel has those
        for connection in silent:
            connection.expect_closed()
    assert server.request("/answer").body == b"42"


def test_who_is_silent_does_not_delay_the_stop(launch, server_name):
    server = launch(*SMALLEST[server_name], "--request-timeout", "3600")
    silent = [server.connect() for _ in range(5)]
    assert server.request("/answer").body == b"42"
    server.stop()
    if server_name not in ("poll", "epoll"):
        for connection in silent:
            connection.expect_closed()


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def test_more_silent_clients_than_descriptors(launch, server_name):
    """Who speaks is served, and the silent make room when their time is up."""
    server = launch(*SMALLEST[server_name], "--request-timeout", "0.1",
                    preexec_fn=few_descriptors)
    silent = [server.connect() for _ in range(200)]
    for _ in range(3):
        assert server.request("/answer").body == b"42"
    for connection in silent:
        connection.close()
    assert server.request("/answer").body == b"42"
