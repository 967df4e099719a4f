"""Level "architecture" of the event loops: labs 06, 07 and 08.

No test measures speed. Where the order of two things matters, the server is
stopped with SIGSTOP, both are made ready, and SIGCONT lets it run again.
"""

import contextlib
import re
import resource
import select
import signal
import socket
import struct
import time
from pathlib import Path

from labs.grade.client import Client, ask_guestbook, get, port_of
from labs.grade.observe import (PATIENCE, Seen, Trace, children, descriptors,
                                epoll_set, holder, listeners, must_read,
                                nonblocking, outgoing, state, threads, tree,
                                wait_until)
from labs.grade.test_works import LARGE

HALF = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n"     # no empty line
WAITS = "poll,ppoll,select,pselect6,epoll_wait,epoll_pwait,epoll_pwait2"
READS = ("recvfrom", "recvmsg", "read", "readv")
WRITES = ("sendto", "sendmsg", "sendmmsg", "write", "writev", "sendfile")
QUIET = 1.0             # seconds that an idle server is looked at
SMALL = 1 << 16         # bytes of a receive buffer: most of /large has to wait
BATCH = 500             # pipelined requests: three reads of 16 KiB
GAP = 0.2               # seconds from an answer to that of a page that gives up
                        # on Redis, which takes 0.7

EPOLLET = 1 << 31       # see epoll_ctl(2)


@contextlib.contextmanager
def crowd(server, number, begin=HALF):
    """Connect `number` clients that send `begin`, each when the server holds
    the connection of the one before; fewer when it accepts no more."""
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(number):
            client = stack.enter_context(Client(server.port, PATIENCE))
            client.send(begin)
            clients.append(client)
            if not wait_until(lambda: holder(      # one after the other
                    server.pid, server.port, port_of(client))):
                break
        yield clients


@contextlib.contextmanager
def kept(server, number):
    """Connect `number` clients that got one answer each and stay connected."""
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(number):
            clients.append(stack.enter_context(Client(server.port, PATIENCE)))
            ask(clients[-1], "the first request of a kept connection")
        yield clients


def ask(client, what, path="/hello"):
    """Send one request and return the answer; raise Seen without one."""
    try:
        client.request(path)
        return client.response()
    except OSError as error:
        raise Seen(f"no answer for {what} ({error})",
                   f"an answer within {PATIENCE:g} s") from error


def expect_service(server, others):
    """Raise Seen if a new client gets no answer; `others` says what the other
    clients do."""
    try:
        get(server.port, "/hello", timeout=PATIENCE)
    except OSError as error:
        raise Seen(f"a second client got no answer ({error}), {others}",
                   f"an answer within {PATIENCE:g} s") from error


@contextlib.contextmanager
def stopped(server):
    """Stop the server while it waits; it goes on when the block ends.

    A server that is still busy, with the end of a connection for example, gets a
    second to finish that: a signal does something else to a call that waits.
    """
    wait_until(lambda: state(server.pid) == "S", 1)
    server.send(signal.SIGSTOP)
    try:
        if not wait_until(lambda: state(server.pid) in ("T", "t", "")):
            raise Seen("the server cannot be stopped", "that SIGSTOP stops it")
        yield
    finally:
        server.send(signal.SIGCONT)


def threads_of_program(pid):
    """Return the threads of a process without io_uring's, the kernel's own."""
    def name(thread):
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/task/{thread}/comm").read_text()
        return ""
    return [one for one in threads(pid) if not name(one).startswith("iou-")]


def pipelined():
    """Return BATCH requests in one piece of about 45 KiB."""
    request = b"GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Fill: "
    return (request + b"-" * (88 - len(request)) + b"\r\n\r\n") * BATCH


def calls(trace):
    """Yield (name of the call, its first argument as a number or None, its
    result or None) for each line of strace."""
    for line in trace.lines():
        match = re.match(r"\d+ +(\w+)\((?:(\d+)\b)?", line)
        if match:
            result = re.search(r"\) += (-?\d+)", line)
            yield (match[1], match[2] and int(match[2]),
                   result and int(result[1]))


# ------------------------------------------------------ processes, sockets

def test_one_process_one_thread(server):
    with crowd(server, 20):
        processes = tree(server.pid)
        running = sum(len(threads_of_program(pid)) for pid in processes)
        if len(processes) != 1 or running != 1:
            raise Seen(f"{len(processes)} processes with {running} threads "
                       "while 20 clients are connected",
                       "one process with one thread, whatever the number of "
                       "clients")


