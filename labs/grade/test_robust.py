"""Level "robust": bad clients, signals, and resources that run out."""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import time

from labs.grade.client import Client, ask_guestbook, get
from labs.grade.observe import (
    PATIENCE, Seen, Trace, alive, descriptors, grown, listening_sockets, or_seen, threads,
    wait_until)
from labs.grade.sandbox import LIMITS
from labs.grade.test_works import LARGE

SMALL = 4096            # bytes of a slow client's receive buffer
RESETS = 3
MANY = 40               # clients, more than any lab's server has workers
SLOW = 6.0              # seconds of a client that reads nothing
PAUSE = 1.0             # seconds in which failed calls are counted
MOST_FAILURES = 100     # of a thread; one that pauses 50 ms fails 20 times
REPORT = re.compile(r"served (\d+) requests")


def expect_alive(server, what, seconds=0):
    """Raise Seen when the server has ended, or does so within `seconds`."""
    if server.wait(seconds) is not None:
        raise Seen(f"the server ended {what}: {server.ending}", "a server that goes on")


def expect_hello(server, what):
    """Raise Seen unless the server is there and answers /hello."""
    expect_alive(server, what)
    try:
        status = get(server.port, "/hello").status
    except OSError as error:
        expect_alive(server, what, 0.5)
        raise Seen(f"no answer {what}: {error}", "status 200") from error
    if status != 200:
        raise Seen(f"status {status} {what}", "status 200")


def start_large(port):
    """Return a Client that has read the first bytes of /large, no more."""
    client = Client(port, receive_buffer=SMALL)
    client.request("/large", fields=("Connection: close",))
    client.sock.recv(1, socket.MSG_PEEK)
    return client


def finish_large(client):
    """Raise Seen unless the rest of /large comes."""
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE)
    with client, or_seen(lambda error: f"an answer was cut off: {error}", f"all {LARGE} bytes"):
        length = len(client.response().body)
    if length != LARGE:
        raise Seen(f"{length} bytes", f"{LARGE} bytes")


def test_survives_a_reset(server):
    """A client leaves in the middle of its answer: EPIPE, and SIGPIPE."""
    before = server.processes()
    for _ in range(RESETS):
        client = start_large(server.port)
        # After our FIN, our RST means EPIPE to the server, not ECONNRESET.
        client.sock.shutdown(socket.SHUT_WR)
        client.reset()
        half = Client(server.port)
        half.send(b"GET /hello HTT")
        half.reset()
        expect_hello(server, "after a client's reset")
    ended = [pid for pid in before if not alive(pid)]
    if ended:
        raise Seen(f"{len(ended)} of {len(before)} processes ended when "
                   "clients left in the middle of an answer", "all of them alive")


