"""Labs 02 to 05: which process or thread does what.

What the submission is made of is read from /proc, while clients hold it in a
known state: a client that has sent half a request occupies a child, a worker
or a thread until it sends the rest. No test depends on speed: each waits until
a state is there, and fails after a deadline that a busy machine does not reach.
"""

import contextlib
import os
import re
import signal
import socket
import time

from labs.grade.client import Client, get, port_of
from labs.grade.observe import (
    PATIENCE, Seen, Trace, accept_queue, alive, blocked_signals, children,
    descriptors, holders, is_read, listeners, mappings, nonblocking,
    own_number, started, state, threads, tree, wait_until, waits_in, zombies)

HALF = b"GET /echo?value=half HTTP/1.1\r\nHost: localhost\r\n"
END = b"Connection: close\r\n\r\n"
STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1}


# ------------------------------------------------------------------ helpers

def living(pid):
    """Return the children of a process that are not zombies."""
    return [child for child in children(pid) if alive(child)]


BACK_OFF = 3.0      # seconds for settle(): more than a pool's pause of 1 s


def settle(server, look, seconds=1.2):
    """Call look() until it is true; return its last value.

    Gives up after PATIENCE, or earlier when the whole server sleeps: for that
    many seconds, none of its threads was seen to run or to wait for a CPU. So
    a server that will never do what is asked for does not cost 5 s a test.
    """
    asleep, before = 0.0, time.monotonic()

    def is_settled():
        nonlocal asleep, before
        if look():
            return True
        now = time.monotonic()
        if all(state(pid, thread) in ("S", "Z", "") for pid
               in tree(server.pid) for thread in threads(pid)):
            asleep += min(now - before, 0.1)    # the grader may have slept
        before = now
        time.sleep(0.02)        # besides the 10 ms of wait_until
        return asleep >= seconds or not alive(server.pid)

    wait_until(is_settled)
    return look()


def plural(count, noun, many=None):
    """Return "1 thread", "2 threads", "no thread"."""
    if count == 0:
        return f"no {noun}"
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def shape(pid):
    """Return in words what a submission consists of."""
    if not alive(pid):
        return "a server that has ended"
    below = children(pid)
    dead = sum(not alive(child) for child in below)
    text = f"a process with {plural(len(threads(pid)), 'thread')}"
    text += f" and {plural(len(below) - dead, 'child', 'children')}"
    if dead:
        text += f", and {plural(dead, 'zombie')}"
    return text


def answer(client, what="a client that sent the rest of its request"):
    """Let a client of `hold` send the rest, and check its answer."""
    try:
        client.send(END)
        response = client.response()
    except OSError as error:
        raise Seen(f"no answer to {what}: {error or type(error).__name__}",
                   "status 200") from error
    if response.status != 200 or b"half" not in response.body:
        raise Seen(f"status {response.status} for {what}", "status 200")


def ask(port, path="/answer", what="a new client"):
    """Ask for a page over a connection of its own, and check the answer."""
    try:
        response = get(port, path)
    except OSError as error:
        raise Seen(f"no answer to {what}: {error or type(error).__name__}",
                   "status 200") from error
    if response.status != 200:
        raise Seen(f"status {response.status} for {what}", "status 200")


class Clients(contextlib.ExitStack):
    """Clients that occupy a server: closed with this context."""

    def __init__(self, server):
        super().__init__()
        self.server = server

    def connect(self, count, data):
        """Connect `count` clients that send `data`; return them."""
        made = []
        for _ in range(count):
            made.append(self.enter_context(Client(self.server.port)))
            made[-1].send(data)
        return made

    def hold(self, count):
        """Connect clients that send half a request; return them."""
        return self.connect(count, HALF)

    def read(self, clients):
        """Return how many of these have been accepted and read."""
        return sum(is_read(self.server.port, port_of(client))
                   for client in clients)

    def holders(self, clients):
        """Return [{process id: [descriptors]}]: who holds each connection."""
        found = holders(self.server.pid, self.server.port,
                        map(port_of, clients))
        return [found[port_of(client)] for client in clients]


