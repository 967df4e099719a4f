"""What /proc, strace and sock_diag(7) show of a submission, and how a test says so.

A process may end at any time: functions that read /proc return an empty answer for one that has.
Sockets are looked up in the grader's own network, which is that of the submission. Nothing reads
/proc/net/tcp: the kernel walks through the sockets of all networks for it, which takes a second
where they are many and the machine is busy.
"""

import contextlib
import ctypes
import os
import re
import signal
import time

from labs.grade import memory
from tools.kit import scratch, sockets, strace, wait
from tools.kit.procfs import children, find, open_files as descriptors, read, state, threads

HOST = "127.0.0.1"
PATIENCE = 5.0      # seconds that a state may take
LOOK = 0.05         # ... of which a look takes less, unless the machine is busy
MARK, MARKED = signal.SIGURG, "--- SIGURG "     # the signal, and strace's line
_LIBC = ctypes.CDLL(None)


class Seen(AssertionError):
    """A test failed: what was seen, and what was expected instead."""

    def __init__(self, seen, expected):
        super().__init__(f"seen: {seen}; expected: {expected}")
        self.seen, self.expected = str(seen), str(expected)


@contextlib.contextmanager
def or_seen(said, expected, errors=OSError):
    """Turn an error of the block, no answer for example, into Seen: said(error) was seen."""
    try:
        yield
    except errors as error:
        raise Seen(said(error), expected) from error


def wait_until(look, seconds=PATIENCE):
    """Call look() until it returns something true; return its last value.

    After `seconds` that is a false one. A look counts for LOOK seconds at most: on a busy machine
    the grader runs as seldom as the server, which then has more time.
    """
    return wait.until(look, seconds, most=LOOK)


def wait_until_it(look, process):
    """The same for something that a process does: no longer than it runs."""
    return wait.until(look, PATIENCE, process, LOOK)


def grown(count, seconds):
    """Return (by how much count() grows during a sleep of `seconds`, how long that really was)."""
    before, began = count(), time.monotonic()
    time.sleep(seconds)
    return count() - before, max(seconds, time.monotonic() - began)


def tree(pid):
    """Return a process and all that descend from it, zombies too."""
    found = [pid] if state(pid) else []
    for child in children(pid):
        found += tree(child)
    return found


def zombies(pid):
    """Return the children of a process that ended and were not waited for."""
    return [child for child in children(pid) if state(child) == "Z"]


def alive(pid):
    """Return whether a process exists and is not a zombie."""
    return state(pid) not in ("", "Z", "X")


def nonblocking(pid, fd):
    """Return whether a descriptor has O_NONBLOCK; None if it is not open."""
    flags = find(r"^flags:\s*(\d+)", f"/proc/{pid}/fdinfo/{fd}")
    return bool(int(flags, 8) & os.O_NONBLOCK) if flags else None


def listening_sockets(port):
    """Return {"socket:[inode]", ...} of those that listen on `port`."""
    return {f"socket:[{one.inode}]" for one in sockets.tcp(sockets.LISTEN, local=port)}


def listeners(pid, port):
    """Return {process id: [descriptors]} of those in the tree of `pid` that
    hold a socket that listens on `port`."""
    inodes = listening_sockets(port)
    found = {}
    for one in tree(pid):
        held = [fd for fd, what in descriptors(one).items() if what in inodes]
        if held:
            found[one] = held
    return found


def accept_queue(port):
    """Return how many clients wait in the accept queue of the sockets that listen on `port`."""
    return sockets.accept_queue(port)[0]


def _accepted(port, client_port):
    """Return the sockets.Tcp of the server's end of a client's connection;
    None before accept(2) and after close(2)."""
    found = sockets.lookup((HOST, port), (HOST, client_port))
    return found if found and found.inode else None


def is_read(port, client_port):
    """Return whether the server has accepted the client with that local port
    and read all that it sent."""
    found = _accepted(port, client_port)
    return found is not None and found.unread == 0


def must_read(pid, port, client_port):
    """Return a function to call from time to time: it raises Seen when the server has slept from
    one call to the next although it has not read all that the client with that local port sent."""
    last = None

    def look():
        nonlocal last
        now = state(pid) == "S" and not is_read(port, client_port) and waits(pid, pid)
        if now and now == last:
            raise Seen("the server sleeps although it has not read all that "
                       "a client sent", "that it reads until EAGAIN, or asks for another event")
        last = now
    return look


def holders(pid, port, client_ports):
    """Return {client's port: {process id: [descriptors]}}: which processes in
    the tree of `pid` hold the connections of the clients with these ports."""
    clients, found = {}, {}
    for client in client_ports:
        found[client] = {}
        if one := _accepted(port, client):
            clients[f"socket:[{one.inode}]"] = client
    for one in tree(pid) if clients else ():
        for fd, what in descriptors(one).items():
            if what in clients:
                found[clients[what]].setdefault(one, []).append(fd)
    return found


