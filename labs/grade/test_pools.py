"""Labs 03 and 05: processes or threads made beforehand, also when they die."""

import os
import re
import signal
import time

from labs.grade.observe import (
    accept_queue, alive, children, own_number, PATIENCE, Seen, started, threads, Trace, tree,
    wait_until)
from labs.grade.tasks import (
    answer, answer_of_more, ask, BACK_OFF, Clients, END, end_together, expect_blocking,
    expect_replaced, expect_sleep, FAILS, HALF, living, NEW_TASK, plural, readable, settle, shape,
    threads_that_accept, threads_that_read, who_serves, workers_of)


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
        raise Seen(f"other workers than before, after {10 * count} clients; " + shape(server.pid),
                   f"the same {count} workers: each serves many clients")


def test_workers_accept(fresh_server, expect):
    """Each worker sleeps in accept, all on the same socket; the parent does not."""
    server, count = fresh_server(), expect["workers"]

    def who():
        return {pid for pid, _ in threads_that_accept(server)}

    settle(server, lambda: len(who()) == count and server.pid not in who())
    found = who()
    if len(found) != count or server.pid in found:
        parent = " and the first process" if server.pid in found else ""
        raise Seen(f"{plural(len(found - {server.pid}), 'worker')}{parent} in accept(2)",
                   f"{count} workers in accept(2), and a parent that only looks after them")
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
                       "clients" + (", and the first process served, too" if by_parent else ""),
                       f"each of the {count} clients served by another worker, none by the parent")
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
                  len(threads_that_read(server, held)) == count and not threads_that_accept(server))
        return quiet >= 3

    wait_until(is_waiting)
    if quiet < 3:
        raise Seen(f"client number {count + 1} was not in the accept queue; " + shape(server.pid),
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
        raise Seen(f"{plural(len(found - {main}), 'thread')}{text} in accept(2); "
                   f"{shape(server.pid)}", f"{count} threads of one process in accept(2), and a "
                   "main thread that takes the signals")
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


def test_sleeps_between_signals(fresh_server, expect):
    """The first thread waits for a signal while the others serve."""
    server, count = fresh_server(), expect["others"]
    settle(server, lambda: len(threads_that_accept(server)) == count)
    if len(threads_that_accept(server)) < count:
        raise Seen(f"{plural(len(threads_that_accept(server)), 'thread')} in "
                   f"accept(2); {shape(server.pid)}", f"{count} that accept")
    expect_sleep(server, "while nothing is to be done")


# ---------------------------------------------------- workers that are killed


def test_replaces_a_killed_worker(fresh_server, expect):
    """A worker that was killed is reaped and another one started, each time:
    more often than there are workers."""
    server, count = fresh_server(), expect["workers"]
    for number in (signal.SIGKILL, signal.SIGSEGV) * ((count + 2) // 2):
        victim = workers_of(server, count)[0]
        os.kill(victim, number)
        expect_replaced(server, [victim], count, "one worker was killed")


def test_replaces_workers_that_die_together(fresh_server, expect):
    """One SIGCHLD may stand for several workers: all end while the parent cannot run."""
    server, count = fresh_server(), expect["workers"]
    workers_of(server, count)
    victims = end_together(server)
    expect_replaced(server, victims, count, f"{count} workers were killed at the same time")


# The parent goes on 1 s after each waitpid(2): what happens in that time comes
# after its look at the workers, and before its sleep.
LATE = ("-q", "-e", "inject=wait4:delay_exit=1000000")
# A worker was reaped, and then another one, or any (-1), was found running.
FOUND_RUNNING = re.compile(r"\bwait4\(.*\) = [1-9].*?\bwait4\((-?\d+),[^\n]*\) = 0\b", re.DOTALL)


def test_misses_no_death(fresh_server, expect):
    """A worker dies when the parent has asked for it and found it running. Its
    SIGCHLD comes before the parent sleeps, and must end that sleep."""
    server, count = fresh_server(), expect["workers"]
    first = workers_of(server, count)[0]
    began = started(first)      # it is replaced without a pause, if it is old
    wait_until(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) - began > 1.1 * expect["seconds"])
    victim = first
    with Trace(server.pid, "wait4", LATE) as trace:
        os.kill(first, signal.SIGKILL)
        found = settle(server, lambda: FOUND_RUNNING.search("\n".join(trace.lines())), BACK_OFF)
        if found:
            victim = next((pid for pid in living(server.pid) if found[1] in
                           ("-1", own_number(pid))), first)
        if victim != first:
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: not alive(victim))
        trace.detach()
    expect_replaced(server, [first, victim], count, "a worker died between "
                    "waitpid(2), which said that it runs, and the sleep of the parent")


def test_waits_before_it_replaces_again(fresh_server, expect):
    """A worker that dies immediately is not replaced immediately: the parent
    would only fork. The times are those of the kernel, /proc/PID/stat."""
    server, interval = fresh_server(["--workers", "1"]), expect["seconds"]
    rounds = 0
    for _ in range(8):
        victim = workers_of(server, 1)[0]
        began = started(victim)
        os.kill(victim, signal.SIGKILL)
        lived = time.clock_gettime(time.CLOCK_BOOTTIME) - began
        heirs = settle(server, lambda: set(living(server.pid)) - {victim}, BACK_OFF)
        if not heirs:
            raise Seen(f"{shape(server.pid)} after its worker was killed", "another worker")
        if lived > interval / 2:        # we were late, or it is the first
            continue
        gap = started(min(heirs)) - began
        if gap < interval / 2:
            raise Seen(f"a worker that was killed {lived:.2f} s after its start, and another one "
                       f"after {gap:.2f} s", f"{interval:g} s from one start to the next")
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
            raise Seen("a client that the first process serves", "a process of its own for it")
        for pid in owners - {server.pid}:
            os.kill(pid, signal.SIGKILL)
        if not held[0].is_closed(PATIENCE, may_reset=True):
            raise Seen("a connection that stays open although the process "
                       "that served it was killed", "its end: no other process has this socket")
        for client in held[1:]:
            answer(client)
    ask(server.port)


def test_tries_again_to_fork(fresh_server, expect):
    """fork fails with EAGAIN when a worker is to be replaced: the parent stays
    and tries again, at most once in `seconds`."""
    server, count = fresh_server(), expect["workers"]
    victim = workers_of(server, count)[0]
    with Trace(server.pid, NEW_TASK, FAILS) as trace:
        os.kill(victim, signal.SIGKILL)
        if settle(server, lambda: trace.count("EAGAIN") >= 1, BACK_OFF):
            wait_until(lambda: trace.count("EAGAIN") >= 2)
        times = [float(line.split()[1]) for line in trace.lines() if "EAGAIN" in line]
        ask(server.port, what="a client while a worker could not be replaced")
    if len(times) < 2:
        raise Seen(f"{plural(len(times), 'attempt')} to fork while it failed with EAGAIN; "
                   f"{shape(server.pid)}", "an attempt in each second until one succeeds")
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    if min(gaps) < expect["seconds"] / 2:
        raise Seen(f"{min(gaps):.3f} s from one attempt to fork to the next, "
                   "while it failed", f"{expect['seconds']:g} s")
    expect_replaced(server, [victim], count, "fork works again")