def readable(client):
    """Return whether a client has got an answer, or its end."""
    client.sock.settimeout(0)
    try:
        client.sock.recv(1, socket.MSG_PEEK)
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def threads_that_read(server, clients):
    """Return {index of the client: (process, thread)} of the threads that wait
    for these clients. A wait ends every 50 ms: look several times."""
    index_of = {port_of(client): index
                for index, client in enumerate(clients)}
    fds = {(pid, fd): index_of[port] for port, held
           in holders(server.pid, server.port, index_of).items()
           for pid, numbers in held.items() for fd in numbers}
    found = {}
    for pid in tree(server.pid):
        for thread in threads(pid):
            call, fd = waits_in(pid, thread)
            if call == "read" and (pid, fd) in fds:
                found[fds[pid, fd]] = pid, thread
    return found


def who_serves(server, clients, count):
    """Wait until `count` of the clients are waited for by as many different
    threads; return {index: (process, thread)} of what was seen."""
    found = {}

    def enough():
        found.update(threads_that_read(server, clients))
        return len(set(found.values())) >= count

    settle(server, enough)
    return found


def threads_that_accept(server):
    """Return {(process, thread)} of those that sleep in accept(2) on the
    listening socket."""
    held = listeners(server.pid, server.port)
    found = set()
    for pid, fds in held.items():
        for thread in threads(pid):
            call, fd = waits_in(pid, thread)
            if call == "accept" and fd in fds:
                found.add((pid, thread))
    return found


def expect_blocking(server):
    """Check that the listening socket and the connections block."""
    held = [(pid, fd) for pid, fds
            in listeners(server.pid, server.port).items() for fd in fds]
    for pid, fd in held:
        if nonblocking(pid, fd):
            raise Seen("a listening socket with O_NONBLOCK",
                       "sockets that block: this server waits in accept(2)")


def expect_parked(server, count, limit, more):
    """Wait until the first process waits although `more` clients are in the
    accept queue: so it does not wait in accept. `count()` must stay at most
    `limit`."""
    quiet = 0

    def is_parked():
        nonlocal quiet
        now = count()
        if now > limit or not alive(server.pid):
            return True
        quiet += (now == limit and state(server.pid, server.pid) == "S"
                  and accept_queue(server.port) == more)
        return quiet >= 5

    wait_until(is_parked)
    if quiet < 5:
        raise Seen(f"{shape(server.pid)}, and {plural(more, 'client')} more "
                   f"than the limit of {limit}; "
                   f"{accept_queue(server.port)} in the accept "
                   "queue", f"{limit} clients served together, and {more} in "
                   "the accept queue")


def child_count(server):
    """Return a function that counts the children that are not zombies."""
    return lambda: len(living(server.pid))


def thread_count(server):
    """Return a function that counts the threads besides the main one."""
    return lambda: len(threads(server.pid)) - 1


COUNTS = {"children": child_count, "threads": thread_count}


def all_descriptors(server):
    """Return how many descriptors all processes of a server have."""
    return sum(len(descriptors(pid)) for pid in tree(server.pid))


def reports(server):
    """Return how many times the server has printed its counters."""
    return server.output.count("served ")


# --------------------------------------------------- 02, 04: one per client

def test_a_child_for_each_client(fresh_server, expect):
    """Each client that is being served has a process of its own."""
    server, count = fresh_server(), expect["clients"]
    if len(threads(server.pid)) != 1:
        raise Seen(shape(server.pid), "one process with one thread")
    with Clients(server) as clients:
        held = clients.hold(count)

        def owners():
            return {pid for one in clients.holders(held) for pid in one
                    if pid != server.pid}

        settle(server, lambda: len(owners()) == count)
        if len(owners()) != count or len(living(server.pid)) != count:
            raise Seen(f"{shape(server.pid)}, of which "
                       f"{plural(len(owners()), 'child', 'children')} held "
                       f"clients, for {count} clients",
                       f"{count} children, each with one client")
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
            raise Seen(f"of {count} connections, {in_parent} open in the "
                       f"first process and {in_children} in its children",
                       "none in the parent, all in children")
        for client in held:
            answer(client)


