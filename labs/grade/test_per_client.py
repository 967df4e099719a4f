"""Labs 02 and 04: a process or a thread for each client."""

import contextlib
import signal

from labs.grade.client import ask_guestbook, Client
from labs.grade.observe import (
    Seen, Trace, alive, children, descriptors, mappings, or_seen, outgoing, threads, wait_until,
    zombies)
from labs.grade.tasks import (
    answer, answer_of_more, ask, Clients, counter, END, end_together, expect_blocking,
    expect_parked, expect_shape, expect_sleep, FAILS, HALF, IDLE, living, NEW_TASK, plural,
    readable, reports, settle, shape, who_serves)


def test_a_child_for_each_client(fresh_server, expect):
    """Each client that is being served has a process of its own."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)

        def owners():
            return {pid for one in clients.holders(held) for pid in one if pid != server.pid}

        settle(server, lambda: len(owners()) == count)
        if len(owners()) != count or len(living(server.pid)) != count:
            raise Seen(f"{shape(server.pid)}, of which "
                       f"{plural(len(owners()), 'child', 'children')} held "
                       f"clients, for {count} clients", f"{count} children, each with one client")
        expect_blocking(server)
        for client in held:
            answer(client)


def test_parent_keeps_no_connection(fresh_server, expect):
    """After fork the parent has the client's socket too, and must close it."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)

        def counts():
            owners = clients.holders(held)
            return (sum(bool(set(one) - {server.pid}) for one in owners),
                    sum(server.pid in one for one in owners))

        settle(server, lambda: counts() == (count, 0))
        in_children, in_parent = counts()
        if (in_children, in_parent) != (count, 0):
            raise Seen(f"of {count} connections, {in_parent} open in the first process and "
                       f"{in_children} in its children", "none in the parent, all in children")
        for client in held:
            answer(client)


def test_a_child_ends_with_its_client(fresh_server, expect):
    """A child serves one client; it does not go on accepting."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        expect_shape(server, lambda: len(living(server.pid)) >= count, f"for {count} clients",
                     f"{count} children")
        for client in held:
            answer(client)
    expect_shape(server, lambda: not living(server.pid), "after the last client had left",
                 "no child: each ends when its client has been served")
    ask(server.port)


def test_reaps_children(fresh_server, expect):
    """A child that ended leaves no zombie behind, whether it was one of many or alone."""
    server, count = fresh_server(), expect["clients"]
    for _ in range(count):
        with Clients(server) as clients:
            held = clients.hold(1)
            expect_shape(server, lambda: living(server.pid), "for a client", "a child")
            answer(held[0])
        settle(server, lambda: not children(server.pid))
        if zombies(server.pid):
            raise Seen(f"{shape(server.pid)} after a client had left", "no zombie")


def test_reaps_children_that_end_together(fresh_server, expect):
    """One SIGCHLD may stand for several children: all end while the parent
    cannot run, so it gets one signal for them."""
    server, count = fresh_server(), expect["children"]
    for _ in range(2):      # the second time, the parent must count from 0
        with Clients(server) as clients:
            clients.hold(count)
            expect_shape(server, lambda: len(living(server.pid)) == count, f"for {count} clients",
                         f"{count} children")
            end_together(server)
        expect_shape(server, lambda: not children(server.pid),
                     f"after {count} children had ended at the same time", "no zombie")
        ask(server.port)
        settle(server, lambda: not children(server.pid))


@contextlib.contextmanager
def at_the_limit(fresh_server, expect, limit=None):
    """Start a server and bring it to its limit, that of lab.toml or another one: yields (server,
    its count, the clients that it serves, those that wait); see expect_parked."""
    args = [] if limit is None else [f"--max-{expect['of']}", str(limit)]
    server, limit = fresh_server(args), limit or expect["limit"]
    count = counter(server, expect["of"])
    with Clients(server) as clients:
        held = clients.hold(limit)
        expect_shape(server, lambda: count() == limit, f"for {limit} clients",
                     f"{limit} {expect['of']}")
        more = clients.connect(3, HALF + END)
        expect_parked(server, count, limit, len(more))
        yield server, count, held, more


def test_limits_their_number(fresh_server, expect):
    """Above the limit, clients wait in the accept queue and are served when
    others have left. The limit is that of the option: there are two."""
    for limit in (None, expect["limit"] // 2 - 1):
        with at_the_limit(fresh_server, expect, limit) as (_, _, held, more):
            for client in held:
                answer(client)
            for client in more:
                answer_of_more(client)


LATE_FOR_ACCEPT = ("-f", "-q", "-e", "inject=accept,accept4:delay_enter=1000000")


def test_idle_clients_make_room(fresh_server, expect):
    """A client that is idle after its answer may stay as long as there is room
    for others. At the limit it has to leave when another one waits."""
    server, limit = fresh_server(), expect["limit"]
    with Clients(server) as clients:
        idle = []
        for _ in range(limit - 1):
            idle.append(keep(clients))
        # The first thread is late for accept(2), so a client waits. A child or
        # thread looks every 50 ms. That nothing happens shows only in a time.
        with Trace(server.pid, "accept,accept4", LATE_FOR_ACCEPT):
            more = clients.connect(1, HALF + END)[0]
            closed = wait_until(lambda: sum(map(readable, idle)), IDLE)
        if closed:
            raise Seen(f"{closed} of {limit - 1} idle clients were closed, below the limit of "
                       f"{limit}, for one that waited", "that they stay: there is room for it")
        answer_of_more(more)
        idle.append(keep(clients))
        answer_of_more(clients.connect(1, HALF + END)[0])
        if not wait_until(lambda: any(map(readable, idle))):
            raise Seen(f"all {limit} idle clients are there, and one more", f"a limit of {limit}")


def keep(clients):
    """Return a new client that has got an answer and stays connected."""
    client = clients.enter_context(Client(clients.server.port))
    with or_seen(lambda error: "no answer to a client while others are idle, below the limit: "
                 f"{error}", "status 200"):
        client.request("/hello")
        client.response()
    return client


def test_sleeps_at_the_limit(fresh_server, expect):
    """At the limit, the first thread waits until a child or a thread ends."""
    with at_the_limit(fresh_server, expect) as (server, *_):
        expect_sleep(server, f"at the limit, while no {expect['of']} end")


def test_a_signal_at_the_limit(fresh_server, expect):
    """A signal interrupts the wait for a place (EINTR). That does not make a place."""
    with at_the_limit(fresh_server, expect) as (server, count, held, more):
        for number in range(1, 4):
            server.send(signal.SIGUSR1)
            wait_until(lambda: reports(server) >= number or not alive(server.pid))
            if not alive(server.pid):
                raise Seen(f"SIGUSR1 at the limit ended the server with "
                           f"{server.ending or 'a crash'}",
                           "a server that reports and goes on waiting")
            if reports(server) < number:
                raise Seen("no report after SIGUSR1 at the limit",
                           "a call of server_act_on_signals()")
        server.send(signal.SIGHUP)
        if server.wait(0.2) is not None:
            raise Seen(f"SIGHUP at the limit ended the server: {server.ending}",
                       "a server that opens its log again, and goes on waiting")
        expect_parked(server, count, expect["limit"], len(more))
        for client in held:
            answer(client)
        for client in more:
            answer_of_more(client)


def test_a_thread_for_each_client(fresh_server, expect):
    """One process; each client that is being served has its own thread."""
    server, count = fresh_server(), expect["clients"]
    if len(threads(server.pid)) != 1 or children(server.pid):
        raise Seen(f"{shape(server.pid)} before the first client", "one process with one thread")
    with Clients(server) as clients:
        held = clients.hold(count)
        serving = who_serves(server, held, count)
        different = set(serving.values()) - {(server.pid, server.pid)}
        if len(different) != count or children(server.pid) or len(threads(server.pid)) != count + 1:
            raise Seen(f"{shape(server.pid)}; {len(different)} threads "
                       f"besides the main one waited for {count} clients",
                       f"one process; {count} threads besides the main one, each with one client")
        expect_blocking(server)
        for client in held:
            answer(client)


def test_a_thread_ends_with_its_client(fresh_server, expect):
    """A thread serves one client; it does not wait for another."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        expect_shape(server, lambda: len(threads(server.pid)) > count, f"for {count} clients",
                     f"{count} threads besides the main one")
        for client in held:
            answer(client)
    expect_shape(server, lambda: len(threads(server.pid)) == 1, "after the last client had left",
                 "one thread: each other ends with its client")
    ask(server.port)


