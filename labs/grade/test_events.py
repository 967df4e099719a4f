"""Level "architecture" of the event loops: labs 06, 07 and 08."""

import contextlib
import re
import select
import socket
import struct

from labs.grade.client import ask_guestbook, Client, port_of
from labs.grade.loops import (
    ask, BATCH, calls, crowd, EPOLLET, expect_service, GAP, kept, pipelined, READS, stopped,
    threads_of_program, trace_of_answers, WAITS, WRITES)
from labs.grade.observe import (
    PATIENCE, Seen, Trace, epoll_set, holder, listeners, must_read, nonblocking, or_seen, outgoing,
    tree, wait_until)


def test_one_process_one_thread(server):
    with crowd(server, 20):
        processes = tree(server.pid)
        running = sum(len(threads_of_program(pid)) for pid in processes)
        if len(processes) != 1 or running != 1:
            raise Seen(f"{len(processes)} processes with {running} threads while 20 clients are "
                       "connected", "one process with one thread, whatever the number of clients")


def test_sockets_never_block(server):
    with crowd(server, 5) as clients:
        held = [one for client in clients if (one := holder(
            server.pid, server.port, port_of(client)))]
        if not held:
            raise Seen("none of 5 clients was accepted", "5 connections")
        held += [(pid, fd) for pid, fds in listeners(server.pid, server.port).items() for fd in fds]
        for pid, fd in held:
            if nonblocking(pid, fd) is False:
                raise Seen(f"descriptor {fd} has no O_NONBLOCK (/proc/PID/fdinfo/{fd})",
                           "the listener and every client's socket non-blocking")


def test_waits_in_poll(server):
    trace = trace_of_answers(server, WAITS)
    others = sorted({name for name, *_ in calls(trace)} - {"poll", "ppoll", "restart_syscall"})
    numbers = [int(found[1]) for line in trace.lines() if
               (found := re.search(r"p?poll\(.*\], (\d+),", line))]
    if others or max(numbers, default=0) < 6:
        raise Seen(f"it waits in {', '.join(others)}" if others else
                   f"poll(2) with {max(numbers, default=0)} descriptors",
                   "poll(2) with the listener and all 5 clients, and no other wait")


def test_waits_in_epoll(server):
    names = {name for name, *_ in calls(trace_of_answers(server, WAITS))} - {"restart_syscall"}
    others = {name for name in names if not name.startswith("epoll_")}
    if others or not names:
        raise Seen("it waits in " + (", ".join(sorted(others)) or
                                     "none of poll, select and epoll"),
                   "epoll_wait(2), and no other wait")


# ----------------------------------------------------------- edge-triggered

def test_is_edge_triggered(server):
    with kept(server, 3) as clients:
        sockets = [("the listener", fd) for fds in
                   listeners(server.pid, server.port).values() for fd in fds]
        for client in clients:
            found = holder(server.pid, server.port, port_of(client))
            sockets.append(("a kept client", found[1] if found else -1))
        # It may be watched only after its answer has left.
        wait_until(lambda: {fd for _, fd in sockets} <= set(epoll_set(server.pid)))
        watched = epoll_set(server.pid)
        for what, fd in sockets:
            if fd not in watched:
                raise Seen(f"{what} is in no epoll set (/proc/PID/fdinfo)",
                           "the listener and every kept client in one")
            if not watched[fd] & EPOLLET:
                raise Seen(f"{what} is watched with events {watched[fd]:#x}, without EPOLLET",
                           "EPOLLET: edge-triggered")


def test_serves_all_that_arrived(server):
    with kept(server, 1) as (client,):
        with stopped(server):
            client.send(pipelined())
        client.meanwhile = must_read(server.pid, server.port, port_of(client))
        answered = 0
        with or_seen(lambda error: f"{answered} answers for {BATCH} requests that arrived together,"
                     f" in 45 KiB ({error})", f"{BATCH} answers"):
            for answered in range(BATCH):
                client.response()
        ask(client, f"a request after {BATCH} others")


def test_accepts_all_that_wait(server):
    expect_service(server, "and it is the only one")
    with contextlib.ExitStack() as stack:
        with stopped(server):
            clients = [stack.enter_context(Client(server.port, PATIENCE)) for _ in range(20)]
            for client in clients:
                client.request("/hello")
        number = 0
        with or_seen(lambda error: f"{number} of 20 clients that came together were answered "
                     f"({error})", "all 20"):
            for number, client in enumerate(clients):
                client.response()