def test_a_child_ends_with_its_client(fresh_server, expect):
    """A child serves one client; it does not go on accepting."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        if not settle(server, lambda: len(living(server.pid)) >= count):
            raise Seen(f"{shape(server.pid)} for {count} clients",
                       f"{count} children")
        for client in held:
            answer(client)
    settle(server, lambda: not living(server.pid))
    if living(server.pid):
        raise Seen(f"{shape(server.pid)} after the last client had left",
                   "no child: each ends when its client has been served")
    ask(server.port)


def test_reaps_children(fresh_server, expect):
    """A child that ended leaves no zombie behind, whether it was one of many
    or alone."""
    server, count = fresh_server(), expect["clients"]
    for _ in range(count):
        with Clients(server) as clients:
            held = clients.hold(1)
            if not settle(server, lambda: living(server.pid)):
                raise Seen(f"{shape(server.pid)} for a client", "a child")
            answer(held[0])
        settle(server, lambda: not children(server.pid))
        if zombies(server.pid):
            raise Seen(f"{shape(server.pid)} after a client had left",
                       "no zombie")


def test_reaps_children_that_end_together(fresh_server, expect):
    """One SIGCHLD may stand for several children: all end while the parent
    cannot run, so it gets one signal for them."""
    server, count = fresh_server(), expect["children"]
    for _ in range(2):      # the second time, the parent must count from 0
        with Clients(server) as clients:
            clients.hold(count)
            if not settle(server, lambda: len(living(server.pid)) == count):
                raise Seen(f"{shape(server.pid)} for {count} clients",
                           f"{count} children")
            end_together(server)
        settle(server, lambda: not children(server.pid))
        if children(server.pid):
            raise Seen(f"{shape(server.pid)} after {count} children had ended "
                       "at the same time", "no zombie")
        ask(server.port)
        settle(server, lambda: not children(server.pid))


def end_together(server):
    """Kill all children while the parent is stopped, then let it go on."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: state(server.pid) == "T")
        victims = living(server.pid)
        for child in victims:
            os.kill(child, signal.SIGKILL)
        wait_until(lambda: not any(map(alive, victims)))
    finally:
        os.kill(server.pid, signal.SIGCONT)
    return victims


def at_the_limit(fresh_server, expect, clients_of):
    """Start a server and bring it to its limit; see expect_parked."""
    server, limit = fresh_server(), expect["limit"]
    count = COUNTS[expect["of"]](server)
    clients = clients_of(server)
    held = clients.hold(limit)
    settle(server, lambda: count() == limit)
    if count() != limit:
        raise Seen(f"{shape(server.pid)} for {limit} clients",
                   f"{limit} {expect['of']}")
    more = clients.connect(3, HALF + END)
    expect_parked(server, count, limit, len(more))
    return server, count, held, more


def test_limits_their_number(fresh_server, expect):
    """Above the limit, clients wait in the accept queue and are served when
    others have left."""
    with contextlib.ExitStack() as stack:
        _, _, held, more = at_the_limit(
            fresh_server, expect,
            lambda server: stack.enter_context(Clients(server)))
        for client in held:
            answer(client)
        for client in more:
            answer_of_more(client)


def answer_of_more(client):
    """Check the answer to a client that waited in the accept queue."""
    try:
        status = client.response().status
    except OSError as error:
        raise Seen("no answer to a client that had waited at the limit: "
                   f"{error or type(error).__name__}", "status 200") from error
    if status != 200:
        raise Seen(f"status {status} for a client that had waited at the "
                   "limit", "status 200")


def test_a_signal_at_the_limit(fresh_server, expect):
    """A signal interrupts the wait for a place (EINTR). That does not make a
    place."""
    with contextlib.ExitStack() as stack:
        server, count, held, more = at_the_limit(
            fresh_server, expect,
            lambda server: stack.enter_context(Clients(server)))
        for number in range(1, 4):
            server.send(signal.SIGUSR1)
            wait_until(lambda: reports(server) >= number
                       or not alive(server.pid))
            if not alive(server.pid):
                raise Seen(f"SIGUSR1 at the limit ended the server with "
                           f"{server.ending or 'a crash'}",
                           "a server that reports and goes on waiting")
            if reports(server) < number:
                raise Seen("no report after SIGUSR1 at the limit",
                           "a call of server_act_on_signals()")
        expect_parked(server, count, expect["limit"], len(more))
        for client in held:
            answer(client)
        for client in more:
            answer_of_more(client)


def test_a_thread_for_each_client(fresh_server, expect):
    """One process; each client that is being served has its own thread."""
    server, count = fresh_server(), expect["clients"]
    if len(threads(server.pid)) != 1 or children(server.pid):
        raise Seen(f"{shape(server.pid)} before the first client",
                   "one process with one thread")
    with Clients(server) as clients:
        held = clients.hold(count)
        serving = who_serves(server, held, count)
        different = set(serving.values()) - {(server.pid, server.pid)}
        if len(different) != count or children(server.pid) or \
                len(threads(server.pid)) != count + 1:
            raise Seen(f"{shape(server.pid)}; {len(different)} threads "
                       f"besides the main one waited for {count} clients",
                       f"one process; {count} threads besides the main one, "
                       "each with one client")
        expect_blocking(server)
        for client in held:
            answer(client)


