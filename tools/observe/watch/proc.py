"""Reads /proc: which threads there are, and what each of them does."""

import contextlib
import ctypes
import os
import socket

from tools.kit import procfs
from tools.observe import lab

_PIDFD_GETFD = 438             # the same number on every architecture
_LIBC = ctypes.CDLL(None, use_errno=True)


class Task:
    """One thread. `hidden`: its system call cannot be read. The sampler finds out the rest:
    `stopped` by a signal, its `name`, its `last` sample."""

    def __init__(self, pid, tid):
        self.pid, self.tid, self.name, self.last = pid, tid, "", None
        self.hidden = self.stopped = False
        folder = f"/proc/{pid}/task/{tid}/"
        self._schedstat = os.open(folder + "schedstat", os.O_RDONLY)
        self._children = self._syscall = -1
        with contextlib.suppress(OSError):      # not every kernel has it
            self._children = os.open(folder + "children", os.O_RDONLY)
        try:
            self._syscall = os.open(folder + "syscall", os.O_RDONLY)
            os.pread(self._syscall, 1, 0)
        except OSError:             # Yama's ptrace_scope, another user
            self.hidden = True

    def close(self):
        """Give the descriptors back."""
        for descriptor in (self._schedstat, self._children, self._syscall):
            if descriptor >= 0:
                os.close(descriptor)

    def children(self):
        """Return the ids of the processes that it has forked and that live."""
        text = b""
        with contextlib.suppress(OSError):
            while part := os.pread(self._children, 4096, len(text)):
                text += part
        return map(int, text.split())

    def times(self):
        """Return the text of schedstat: how long it ran and waited for a CPU,
        how often it ran. Raises OSError when the thread has ended."""
        return os.pread(self._schedstat, 99, 0)

    def call(self):
        """Return the text of syscall, None where hidden. Raises OSError, too."""
        return None if self.hidden else os.pread(self._syscall, 200, 0)


def letter(pid, tid):
    """Return the state of a thread in stat, such as "S"; "Z" when it has ended."""
    return procfs.state(pid, tid) or "Z"


def find(name):
    """Return the id of the first process of that name. Of several, the one whose parent has another
    name. Raises LabError."""
    found = {int(pid): procfs.read(f"/proc/{pid}/stat") for pid in
             os.listdir("/proc") if pid.isdigit()
             and procfs.read(f"/proc/{pid}/comm").strip() == name[:15]}
    parents = {pid: int(text.rpartition(")")[2].split()[1])
               for pid, text in found.items() if text and pid != os.getpid()}
    for pid in sorted(parents):
        if parents[pid] not in parents:
            return pid
    raise lab.LabError(f"no process is called {name!r}")


def inode(pid, fd):
    """Return (inode, text) of a descriptor: inode 0 when it is no socket. ("", "") in place of the
    text when it cannot be read."""
    try:
        text = os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return 0, ""
    return (int(text[8:-1]) if text.startswith("socket:[") else 0), text


def ends(pid, fd):
    """Return (local, remote) of a process's socket, or None if we may not. Each is (host, port),
    for a Unix socket a path; remote None while it is not connected. Only for a descriptor on which
    a thread is blocked: for some microseconds we have a copy, and a close() would not close it."""
    with contextlib.ExitStack() as stack:
        try:
            process = os.pidfd_open(pid)
            stack.callback(os.close, process)
            copy = _LIBC.syscall(_PIDFD_GETFD, process, fd, 0)
            if copy < 0:
                return None
            theirs = stack.enter_context(socket.socket(fileno=copy))
            local = theirs.getsockname()[:2]
            with contextlib.suppress(OSError):
                return local, theirs.getpeername()[:2] if theirs.family != socket.AF_UNIX \
                    else theirs.getpeername()
            return local, None
        except OSError:
            return None


def socket_inodes(pid):
    """Return the inodes of all sockets that a process has open."""
    return {int(what[8:-1]) for what in procfs.open_files(pid).values()
            if what.startswith("socket:[")}