def holder(pid, port, client_port):
    """Return (process id, descriptor) of the first process in the tree of
    `pid` that holds the connection of the client with that port, or None."""
    for one, fds in holders(pid, port, [client_port])[client_port].items():
        return one, fds[0]
    return None


class Trace:
    """`with Trace(pids, "accept4,recvfrom") as trace:` runs strace on these
    processes (with -f: on those that they make, too).

    Entered when strace is attached to all; trace.lines() are what it wrote,
    "PID call(...) = result". `calls` is a list as strace's -e trace= takes it.
    """

    def __init__(self, pids, calls=None, options=("-f", "-yy")):
        self.pids = [pids] if isinstance(pids, int) else list(pids)
        self.calls, self.options = calls, options
        self._output = scratch.file("strace", "w+")
        self._running = contextlib.ExitStack()
        self._strace = None

    def __enter__(self):
        options = [*self.options]
        if self.calls:
            options += ["-e", f"trace={self.calls}"]
        try:
            self._strace = self._running.enter_context(strace.following(
                self.pids, options, self._output.name, until=wait_until_it))
        except strace.StraceError as error:
            raise Seen(str(error), "a running server, and the right to trace it") from error
        self._await_first_stop()
        return self

    def _await_first_stop(self):
        """Wait until strace has stopped each thread once. Before, a call that
        was under way may still end unseen.

        A signal that every program ignores shows it: strace sees that, too.
        """
        asked = 0
        for pid in self.pids:
            for thread in threads(pid):
                if MARK not in blocked_signals(pid, thread):
                    asked += _LIBC.tgkill(pid, thread, MARK) == 0
        wait_until_it(lambda: read(self._output.name).count(MARKED) >= asked, self._strace)

    def lines(self):
        """Return what strace has written until now, as lines."""
        return [line for line in read(self._output.name).splitlines() if MARKED not in line]

    def count(self, pattern):
        """Return how many lines match a regular expression."""
        return sum(bool(re.search(pattern, line)) for line in self.lines())

    def detach(self):
        """Let the processes go on without strace; lines() stay."""
        self._running.close()

    def __exit__(self, *_):
        self.detach()


# The numbers of the calls in which a server of this collection waits for a
# client, by machine: /proc/PID/syscall shows numbers.
_WAITS = {
    "x86_64": {43: "accept", 288: "accept", 0: "read", 45: "read", 47: "read"},
    "aarch64": {202: "accept", 242: "accept", 63: "read", 207: "read",
                212: "read"},
}.get(os.uname().machine, {})


def waits_in(pid, thread):
    """Return (call, descriptor) of the system call in which a thread sleeps:
    "accept" or "read", on that descriptor; ("", -1) for any other state."""
    words = read(f"/proc/{pid}/task/{thread}/syscall").split()
    if len(words) < 2 or not words[0].isdigit():
        return "", -1
    call = _WAITS.get(int(words[0]), "")
    return (call, int(words[1], 16)) if call else ("", -1)


def blocked_signals(pid, thread):
    """Return the set of signal numbers that a thread blocks."""
    mask = int(find(r"^SigBlk:\s*(\w+)", f"/proc/{pid}/task/{thread}/status") or "0", 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def started(pid):
    """Return when a process began, in seconds since the machine started; 0.0 if it has ended."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def own_number(pid):
    """Return the process id that a process has in its own pid namespace, as text: strace shows
    that one in arguments and results."""
    return find(r"^NSpid:.*?(\d+)$", f"/proc/{pid}/status") or str(pid)


def waits(pid, thread):
    """Return how many times a thread has gone to sleep."""
    return int(find(r"^voluntary_ctxt_switches:\s*(\d+)",
                    f"/proc/{pid}/task/{thread}/status") or 0)


def resident(pid):
    """Return the bytes of memory that the tree of `pid` uses, without files."""
    return sum(map(memory.resident, tree(pid)))


def open_files(pid):
    """Return how many descriptors the tree of `pid` has that are no sockets."""
    return sum(not what.startswith("socket:") for one in tree(pid)
               for what in descriptors(one).values())


def mappings(pid):
    """Return how many pieces of memory a process has mapped."""
    return len(read(f"/proc/{pid}/maps").splitlines())


def epoll_set(pid):
    """Return {descriptor: events} of all that a process watches with epoll;
    {} if it has no epoll set. The events are those of epoll_ctl(2)."""
    found = {}
    for fd, what in descriptors(pid).items():
        if what == "anon_inode:[eventpoll]":
            for match in re.finditer(r"tfd:\s*(\d+) events:\s*([0-9a-f]+)",
                                     read(f"/proc/{pid}/fdinfo/{fd}")):
                found[int(match[1])] = int(match[2], 16)
    return found


def outgoing(pid, port):
    """Return [(process id, descriptor)] of the connections that the tree of
    `pid` has made to `port`, of Redis for example."""
    inodes = {f"socket:[{one.inode}]" for one in sockets.tcp(families=(4,))
              if one.remote[1] == port}
    return [(one, fd) for one in tree(pid)
            for fd, what in descriptors(one).items() if what in inodes]