def test_a_thread_ends_with_its_client(fresh_server, expect):
    """A thread serves one client; it does not wait for another."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        if not settle(server, lambda: len(threads(server.pid)) > count):
            raise Seen(f"{shape(server.pid)} for {count} clients",
                       f"{count} threads besides the main one")
        for client in held:
            answer(client)
    settle(server, lambda: len(threads(server.pid)) == 1)
    if len(threads(server.pid)) != 1:
        raise Seen(f"{shape(server.pid)} after the last client had left",
                   "one thread: each other ends with its client")
    ask(server.port)


def test_threads_leave_no_memory(fresh_server, expect):
    """The stack of a thread that ended is given back, or used again."""
    server, limit = fresh_server(), expect["limit"]
    with Clients(server) as clients:    # as many stacks as are ever needed
        held = clients.hold(limit)
        if not settle(server, lambda: len(threads(server.pid)) == limit + 1):
            raise Seen(f"{shape(server.pid)} for {limit} clients",
                       f"{limit} threads besides the main one")
        for client in held:
            answer(client)
    settle(server, lambda: len(threads(server.pid)) == 1)
    before = mappings(server.pid)
    for _ in range(expect["threads"]):
        ask(server.port)
    settle(server, lambda: len(threads(server.pid)) == 1)
    grown = mappings(server.pid) - before
    if grown > expect["threads"] // 2:
        raise Seen(f"{grown} pieces of memory more (/proc/PID/maps) after "
                   f"{expect['threads']} clients",
                   "as many as before: the stacks of threads that ended are "
                   "freed")


# --------------------------------------------------------- 03, 05: the pools

def test_a_pool_of_processes(fresh_server, expect):
    """The workers run before the first client comes, and stay."""
    server, count = fresh_server(), expect["workers"]
    settle(server, lambda: len(living(server.pid)) == count)
    before = living(server.pid)
    several = [pid for pid in tree(server.pid) if len(threads(pid)) > 1]
    if len(before) != count or several:
        raise Seen(f"{shape(server.pid)} before the first client",
                   f"a parent and {count} workers, each with one thread")
    for _ in range(10 * count):
        ask(server.port)
    if living(server.pid) != before:
        raise Seen(f"other workers than before, after {10 * count} clients; "
                   + shape(server.pid),
                   f"the same {count} workers: each serves many clients")


def test_workers_accept(fresh_server, expect):
    """Each worker sleeps in accept, all on the same socket; the parent does
    not."""
    server, count = fresh_server(), expect["workers"]

    def who():
        return {pid for pid, _ in threads_that_accept(server)}

    settle(server,
           lambda: len(who()) == count and server.pid not in who())
    found = who()
    if len(found) != count or server.pid in found:
        parent = " and the first process" if server.pid in found else ""
        raise Seen(f"{plural(len(found - {server.pid}), 'worker')}{parent} "
                   "in accept(2)", f"{count} workers in accept(2), and a "
                   "parent that only looks after them")
    expect_blocking(server)


def test_one_client_a_worker(fresh_server, expect):
    """As many clients are served together as there are workers; the next one
    waits in the accept queue."""
    server, count = fresh_server(), expect["workers"]
    with Clients(server) as clients:
        held = clients.hold(count)
        serving = who_serves(server, held, count)
        by_parent = server.pid in {pid for pid, _ in serving.values()}
        workers = {pid for pid, _ in serving.values()} - {server.pid}
        if len(workers) != count or by_parent:
            raise Seen(f"{plural(len(workers), 'worker')} served {count} "
                       "clients" + (", and the first process served, too"
                                    if by_parent else ""),
                       f"each of the {count} clients served by another "
                       "worker, none by the parent")
        waits_for_its_turn(server, clients, held, count)


def waits_for_its_turn(server, clients, held, count):
    """Check that one client more than the pool serves waits in the accept
    queue, and is served when another has left."""
    more = clients.connect(1, HALF + END)[0]
    quiet = 0

    def is_waiting():
        nonlocal quiet
        if readable(more):
            return True
        quiet += (accept_queue(server.port) == 1 and
                  len(threads_that_read(server, held)) == count and
                  not threads_that_accept(server))
        return quiet >= 3

    wait_until(is_waiting)
    if quiet < 3:
        raise Seen(f"client number {count + 1} was not in the accept queue; "
                   + shape(server.pid),
                   f"{count} clients served together; the next one waits")
    for client in held:
        answer(client)
    answer_of_more(more)


def test_a_pool_of_threads(fresh_server, expect):
    """The threads run before the first client comes, and stay."""
    server, count = fresh_server(), expect["threads"]
    settle(server, lambda: len(threads(server.pid)) == count + 1)
    before = threads(server.pid)
    if len(before) != count + 1 or children(server.pid):
        raise Seen(f"{shape(server.pid)} before the first client",
                   f"one process: the main thread and {count} more")
    for _ in range(10 * count):
        ask(server.port)
    if threads(server.pid) != before:
        raise Seen(f"other threads than before, after {10 * count} clients",
                   f"the same {count} threads: each serves many clients")


def test_threads_accept(fresh_server, expect):
    """Each thread of the pool sleeps in accept; the main thread does not."""
    server, count = fresh_server(), expect["threads"]
    main = server.pid, server.pid

    def is_pool():
        found = threads_that_accept(server)
        return len(found) == count and main not in found and \
            {pid for pid, _ in found} == {server.pid}

    if not settle(server, is_pool):
        found = threads_that_accept(server)
        text = " and the main thread" if main in found else ""
        raise Seen(f"{plural(len(found - {main}), 'thread')}{text} in "
                   f"accept(2); {shape(server.pid)}",
                   f"{count} threads of one process in accept(2), and a main "
                   "thread that takes the signals")
    expect_blocking(server)


def test_one_client_a_thread(fresh_server, expect):
    """As many clients are served together as there are threads; the next one
    waits in the accept queue."""
    server, count = fresh_server(), expect["threads"]
    main = server.pid, server.pid
    with Clients(server) as clients:
        held = clients.hold(count)
        serving = set(who_serves(server, held, count).values())
        if len(serving - {main}) != count or main in serving or \
                {pid for pid, _ in serving} != {server.pid}:
            raise Seen(f"{plural(len(serving - {main}), 'thread')} served "
                       f"{count} clients; {shape(server.pid)}" +
                       (", the main thread, too" if main in serving else ""),
                       f"each of the {count} clients served by another thread "
                       "of one process, none by the main thread")
        waits_for_its_turn(server, clients, held, count)


# ---------------------------------------------------- workers that are killed

def workers_of(server, count):
    """Wait for `count` living workers; return their process ids. Raises
    Seen."""
    settle(server, lambda: len(living(server.pid)) == count)
    found = living(server.pid)
    if len(found) != count:
        raise Seen(shape(server.pid), f"a parent and {plural(count, 'worker')}")
    return found


def expect_replaced(server, victims, count, what):
    """Wait until the victims are gone and `count` workers run. Raises Seen."""
    def is_whole():
        now = living(server.pid)
        return len(now) == count and not set(now) & set(victims) \
            and not zombies(server.pid)

    settle(server, is_whole, BACK_OFF)
    if not is_whole():
        raise Seen(f"{shape(server.pid)} after {what}",
                   f"{count} workers again, and no zombie")
    ask(server.port)


def test_replaces_a_killed_worker(fresh_server, expect):
    """A worker that was killed is reaped and another one started."""
    server, count = fresh_server(), expect["workers"]
    for number in (signal.SIGKILL, signal.SIGSEGV):
        victim = workers_of(server, count)[0]
        os.kill(victim, number)
        expect_replaced(server, [victim], count, "one worker was killed")


def test_replaces_workers_that_die_together(fresh_server, expect):
    """One SIGCHLD may stand for several workers: all end while the parent
    cannot run."""
    server, count = fresh_server(), expect["workers"]
    workers_of(server, count)
    victims = end_together(server)
    expect_replaced(server, victims, count,
                    f"{count} workers were killed at the same time")


# The parent goes on 1 s after each waitpid(2): what happens in that time comes
# after its look at the workers, and before its sleep.
LATE = ("-q", "-e", "inject=wait4:delay_exit=1000000")
# A worker was reaped, and then another one, or any (-1), was found running.
FOUND_RUNNING = re.compile(r"\bwait4\(.*\) = [1-9].*?\bwait4\((-?\d+),[^\n]*\) = 0\b",
                           re.DOTALL)


def test_misses_no_death(fresh_server, expect):
    """A worker dies when the parent has asked for it and found it running. Its
    SIGCHLD comes before the parent sleeps, and must end that sleep."""
    server, count = fresh_server(), expect["workers"]
    first = workers_of(server, count)[0]
    began = started(first)      # it is replaced without a pause, if it is old
    wait_until(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) - began
               > 1.1 * expect["seconds"])
    victim = first
    with Trace(server.pid, "wait4", LATE) as trace:
        os.kill(first, signal.SIGKILL)
        found = settle(server, lambda: FOUND_RUNNING.search(
            "\n".join(trace.lines())), BACK_OFF)
        if found:
            victim = next((pid for pid in living(server.pid) if found[1] in
                           ("-1", own_number(pid))), first)
        if victim != first:
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: not alive(victim))
        trace.detach()
    expect_replaced(server, [first, victim], count, "a worker died between "
                    "waitpid(2), which said that it runs, and the sleep of "
                    "the parent")


def test_waits_before_it_replaces_again(fresh_server, expect):
    """A worker that dies immediately is not replaced immediately: the parent
    would only fork. The times are those of the kernel, /proc/PID/stat."""
    server, interval = fresh_server(["--workers", "1"]), \
        expect["seconds"]
    rounds = 0
    for _ in range(8):
        victim = workers_of(server, 1)[0]
        began = started(victim)
        os.kill(victim, signal.SIGKILL)
        lived = time.clock_gettime(time.CLOCK_BOOTTIME) - began
        heirs = settle(server, lambda: set(living(server.pid)) - {victim},
                       BACK_OFF)
        if not heirs:
            raise Seen(f"{shape(server.pid)} after its worker was killed",
                       "another worker")
        if lived > interval / 2:        # we were late, or it is the first
            continue
        gap = started(min(heirs)) - began
        if gap < interval / 2:
            raise Seen(f"a worker that was killed {lived:.2f} s after its "
                       f"start, and another one after {gap:.2f} s",
                       f"{interval:g} s from one start to the next")
        rounds += 1
        if rounds == 2:
            return


def test_a_crash_costs_one_client(fresh_server, expect):
    """The process of one client is killed: the others notice nothing."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        if not settle(server, lambda: clients.read(held) == count):
            raise Seen(f"{plural(clients.read(held), 'client')} of {count} "
                       "served together", "all of them")
        owners = set(clients.holders(held)[0])
        if owners == {server.pid}:
            raise Seen("a client that the first process serves",
                       "a process of its own for it")
        for pid in owners - {server.pid}:
            os.kill(pid, signal.SIGKILL)
        if not held[0].is_closed(PATIENCE, may_reset=True):
            raise Seen("a connection that stays open although the process "
                       "that served it was killed",
                       "its end: no other process has this socket")
        for client in held[1:]:
            answer(client)
    ask(server.port)


