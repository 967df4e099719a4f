"""Lab 01, level "architecture": one process, which waits for one client."""

import contextlib

from labs.grade.client import PATIENCE, Client
from labs.grade.observe import Seen, Trace, threads, wait_until, waits_in
from labs.grade.test_robust import expect_hello


def test_is_one_process(server):
    with Client(server.port) as client:
        client.request("/hello")
        client.response()
        pids = server.processes()
        count = len(threads(server.pid))
    if pids != [server.pid] or count != 1:
        raise Seen(f"{len(pids)} processes, the first with {count} threads, "
                   "while a client is served", "1 process with 1 thread")


def test_lets_others_wait(server):
    """A client that has begun a request keeps the server."""
    with contextlib.ExitStack() as opened:
        first = opened.enter_context(Client(server.port))
        with Trace(server.pid, "recvfrom,read,recvmsg") as trace:
            first.send(b"GET /hello HT")
            if not wait_until(lambda: trace.count("GET /hello HT")):
                raise Seen("half a request that was never read",
                           "recv(2) of the first client's bytes")
        # Not before: a client that has sent nothing may be closed for another.
        second = opened.enter_context(Client(server.port, 1))
        second.request("/hello")
        try:
            second.response()
        except TimeoutError:
            pass
        else:
            raise Seen("a second client was answered while the first was in "
                       "the middle of its request", "it waits")
        first.send(b"TP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        first.response()
        second.timeout = PATIENCE
        second.response()


def test_waits_in_accept(server):
    """The call in which it sleeps is accept, as long as no client comes."""
    expect_hello(server, "at its start")
    # It may still be busy with the end of that connection.
    wait_until(lambda: waits_in(server.pid, server.pid)[0] == "accept")
    with Trace(server.pid, None, ("-f", "-q")) as trace:
        if not wait_until(lambda: trace.lines()):
            raise Seen("no system call", "accept(2), waiting")
        call = trace.lines()[0]
    if "accept" not in call:
        raise Seen(f"without a client it is in {call.split('(')[0]}", "accept(2)")
