"""What /proc, strace and sock_diag(7) show of a submission, and how a test
says so.

A process may end at any time: functions that read /proc return an empty
answer for one that has. Sockets are looked up in the grader's own network,
which is that of the submission. Nothing reads /proc/net/tcp: the kernel walks
through the sockets of all networks for it, which takes a second where they are
many and the machine is busy.
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tools.kit import sockets

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


def wait_until(look, seconds=PATIENCE):
    """Call look() until it returns something true; return its last value.

    After `seconds` that is a false one. A look counts for LOOK seconds at most:
    on a busy machine the grader runs as seldom as the server, which then has
    more time.
    """
    spent, before = 0.0, time.monotonic()
    while True:
        found = look()
        now = time.monotonic()
        spent, before = spent + min(now - before, LOOK), now
        if found or spent > seconds:
            return found
        time.sleep(0.01)


def _read(path):
    """Return a file below /proc as text, "" when it has gone."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def children(pid):
    """Return the process ids of a process's children, zombies too."""
    found = []
    for task in threads(pid):
        found += map(int, _read(f"/proc/{pid}/task/{task}/children").split())
    return sorted(found)


def tree(pid):
    """Return a process and all that descend from it, zombies too."""
    found = [pid] if state(pid) else []
    for child in children(pid):
        found += tree(child)
    return found


def threads(pid):
    """Return the thread ids of a process; the first is the process id."""
    try:
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return []


def state(pid, thread=None):
    """Return the letter of proc(5): R, S, D, T, Z ...; "" if it has ended."""
    path = f"/proc/{pid}/task/{thread}/stat" if thread else f"/proc/{pid}/stat"
    return _read(path).rpartition(")")[2][1:2]


def zombies(pid):
    """Return the children of a process that ended and were not waited for."""
    return [child for child in children(pid) if state(child) == "Z"]


def alive(pid):
    """Return whether a process exists and is not a zombie."""
    return state(pid) not in ("", "Z", "X")


def cpu_seconds(pid):
    """Return the CPU time of a process and its reaped children, in seconds."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not fields:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    """Return {number: what it is} of a process's open descriptors, such as
    "socket:[123]", "anon_inode:[eventpoll]" or a path."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
    return found


def nonblocking(pid, fd):
    """Return whether a descriptor has O_NONBLOCK; None if it is not open."""
    match = re.search(r"^flags:\s*(\d+)", _read(f"/proc/{pid}/fdinfo/{fd}"),
                      re.MULTILINE)
    return bool(int(match[1], 8) & os.O_NONBLOCK) if match else None


def listening_sockets(port):
    """Return {"socket:[inode]", ...} of those that listen on `port`."""
    return {f"socket:[{one.inode}]" for one in sockets.tcp(sockets.LISTEN)
            if one.local[1] == port}


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
    """Return how many clients wait in the accept queue of the sockets that
    listen on `port`."""
    return sum(one.unread for one in sockets.tcp(sockets.LISTEN)
               if one.local[1] == port)


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
    """Return a function to call from time to time: it raises Seen when the
    server has slept from one call to the next although it has not read all
    that the client with that local port sent."""
    last = None

    def look():
        nonlocal last
        slept = re.search(r"^voluntary_ctxt_switches:\s*(\d+)",
                          _read(f"/proc/{pid}/status"), re.MULTILINE)
        now = slept and state(pid) == "S" and \
            not is_read(port, client_port) and slept[1]
        if now and now == last:
            raise Seen("the server sleeps although it has not read all that "
                       "a client sent", "that it reads until EAGAIN, or asks "
                       "for another event")
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
        self._output = tempfile.NamedTemporaryFile("w+")
        self._errors = tempfile.NamedTemporaryFile("w+")
        self._strace = None

    def __enter__(self):
        if not shutil.which("strace"):
            raise Seen("no strace on this machine",
                       "strace, which the tests of the architecture use")
        command = ["strace", *self.options, "-o", self._output.name]
        if self.calls:
            command += ["-e", f"trace={self.calls}"]
        for pid in self.pids:
            command += ["-p", str(pid)]
        self._strace = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL,
                                        stderr=self._errors)
        waiting = [thread for pid in self.pids for thread in threads(pid)]
        attached = wait_until(lambda: self._strace.poll() is not None or all(
            self._traced(thread) for thread in waiting))
        if not attached or self._strace.poll() is not None:
            said = _read(self._errors.name).strip()
            self.__exit__()
            raise Seen(f"strace cannot attach: {said[-200:]}",
                       "a running server, and the right to trace it")
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
        wait_until(lambda: self._strace.poll() is not None or _read(
            self._output.name).count(MARKED) >= asked)

    def _traced(self, thread):
        match = re.search(r"^TracerPid:\s*(\d+)",
                          _read(f"/proc/{thread}/status"), re.MULTILINE)
        return not match or int(match[1]) == self._strace.pid

    def lines(self):
        """Return what strace has written until now, as lines."""
        return [line for line in _read(self._output.name).splitlines()
                if MARKED not in line]

    def count(self, pattern):
        """Return how many lines match a regular expression."""
        return sum(bool(re.search(pattern, line)) for line in self.lines())

    def detach(self):
        """Let the processes go on without strace; lines() stay."""
        if self._strace and self._strace.poll() is None:
            self._strace.send_signal(signal.SIGINT)
            try:
                self._strace.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._strace.kill()
                self._strace.wait()

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
    words = _read(f"/proc/{pid}/task/{thread}/syscall").split()
    if len(words) < 2 or not words[0].isdigit():
        return "", -1
    call = _WAITS.get(int(words[0]), "")
    return (call, int(words[1], 16)) if call else ("", -1)


def blocked_signals(pid, thread):
    """Return the set of signal numbers that a thread blocks."""
    match = re.search(r"^SigBlk:\s*(\w+)",
                      _read(f"/proc/{pid}/task/{thread}/status"), re.MULTILINE)
    mask = int(match[1], 16) if match else 0
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def started(pid):
    """Return when a process began, in seconds since the machine started; 0.0
    if it has ended."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def own_number(pid):
    """Return the process id that a process has in its own pid namespace, as
    text: strace shows that one in arguments and results."""
    match = re.search(r"^NSpid:.*?(\d+)$", _read(f"/proc/{pid}/status"),
                      re.MULTILINE)
    return match[1] if match else str(pid)


def mappings(pid):
    """Return how many pieces of memory a process has mapped."""
    return len(_read(f"/proc/{pid}/maps").splitlines())


def epoll_set(pid):
    """Return {descriptor: events} of all that a process watches with epoll;
    {} if it has no epoll set. The events are those of epoll_ctl(2)."""
    found = {}
    for fd, what in descriptors(pid).items():
        if what == "anon_inode:[eventpoll]":
            for match in re.finditer(r"tfd:\s*(\d+) events:\s*([0-9a-f]+)",
                                     _read(f"/proc/{pid}/fdinfo/{fd}")):
                found[int(match[1])] = int(match[2], 16)
    return found


def outgoing(pid, port):
    """Return [(process id, descriptor)] of the connections that the tree of
    `pid` has made to `port`, of Redis for example."""
    inodes = {f"socket:[{one.inode}]" for one in sockets.tcp(families=(4,))
              if one.remote[1] == port}
    return [(one, fd) for one in tree(pid)
            for fd, what in descriptors(one).items() if what in inodes]