# ------------------------------------------------------------------- signals

def test_signals_go_to_the_first_thread(fresh_server, expect):
    """All children, or all threads but the main one, block the signals."""
    server, count = fresh_server(), expect["others"]
    main = server.pid, server.pid
    with Clients(server) as clients:
        held = clients.hold(count)
        settle(server, lambda: clients.read(held) == count)

        def others():
            return [(pid, thread) for pid in tree(server.pid) if alive(pid)
                    for thread in threads(pid) if (pid, thread) != main]

        def open_to_signals():
            return [task for task in others()
                    if STOP_SIGNALS - blocked_signals(*task)]

        settle(server,
               lambda: len(others()) >= count and not open_to_signals())
        if len(others()) < count:
            raise Seen(f"{shape(server.pid)} for {count} clients",
                       f"{count} processes or threads besides the first")
        if open_to_signals():
            raise Seen(f"{len(open_to_signals())} of {len(others())} do not "
                       "block SIGTERM, SIGINT, SIGHUP and SIGUSR1",
                       "only the first thread takes signals")
        for client in held:
            answer(client)


def test_a_signal_changes_nothing(fresh_server, expect):
    """SIGUSR1 asks for a report. The server prints it, each time, and goes
    on with the same workers."""
    server, count = fresh_server(), expect["workers"]
    look = {"children": lambda: living(server.pid),
            "threads": lambda: threads(server.pid)[1:]}[expect["of"]]
    if not settle(server, lambda: len(look()) == count):
        raise Seen(shape(server.pid), f"{count} {expect['of']}")
    before = look()
    for number in range(1, 4):
        server.send(signal.SIGUSR1)
        wait_until(lambda: reports(server) >= number
                   or not alive(server.pid))
        if not alive(server.pid):
            raise Seen(f"SIGUSR1 ended the server with {server.ending}",
                       "a report, and a server that goes on")
        if reports(server) < number:
            raise Seen(f"no report after SIGUSR1 number {number}",
                       "a report for each: server_act_on_signals() prints it")
        ask(server.port)
    if look() != before:
        raise Seen(f"other {expect['of']} than before SIGUSR1",
                   f"the same {count}")
    if expect["of"] == "children":
        os.kill(before[0], signal.SIGKILL)
        expect_replaced(server, before[:1], count,
                        "a worker was killed after SIGUSR1")


