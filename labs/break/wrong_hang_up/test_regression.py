"""A client that leaves does not disturb the others."""

import re

from labs.grade.client import Client, get
from labs.grade.observe import Seen, Trace, or_seen, state, wait_until

# Each thread goes on 4 s after its first close(2). In that time the other one overtakes it.
SLOWLY = ("-f", "-q", "-e", "inject=close:delay_exit=4000000:when=1")
DEADLINE = 20       # seconds


def closes(trace, thread=r"\d+"):
    """Return the threads that have called close(2), one for each call."""
    return [int(match[1]) for line in trace.lines()
            if (match := re.match(rf"({thread}) +close\(", line))]


def wait_for_visit(server, trace, count):
    """Wait until `count` calls of close(2) are made, and the thread that made
    the last waits again; return its thread id."""
    if not wait_until(lambda: len(closes(trace)) >= count, DEADLINE):
        raise Seen(f"{len(closes(trace))} calls of close(2)", f"{count}")
    thread = closes(trace)[-1]
    if not wait_until(lambda: state(server.pid, thread) == "S", DEADLINE):
        raise Seen("a thread that does not wait again", "one")
    return thread


def test_a_connection_belongs_to_one_client(server):
    with Client(server.port) as leaving, Trace(server.pid, "close,accept4", SLOWLY) as trace:
        leaving.request("/hello")
        leaving.response()
        get(server.port, "/hello")              # the other thread is slow once
        other = wait_for_visit(server, trace, 1)
        before = len(closes(trace))
        leaving.close()
        if not wait_until(lambda: len(closes(trace)) > before):
            raise Seen("no close(2) after a client has left", "one")
        slow = closes(trace)[-1]
        # The kernel chooses the descriptor of the next client when accept(2)
        # is called, not when the client comes: another visit.
        count = len(closes(trace, other)) + 1
        get(server.port, "/hello")
        wait_until(lambda: len(closes(trace, other)) >= count, DEADLINE)
        wait_until(lambda: state(server.pid, other) == "S", DEADLINE)
        with Client(server.port, timeout=DEADLINE) as staying:
            staying.request("/hello")
            staying.response()
            if not wait_until(lambda: state(server.pid, slow) == "S", DEADLINE):
                raise Seen("a thread that does not wait again", "one")
            trace.detach()
            with or_seen(lambda error: "a client's connection ended when another client had left: "
                         f"{error}", "an answer to its second request"):
                staying.request("/hello")
                staying.response()