# ----------------------------------------------- no client holds up the others

def test_silent_client_holds_nobody(server):
    with crowd(server, 3):
        expect_service(server, "while three sent half a request and wait")


def test_slow_reader_holds_nobody(server):
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            slow = stack.enter_context(Client(server.port, PATIENCE, 4096))
            slow.request("/large")
            if not select.select([slow.sock], [], [], PATIENCE)[0]:
                raise Seen("no byte of /large came",
                           "that the answer begins, although three clients read nothing of theirs")
        expect_service(server, "while three do not read their 16 MiB")


@contextlib.contextmanager
def silent_redis(full):
    """A listener that answers nothing; if `full`, connecting hangs, too."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0 if full else 64)
        for _ in range(4 if full else 0):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield "127.0.0.1:%d" % listener.getsockname()[1]


def silent_for(client):
    """Return how long ago a client's socket got its last bytes, in seconds,
    by the kernel's clock: tcpi_last_data_recv of struct tcp_info, tcp(7)."""
    info = client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 56)
    return struct.unpack_from("I", info, 52)[0] / 1000


def overtake(server):
    """Return whether two clients are answered while the guestbook of a third
    one waits for Redis. All three are ready together; a loop that goes through
    its clients from either end meets the guestbook before one of the two."""
    with kept(server, 3) as (before, guest, after):
        with stopped(server):
            guest.request("/guestbook")
            before.request("/hello")
            after.request("/hello")
        with or_seen(lambda error: f"/hello got no answer ({error}) while a guestbook waits for "
                     "Redis", "that others are served"):
            before.response()
            after.response()
        if not select.select([guest.sock], [], [], 0)[0]:
            return True
        # Its answer is here: the server was late, or we are. Which was first?
        return min(map(silent_for, (before, after))) > silent_for(guest) + GAP


def test_redis_holds_nobody(fresh_server):
    for full, what in ((False, "does not answer"), (True, "does not accept")):
        with silent_redis(full) as address:
            # Between two answers, a busy machine may stop the server for long:
            # it gets three chances.
            if not any(overtake(fresh_server(redis=address)) for _ in range(3)):
                raise Seen("/hello was answered after the guestbook, which waits for a Redis that "
                           f"{what}", "that others are served while a page waits for Redis")


def test_shares_one_redis_connection(server):
    with kept(server, 5) as clients:
        for client in clients:
            client.request("/guestbook")
        with or_seen(lambda error: f"no guestbook ({error})", "five pages"):
            for client in clients:
                client.response()
        ask_guestbook(server.port)      # a late Redis closed the connection
        port = int(server.redis.rpartition(":")[2])
        number = len(outgoing(server.pid, port))
        if number != 1:
            raise Seen(f"{number} connections to Redis after five clients "
                       "asked for the guestbook", "one, which all share")


def test_fast_client_starves_nobody(server):
    with kept(server, 3) as (before, fast, after):
        fds = {}
        for client in (before, fast, after):
            found = holder(server.pid, server.port, port_of(client))
            if not found:
                raise Seen("a kept connection was closed", "that it stays")
            fds[client] = found[1]
        with Trace(server.pid, ",".join(READS + WRITES)) as trace:
            with stopped(server):
                fast.send(pipelined())
                before.request("/hello")
                after.request("/hello")
            with or_seen(lambda error: f"an answer is missing ({error})", f"{BATCH + 2} answers"):
                for client in (before, after, *[fast] * BATCH):
                    client.response()
            trace.detach()
        steps = list(calls(trace))
        reads = [i for i, (name, fd, result) in enumerate(steps)
                 if name in READS and fd == fds[fast] and (result or 0) > 0]
        for client in (before, after):
            first = next((i for i, (name, fd, _) in enumerate(steps)
                          if name in WRITES and fd == fds[client]), None)
            if first is None:
                raise Seen("no write to a client that was answered (strace)",
                           "one of " + ", ".join(WRITES))
            if len(reads) > 1 and first > reads[-1]:
                raise Seen(f"all {BATCH} pipelined requests of one client were read before another "
                           "client was answered", "that each ready client gets a share in turn")