def test_sockets_never_block(server):
    with crowd(server, 5) as clients:
        held = [one for client in clients if (one := holder(
            server.pid, server.port, port_of(client)))]
        if not held:
            raise Seen("none of 5 clients was accepted", "5 connections")
        held += [(pid, fd) for pid, fds in listeners(
            server.pid, server.port).items() for fd in fds]
        for pid, fd in held:
            if nonblocking(pid, fd) is False:
                raise Seen(f"descriptor {fd} has no O_NONBLOCK "
                           f"(/proc/PID/fdinfo/{fd})",
                           "the listener and every client's socket "
                           "non-blocking")


def test_waits_in_poll(server):
    with kept(server, 5) as clients:
        with Trace(server.pid, WAITS) as trace:
            for client in clients:
                ask(client, "a second request")
            trace.detach()
        others = sorted({name for name, *_ in calls(trace)} - {"poll", "ppoll",
                        "restart_syscall"})
        numbers = [int(found[1]) for line in trace.lines() if
                   (found := re.search(r"p?poll\(.*\], (\d+),", line))]
        if others or max(numbers, default=0) < 6:
            raise Seen(f"it waits in {', '.join(others)}" if others else
                       f"poll(2) with {max(numbers, default=0)} descriptors",
                       "poll(2) with the listener and all 5 clients, and no "
                       "other wait")


def test_waits_in_epoll(server):
    with kept(server, 5) as clients:
        with Trace(server.pid, WAITS) as trace:
            for client in clients:
                ask(client, "a second request")
            trace.detach()
        names = {name for name, *_ in calls(trace)} - {"restart_syscall"}
        others = {name for name in names if not name.startswith("epoll_")}
        if others or not names:
            raise Seen("it waits in " + (", ".join(sorted(others)) or
                                         "none of poll, select and epoll"),
                       "epoll_wait(2), and no other wait")


def test_waits_in_the_ring(server):
    with kept(server, 5) as clients:
        with Trace(server.pid) as trace:
            for client in clients:
                ask(client, "a second request")
            trace.detach()
        names = {name for name, *_ in calls(trace)}
        others = names & {*WAITS.split(","), *READS, *WRITES, "accept",
                          "accept4"}
        if others or "io_uring_enter" not in names:
            raise Seen("calls of " + ", ".join(sorted(names)),
                       "io_uring_enter(2) alone: it hands over the sends, and "
                       "the results of accept and recv are in the completion "
                       "queue")


# ----------------------------------------------------------- edge-triggered

def test_is_edge_triggered(server):
    with kept(server, 3) as clients:
        sockets = [("the listener", fd) for fds in
                   listeners(server.pid, server.port).values() for fd in fds]
        for client in clients:
            found = holder(server.pid, server.port, port_of(client))
            sockets.append(("a kept client", found[1] if found else -1))
        # It may be watched only after its answer has left.
        wait_until(lambda: {fd for _, fd in sockets} <= set(
            epoll_set(server.pid)))
        watched = epoll_set(server.pid)
        for what, fd in sockets:
            if fd not in watched:
                raise Seen(f"{what} is in no epoll set (/proc/PID/fdinfo)",
                           "the listener and every kept client in one")
            if not watched[fd] & EPOLLET:
                raise Seen(f"{what} is watched with events "
                           f"{watched[fd]:#x}, without EPOLLET",
                           "EPOLLET: edge-triggered")


def test_serves_all_that_arrived(server):
    with kept(server, 1) as (client,):
        with stopped(server):
            client.send(pipelined())
        client.meanwhile = must_read(server.pid, server.port, port_of(client))
        answered = 0
        try:
            for answered in range(BATCH):
                client.response()
        except OSError as error:
            raise Seen(f"{answered} answers for {BATCH} requests that arrived "
                       f"together, in 45 KiB ({error})",
                       f"{BATCH} answers") from error
        ask(client, f"a request after {BATCH} others")


def test_accepts_all_that_wait(server):
    expect_service(server, "and it is the only one")
    with contextlib.ExitStack() as stack:
        with stopped(server):
            clients = [stack.enter_context(Client(server.port, PATIENCE))
                       for _ in range(20)]
            for client in clients:
                client.request("/hello")
        for number, client in enumerate(clients):
            try:
                client.response()
            except OSError as error:
                raise Seen(f"{number} of 20 clients that came together were "
                           f"answered ({error})", "all 20") from error


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
                           "that the answer begins, although three clients "
                           "read nothing of theirs")
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
        try:
            before.response()
            after.response()
        except OSError as error:
            raise Seen(f"/hello got no answer ({error}) while a guestbook "
                       "waits for Redis", "that others are served") from error
        if not select.select([guest.sock], [], [], 0)[0]:
            return True
        # Its answer is here: the server was late, or we are. Which was first?
        return min(map(silent_for, (before, after))) \
            > silent_for(guest) + GAP