def test_survives_a_slow_client(server, expect):
    """expect.others: whether others are served while a client is slow."""
    with Client(server.port) as slow, Client(server.port) as other:
        slow.send(b"GET /echo?value=sl")
        other.request("/hello")
        if expect.get("others", False):
            with or_seen(lambda _: "another client got no answer while one had sent half a request",
                         "an answer", TimeoutError):
                other.response()
        slow.send(b"ow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        if b"slow" not in slow.response().body:
            raise Seen("a wrong answer to a request in two pieces", "its own")
        if not expect.get("others", False):
            other.response()


def test_closes_every_connection(server):
    """After its clients have left, it holds no socket that does not listen.

    A closed connection that is still open in a process is in no table of the
    kernel's, so descriptors are counted.
    """
    def sockets():
        listening = listening_sockets(server.port)
        return sum(what.startswith("socket:") and what not in listening
                   for pid in server.processes() for what in descriptors(pid).values())

    before = sockets()          # an event loop may use one for itself
    for _ in range(MANY):
        expect_hello(server, "after some clients")
    if not wait_until(lambda: sockets() <= before):
        raise Seen(f"{sockets() - before} more sockets than before {MANY} "
                   "clients came and left", "as many as before")


def test_finishes_begun_answers(server, expect):
    """SIGTERM: expect.clients answers have begun, and they come whole."""
    clients = [start_large(server.port) for _ in range(expect.get("clients", 1))]
    server.send(signal.SIGTERM)
    refused = wait_until(lambda: not accepts(server.port))
    if server.wait(0) is not None:
        raise Seen(f"the server ended ({server.ending}) before its clients "
                   "had read their answers", "an end after the last answer")
    if not refused:
        raise Seen("the server still accepts clients after SIGTERM",
                   "connections refused, begun answers finished")
    for client in clients:
        finish_large(client)
    status = server.wait()
    if status != 0:
        raise Seen(server.ending or f"still running {PATIENCE:.0f} s after "
                   "the last answer", "exit status 0")


def begin_slow_answer(server):
    """Send SIGTERM to a server whose client reads nothing of a begun answer;
    return (the server, the client, the time)."""
    client = start_large(server.port)
    server.send(signal.SIGTERM)
    return server, client, time.monotonic()


def test_finishes_slow_answers(stopping):
    """A client that needs seconds for its answer gets all of it, although the
    server is stopping: --drain-timeout allows that."""
    if isinstance(stopping, Exception):
        raise stopping
    server, client, began = stopping
    time.sleep(max(0, SLOW - (time.monotonic() - began)))
    if server.wait(0) is not None:
        raise Seen(f"the server ended ({server.ending}) within {SLOW:.0f} s of "
                   "SIGTERM, before its client had read its answer",
                   "an end after the last answer, or after --drain-timeout")
    finish_large(client)


def accepts(port):
    """Return whether the kernel still accepts connections to a port."""
    try:
        Client(port).close()
        return True
    except OSError:
        return False


def test_reports_on_sigint(server):
    for _ in range(3):
        expect_hello(server, "before SIGINT")
    server.send(signal.SIGINT)
    status = server.wait()
    if status != 0:
        raise Seen(server.ending or f"still running {PATIENCE:.0f} s after SIGINT", "exit status 0")
    match = wait_until(lambda: REPORT.search(server.output))
    if not match or int(match[1]) != 3:
        raise Seen(match[0] if match else "no report", "\"served 3 requests\", by server_finish()")
    if not wait_until(lambda: not server.processes()):
        raise Seen(f"{len(server.processes())} processes left", "none when the first has ended")


def test_survives_signals(server):
    """A signal interrupts accept(2) or the wait: EINTR is no error."""
    for count in range(1, 4):
        server.send(signal.SIGUSR1)
        wait_until(lambda: server.wait(0) is not None or
                   len(REPORT.findall(server.output)) >= count)
        expect_hello(server, "after SIGUSR1 interrupted its system call")
    if not REPORT.search(server.output):
        raise Seen("no report after SIGUSR1", "\"served N requests\"")
    server.send(signal.SIGHUP)
    expect_alive(server, "after SIGHUP", 0.2)
    expect_hello(server, "after SIGHUP")


def limit_descriptors(pid, most=None):
    """Allow a process no more descriptors than `most`; None: as before.

    prlimit(1) runs as the user of the process: a root that lacks
    CAP_SYS_RESOURCE may not limit the processes of others.
    """
    try:
        hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard if most is None else most, hard))
    except PermissionError:
        owner = os.stat(f"/proc/{pid}")
        subprocess.run(
            ["prlimit", f"--pid={pid}", f"--nofile={most or LIMITS['nofile']}:"], check=True,
            user=owner.st_uid, group=owner.st_gid, extra_groups=[])


def first_free(pid):
    """Return the lowest descriptor that a process does not use."""
    used = descriptors(pid)
    return next(number for number in range(len(used) + 1) if number not in used)


def test_survives_a_descriptor_limit(server):
    """No descriptor is left for a client: EMFILE. Later there is one."""
    expect_hello(server, "at its start")
    pids = [pid for pid in server.processes() if alive(pid)]
    most = MOST_FAILURES * sum(len(threads(pid)) for pid in pids)
    with contextlib.ExitStack() as opened:
        trace = opened.enter_context(Trace(pids, "accept,accept4,exit_group", ("-f", "-q")))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                limit_descriptors(pid, first_free(pid))
        clients = []
        while not trace.count("EMFILE") and len(clients) < MANY:
            clients.append(opened.enter_context(Client(server.port)))
            clients[-1].request("/hello", fields=("Connection: close",))
            wait_until(lambda: trace.count("EMFILE"), 0.1)
        wait_until(lambda: trace.count("EMFILE"))
        failures, seconds = 0, PAUSE
        if trace.count("EMFILE"):       # a spinning server fails without end
            failures, seconds = grown(lambda: trace.count("EMFILE"), PAUSE)
        trace.detach()
        expect_alive(server, "when accept(2) failed with EMFILE")
        if failures > most * seconds:
            raise Seen(f"accept failed {failures} times in {seconds:.0f} s",
                       "a pause after EMFILE, about 20 attempts a second")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                limit_descriptors(pid)
        with or_seen(lambda error: "a client that had waited got no answer when there were "
                     f"descriptors again: {error}", "an answer"):
            for client in clients:
                client.response()
    expect_hello(server, "after it had run out of descriptors")


def test_answers_503_without_redis(fresh_server, own_redis):
    server = fresh_server(redis=own_redis.address)

    def guestbook():
        return get(server.port, "/guestbook").status

    if (status := ask_guestbook(server.port).status) != 200:
        raise Seen(f"status {status} for /guestbook with Redis", "status 200")
    own_redis.stop()
    if (status := guestbook()) != 503:
        raise Seen(f"status {status} for /guestbook without Redis", "status 503")
    expect_hello(server, "without Redis")
    own_redis.again()
    if not wait_until(lambda: guestbook() == 200):
        raise Seen("still status 503 when Redis is back", "status 200")
