"""Event loops with nothing to do, without descriptors, and several of them."""

import contextlib
import os
import resource
import signal
import time

from labs.grade.client import Client, port_of
from labs.grade.loops import HALF, QUIET, ask, crowd, expect_service, kept
from labs.grade.observe import (
    PATIENCE, Seen, Trace, children, descriptors, epoll_set, grown, holder, listeners, or_seen,
    state, threads, wait_until, waits)


def test_sleeps_when_idle(server):
    made, seconds = grown(lambda: waits(server.pid, server.pid), QUIET / 2)
    if made > 40 * seconds:
        raise Seen(f"{made} wake-ups in {QUIET / 2} s without a client",
                   "at most 20: the loop sleeps until there is something to do")
    with kept(server, 5) as clients:
        with crowd(server, 1), Trace(server.pid) as trace:
            time.sleep(QUIET)
            trace.detach()
        if len(trace.lines()) > 20:
            raise Seen(f"{len(trace.lines())} system calls in a second, such "
                       f"as {trace.lines()[-1].split('(')[0].split()[-1]}(2), "
                       "while six clients are silent", "at most 20")
        ask(clients[0], "a client that was silent for a second")


def test_pauses_without_descriptors(fresh_server, expect):
    """accept(2) fails with EMFILE, or, with expect.limit (a ulimit from the
    start), the server reaches the number of clients that it allows itself:
    the limit of an accept that the ring has is that of its submission."""
    room, limit = 0, expect.get("limit")
    server = fresh_server(limits={"nofile": limit} if limit else None)
    expect_service(server, "and it is the only one")
    with contextlib.ExitStack() as stack:
        if not limit:
            room = 5
            limit = max(descriptors(server.pid)) + 1 + room
            _, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (limit, hard))
        clients, taken = [], True
        for number in range(limit + 10):
            client = stack.enter_context(Client(server.port, PATIENCE))
            client.send(HALF)
            clients.append(client)
            if number < room and taken:
                taken = wait_until(
                    lambda port=port_of(client): holder(
                        server.pid, server.port, port))
        counts = []     # until it takes no more: the same number three times

        def settled():
            counts.append(len(descriptors(server.pid)))
            time.sleep(0.02)
            return len(counts) > 3 and len(set(counts[-4:])) == 1
        wait_until(settled)
        with Trace(server.pid) as trace:
            began = time.monotonic()
            time.sleep(QUIET)
            trace.detach()
            seconds = time.monotonic() - began
        if len(trace.lines()) > 800 * max(1, seconds):
            raise Seen(f"{len(trace.lines())} system calls in {seconds:.1f} s "
                       "without a free descriptor (EMFILE)",
                       "a pause before accept(2) is tried again: fewer than 800 a second")
        number = 0
        with or_seen(lambda error: f"{number} of {len(clients)} clients were answered when "
                     f"descriptors were free again ({error})",
                     "all: the others wait in the accept queue"):
            for number, client in enumerate(clients):
                client.send(b"Connection: close\r\n\r\n")
                client.response()


# ------------------------------------------------------------ several loops

def test_several_loops(fresh_server):
    server = fresh_server(args=["--workers", "3"])
    loops = wait_until(lambda: len(children(server.pid)) == 3
                       and children(server.pid)) or children(server.pid)
    if len(loops) != 3:
        raise Seen(f"{len(loops)} child processes with --workers 3",
                   "three, each with a loop of its own")
    inodes = {}
    for pid in loops:
        if len(threads(pid)) != 1:
            raise Seen(f"{len(threads(pid))} threads in a worker", "one")

        def watched(pid=pid):
            held = listeners(pid, server.port).get(pid, [])
            names = descriptors(pid)
            return {names.get(fd) for fd in held if fd in epoll_set(pid)}
        inodes[pid] = wait_until(watched)
    if any(len(names) != 1 for names in inodes.values()) or \
            len(set.union(*map(set, inodes.values()))) != 3:
        raise Seen("the workers watch " + ", ".join(
                       str(sorted(names)) for names in inodes.values()),
                   "each in its epoll set one listening socket, its own (SO_REUSEPORT)")
    for _ in range(30):
        expect_service(server, "with three workers")
    os.kill(loops[0], signal.SIGKILL)

    def is_whole():
        now = children(server.pid)
        return len(now) == 3 and loops[0] not in now and all(map(state, now))
    if not wait_until(is_whole):
        raise Seen(f"{len(children(server.pid))} workers after one was killed",
                   "three: worker_processes.h starts another one")
    os.kill(server.pid, signal.SIGKILL)
    if not wait_until(lambda: not server.processes()):
        raise Seen(f"{len(server.processes())} workers left after their parent was "
                   "killed", "none: record_fork() sees to it in the child")