def test_threads_leave_no_memory(fresh_server, expect):
    """The stack of a thread that ended is given back, or used again."""
    server, limit = fresh_server(), expect["limit"]
    with Clients(server) as clients:    # as many stacks as are ever needed
        held = clients.hold(limit)
        expect_shape(server, lambda: len(threads(server.pid)) == limit + 1,
                     f"for {limit} clients", f"{limit} threads besides the main one")
        for client in held:
            answer(client)
    settle(server, lambda: len(threads(server.pid)) == 1)
    before = mappings(server.pid)
    for _ in range(expect["threads"]):
        ask(server.port)
    settle(server, lambda: len(threads(server.pid)) == 1)
    grown = mappings(server.pid) - before
    if grown > expect["threads"] // 2:
        raise Seen(f"{grown} pieces of memory more (/proc/PID/maps) after {expect['threads']} "
                   "clients", "as many as before: the stacks of threads that ended are freed")


def inherited(server):
    """Return whether two processes have the same connection to Redis."""
    held = [descriptors(pid).get(fd, "") for pid, fd in
            outgoing(server.pid, int(server.redis.rpartition(":")[2]))]
    return len(set(held)) < len(held)


def test_serves_when_none_can_be_made(fresh_server, expect):
    """fork or pthread_create fails with EAGAIN: the server says so, and serves
    the client itself. Afterwards it makes children or threads again."""
    server = fresh_server()
    count = counter(server, expect["of"])
    with Trace(server.pid, NEW_TASK, FAILS) as trace:
        for _ in range(3):
            ask(server.port, what=f"a client when no {expect['of']} could be made (EAGAIN)")
        ask_guestbook(server.port)      # the first process connects to Redis
        if not trace.count("EAGAIN"):
            raise Seen(f"no attempt to make {expect['of']}", f"{expect['of']} for clients")
    if not wait_until(lambda: "cannot" in server.output):
        raise Seen("no warning that says why", "server_warn_rarely()")
    with Clients(server) as clients:
        held = clients.hold(2)
        expect_shape(server, lambda: count() == 2, "for 2 clients, after the shortage",
                     f"2 {expect['of']}")
        if not settle(server, lambda: not inherited(server)):
            raise Seen(f"{plural(len(living(server.pid)), 'child', 'children')} "
                       "with the connection to Redis of the first process, which "
                       "served a client itself when fork(2) failed",
                       "a connection to Redis in one process only: redis_close()")
        for client in held:
            answer(client)