def test_stops_in_order(fresh_server, expect):
    """After SIGTERM new clients are refused, those that are being served get
    their answers, then everything ends. At the limit, too."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        if not settle(server, lambda: clients.read(held) == count):
            raise Seen(f"{plural(clients.read(held), 'client')} of {count} "
                       "served together", "all of them")
        processes = tree(server.pid)
        server.send(signal.SIGTERM)
        if not wait_until(lambda: is_refused(server.port)):
            raise Seen("new clients are still accepted after SIGTERM while "
                       f"{count} clients are served",
                       "new clients are refused immediately")
        for client in held:
            answer(client, "a client that was being served at SIGTERM")
    code = server.wait(2 * PATIENCE)
    if code != 0:
        raise Seen("a server that did not end after its last client"
                   if code is None else f"a server that ended with "
                   f"{server.ending}", "exit status 0")
    wait_until(lambda: not any(map(alive, processes)))
    left = sum(map(alive, processes))
    if left:
        raise Seen(f"{plural(left, 'process', 'processes')} left behind",
                   "none")


def is_refused(port):
    """Return whether a new client cannot connect."""
    try:
        Client(port).close()
        return False
    except ConnectionError:
        return True


# ---------------------------------------------------------- what can run out

NEW_TASK = "clone,clone3,fork,vfork"
FAILS = ("-f", "-ttt", "-e", f"inject={NEW_TASK}:error=EAGAIN")


def test_serves_when_none_can_be_made(fresh_server, expect):
    """fork or pthread_create fails with EAGAIN: the server says so, and serves
    the client itself. Afterwards it makes children or threads again."""
    server = fresh_server()
    count = COUNTS[expect["of"]](server)
    with Trace(server.pid, NEW_TASK, FAILS) as trace:
        for _ in range(3):
            ask(server.port, what=f"a client when no {expect['of']} could be "
                "made (EAGAIN)")
        if not trace.count("EAGAIN"):
            raise Seen(f"no attempt to make {expect['of']}",
                       f"{expect['of']} for clients")
    if not wait_until(lambda: "cannot" in server.output):
        raise Seen("no warning that says why", "server_warn_exhausted()")
    with Clients(server) as clients:
        held = clients.hold(2)
        if not settle(server, lambda: count() == 2):
            raise Seen(f"{shape(server.pid)} for 2 clients, after the "
                       "shortage", f"2 {expect['of']}")
        for client in held:
            answer(client)


def test_tries_again_to_fork(fresh_server, expect):
    """fork fails with EAGAIN when a worker is to be replaced: the parent stays
    and tries again, at most once in `seconds`."""
    server, count = fresh_server(), expect["workers"]
    victim = workers_of(server, count)[0]
    with Trace(server.pid, NEW_TASK, FAILS) as trace:
        os.kill(victim, signal.SIGKILL)
        if settle(server, lambda: trace.count("EAGAIN") >= 1, BACK_OFF):
            wait_until(lambda: trace.count("EAGAIN") >= 2)
        times = [float(line.split()[1]) for line in trace.lines()
                 if "EAGAIN" in line]
        ask(server.port, what="a client while a worker could not be replaced")
    if len(times) < 2:
        raise Seen(f"{plural(len(times), 'attempt')} to fork while it failed "
                   f"with EAGAIN; {shape(server.pid)}",
                   "an attempt in each second until one succeeds")
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    if min(gaps) < expect["seconds"] / 2:
        raise Seen(f"{min(gaps):.3f} s from one attempt to fork to the next, "
                   "while it failed", f"{expect['seconds']:g} s")
    expect_replaced(server, [victim], count, "fork works again")
