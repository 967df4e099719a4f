"""Clients of an event loop, and what it does with them: labs 06, 07 and 08.

No test measures speed. Where the order of two things matters, the server is
stopped with SIGSTOP, both are made ready, and SIGCONT lets it run again.
"""

import contextlib
import re
import signal

from labs.grade.client import Client, get, port_of
from labs.grade.observe import (
    PATIENCE, Seen, Trace, holder, or_seen, state, threads, wait_until)
from tools.kit.procfs import read

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
PF_IO_WORKER = 0x10     # <linux/sched.h>: a thread that io_uring made


@contextlib.contextmanager
def crowd(server, number):
    """Connect `number` clients that send half a request, each when the server holds
    the connection of the one before; fewer when it accepts no more."""
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(number):
            client = stack.enter_context(Client(server.port, PATIENCE))
            client.send(HALF)
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


def ask(client, what):
    """Send one request and return the answer; raise Seen without one."""
    with or_seen(lambda error: f"no answer for {what} ({error})",
                 f"an answer within {PATIENCE:g} s"):
        client.request("/hello")
        return client.response()


def trace_of_answers(server, what=None):
    """Return the Trace of a server that answers five kept clients once more; `what`: of these
    system calls only, a list as strace's -e trace= takes it."""
    with kept(server, 5) as clients, Trace(server.pid, what) as trace:
        for client in clients:
            ask(client, "a second request")
        trace.detach()
    return trace


def expect_service(server, others):
    """Raise Seen if a new client gets no answer; `others` says what the other clients do."""
    with or_seen(lambda error: f"a second client got no answer ({error}), {others}",
                 f"an answer within {PATIENCE:g} s"):
        get(server.port, "/hello", timeout=PATIENCE)


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
    """Return the threads of a process without io_uring's, the kernel's own.
    The kernel marks these; a program may choose the names of its threads."""
    def flags(thread):      # proc(5), /proc/PID/stat, field 9
        fields = read(f"/proc/{pid}/task/{thread}/stat").rpartition(")")[2].split()
        return int(fields[6]) if fields else 0
    return [one for one in threads(pid) if not flags(one) & PF_IO_WORKER]


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
            yield (match[1], match[2] and int(match[2]), result and int(result[1]))
