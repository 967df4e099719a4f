"""What the processes and threads of a submission do, while clients hold it in a known state: a
client that has sent half a request occupies a child, a worker or a thread until it sends the rest.

No test depends on speed: each waits until a state is there, and fails after a
deadline that a busy machine does not reach.
"""

import contextlib
import os
import signal
import socket
import time

from labs.grade.client import Client, get, port_of
from labs.grade.observe import (
    Seen, accept_queue, alive, children, grown, holders, is_read, listeners, nonblocking, or_seen,
    state, threads, tree, wait_until, waits, waits_in, zombies)

HALF = b"GET /echo?value=half HTTP/1.1\r\nHost: localhost\r\n"
END = b"Connection: close\r\n\r\n"
STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1}


# ------------------------------------------------------------------ helpers

def living(pid):
    """Return the children of a process that are not zombies."""
    return [child for child in children(pid) if alive(child)]


IDLE = 0.6          # seconds: ten looks of an idle client's child or thread
ASLEEP = 1.2        # seconds for settle()
BACK_OFF = 3.0      # ... that are more than a pool's pause of 1 s


def settle(server, look, seconds=ASLEEP):
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


def expect_shape(server, look, when, expected, seconds=ASLEEP):
    """Raise Seen with the shape of the server unless look() becomes true: see settle()."""
    if not settle(server, look, seconds):
        raise Seen(f"{shape(server.pid)} {when}", expected)


def expect_200(ask_server, what):
    """Return the response that ask_server() returns; raise Seen for another status than 200."""
    with or_seen(lambda error: f"no answer to {what}: {error}", "status 200"):
        response = ask_server()
    if response.status != 200:
        raise Seen(f"status {response.status} for {what}", "status 200")
    return response


def answer(client, what="a client that sent the rest of its request"):
    """Let a client of `hold` send the rest, and check its answer."""
    def rest():
        client.send(END)
        return client.response()

    if b"half" not in expect_200(rest, what).body:
        raise Seen(f"status 200 for {what}", "status 200")


def ask(port, what="a new client"):
    """Ask for a page over a connection of its own, and check the answer."""
    expect_200(lambda: get(port, "/answer"), what)


def answer_of_more(client):
    """Check the answer to a client that waited in the accept queue."""
    expect_200(client.response, "a client that had waited at the limit")


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
        return sum(is_read(self.server.port, port_of(client)) for client in clients)

    def holders(self, clients):
        """Return [{process id: [descriptors]}]: who holds each connection."""
        found = holders(self.server.pid, self.server.port, map(port_of, clients))
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
    index_of = {port_of(client): index for index, client in enumerate(clients)}
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
    """Return {(process, thread)} of those that sleep in accept(2) on the listening socket."""
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
    held = [(pid, fd) for pid, fds in listeners(server.pid, server.port).items() for fd in fds]
    for pid, fd in held:
        if nonblocking(pid, fd):
            raise Seen("a listening socket with O_NONBLOCK",
                       "sockets that block: this server waits in accept(2)")


def expect_parked(server, count, limit, more):
    """Wait until the first process waits although `more` clients are in the accept queue: so it
    does not wait in accept. `count()` must stay at most `limit`."""
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
                   f"than the limit of {limit}; {accept_queue(server.port)} in the accept "
                   "queue", f"{limit} clients served together, and {more} in the accept queue")


def counter(server, what):
    """Return a function that counts the "children" that are no zombies, or the "threads" besides
    the main one."""
    if what == "children":
        return lambda: len(living(server.pid))
    return lambda: len(threads(server.pid)) - 1


MOST_WAITS = 60         # a second; one that looks again after 10 ms has 100
LOOK_AT = 0.6           # seconds


def expect_sleep(server, what):
    """Check that the first thread waits, instead of sleeping with a timeout and looking again."""
    made, seconds = grown(lambda: waits(server.pid, server.pid), LOOK_AT)
    if made > MOST_WAITS * seconds:
        raise Seen(f"{made} wake-ups of the first thread in {seconds:.1f} s "
                   f"{what} (voluntary_ctxt_switches in /proc/PID/status)",
                   "a wait for what it needs, which a few wake-ups a second may interrupt")


def reports(server):
    """Return how many times the server has printed its counters."""
    return server.output.count("served ")


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


def workers_of(server, count):
    """Wait for `count` living workers; return their process ids. Raises Seen."""
    settle(server, lambda: len(living(server.pid)) == count)
    found = living(server.pid)
    if len(found) != count:
        raise Seen(shape(server.pid), f"a parent and {plural(count, 'worker')}")
    return found


def expect_replaced(server, victims, count, what):
    """Wait until the victims are gone and `count` workers run. Raises Seen."""
    def is_whole():
        now = living(server.pid)
        return len(now) == count and not set(now) & set(victims) and not zombies(server.pid)

    expect_shape(server, is_whole, f"after {what}", f"{count} workers again, and no zombie",
                 BACK_OFF)
    ask(server.port)


# When no process and no thread can be made.
NEW_TASK = "clone,clone3,fork,vfork"
FAILS = ("-f", "-ttt", "-e", f"inject={NEW_TASK}:error=EAGAIN")