def test_redis_holds_nobody(fresh_server):
    for full, what in ((False, "does not answer"), (True, "does not accept")):
        with silent_redis(full) as address:
            # Between two answers, a busy machine may stop the server for long:
            # it gets three chances.
            if not any(overtake(fresh_server(redis=address))
                       for _ in range(3)):
                raise Seen("/hello was answered after the guestbook, which "
                           f"waits for a Redis that {what}",
                           "that others are served while a page waits for "
                           "Redis")


def test_shares_one_redis_connection(server):
    with kept(server, 5) as clients:
        for client in clients:
            client.request("/guestbook")
        for client in clients:
            try:
                client.response()
            except OSError as error:
                raise Seen(f"no guestbook ({error})", "five pages") from error
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
            found = holder(server.pid, server.port,
                           port_of(client))
            if not found:
                raise Seen("a kept connection was closed", "that it stays")
            fds[client] = found[1]
        with Trace(server.pid, ",".join(READS + WRITES)) as trace:
            with stopped(server):
                fast.send(pipelined())
                before.request("/hello")
                after.request("/hello")
            try:
                for client in (before, after, *[fast] * BATCH):
                    client.response()
            except OSError as error:
                raise Seen(f"an answer is missing ({error})",
                           f"{BATCH + 2} answers") from error
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
                raise Seen(f"all {BATCH} pipelined requests of one client were "
                           "read before another client was answered",
                           "that each ready client gets a share in turn")


# -------------------------------------------------------------------- quiet

def test_sleeps_when_idle(server):
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
                       "a pause before accept(2) is tried again: fewer than "
                       "800 a second")
        for number, client in enumerate(clients):
            try:
                client.send(b"Connection: close\r\n\r\n")
                client.response()
            except OSError as error:
                raise Seen(f"{number} of {len(clients)} clients were answered "
                           f"when descriptors were free again ({error})",
                           "all: the others wait in the accept queue"
                           ) from error


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
                   "each in its epoll set one listening socket, its own "
                   "(SO_REUSEPORT)")
    for _ in range(30):
        expect_service(server, "with three workers")


# --------------------------------------------------------------- the ring

def test_gives_buffers_back(server, expect):
    with kept(server, 1) as (client,):
        for number in range(expect["requests"]):
            ask(client, f"request {number + 1} of a kept connection")


def test_ends_connections(server, fresh_server):
    for _ in range(3):
        with Client(server.port, PATIENCE) as client:
            try:
                client.request("/hello", fields=("Connection: close",))
                client.response()
                ended = client.is_closed(PATIENCE)
            except ConnectionResetError as error:
                raise Seen(str(error), "an answer, then a FIN") from error
            except OSError as error:
                raise Seen(f"no answer ({error})", "an answer") from error
            if not ended:
                raise Seen("a connection is still open "
                           f"{PATIENCE:g} s after its last answer, with "
                           "\"Connection: close\"", "its end, a FIN")
    loses_nothing(fresh_server(args=["--keep-alive", "0"]))


def loses_nothing(server):
    """Raise Seen unless a client that goes on sending gets all of its last
    answer: a server that has closed the socket by then answers with RST, and
    what the client has not acknowledged is lost."""
    received = 0
    with Client(server.port, PATIENCE, SMALL) as client:
        client.request("/large")
        try:
            while data := client.sock.recv(SMALL):
                received += len(data)
                client.request("/hello")
        except OSError as error:
            raise Seen(f"the last answer was cut off after {received} bytes, "
                       f"because its client went on sending ({error})",
                       f"all {LARGE} bytes: FIN, then LINGER") from error
    if received < LARGE:
        raise Seen(f"{received} bytes of the last answer", f"{LARGE} bytes")


def test_few_system_calls(server, expect):
    number = expect["clients"]
    with kept(server, number) as clients:
        with Trace(server.pid) as trace:
            with stopped(server):
                for client in clients:
                    client.request("/hello")
            for client in clients:
                try:
                    client.response()
                except OSError as error:
                    raise Seen(f"an answer is missing ({error})",
                               f"{number} answers") from error
            trace.detach()
        made = sum(1 for _ in calls(trace))
        if made > expect["most"]:
            raise Seen(f"{made} system calls for {number} requests that were "
                       "ready together", f"at most {expect['most']}: one "
                       "io_uring_enter(2) hands over many")
