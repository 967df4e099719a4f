"""What the kernel says about a server, in /proc: never what the server says."""

import os
import time
from pathlib import Path

from tests.support.processes import session_members
from tools.kit import procfs, sockets

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(server):
    """Return the seconds of CPU time of a server's process, its living children
    and those that it has reaped."""
    total = 0
    for pid in session_members(server.pid):
        try:
            text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = text[text.rindex(")") + 2:].split()
        total += int(fields[11]) + int(fields[12])      # its own
        if pid == server.pid:
            total += int(fields[13]) + int(fields[14])  # of reaped children
    return total / TICK


def tasks(server):
    """Return {thread: (state, seconds on a processor, seconds that it waited for one)} of
    all threads of a server, from /proc/PID/task/TID/schedstat."""
    found = {}
    for pid in session_members(server.pid):
        for tid in procfs.listed(f"/proc/{pid}/task"):
            folder = Path(f"/proc/{pid}/task/{tid}")
            try:
                used, waited, _ = map(int, (folder / "schedstat").read_text().split())
                state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(tid)] = state, used / 1e9, waited / 1e9
    return found


def load(server, seconds):
    """Look at a server for some seconds; return how busy its threads were, together: 1 for
    one that never slept. The time in which a thread waited for a processor is not part of
    the time that it had, so a crowded machine makes no thread look idle."""
    before, began = tasks(server), time.monotonic()
    time.sleep(seconds)             # the interval that is measured
    after, elapsed = tasks(server), time.monotonic() - began
    busy = 0.0
    for tid, (state, used, waited) in after.items():
        _, used_before, waited_before = before.get(tid, (state, 0.0, 0.0))
        used -= used_before
        had = elapsed - (waited - waited_before)
        # One that is about to run has waited for a time that is not counted yet.
        busy += 1 if state == "R" else used / max(used, had, 1e-9)
    return busy


def status(pid, name):
    """Return the value of a line of /proc/PID/status, as text.

    KeyError if this kernel has no such line.
    """
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    raise KeyError(name)


def unread(local, remote):
    """Return how many bytes lie unread in the IPv4 TCP socket whose two ends are these (host,
    port); None when there is no such established connection (yet)."""
    one = sockets.lookup(local, remote)
    return one.unread if one and one.state == "ESTABLISHED" else None


def _server_side(server, connection):
    """Return the kernel's Tcp of the server's end of a connection, None when it has none."""
    return sockets.lookup(server.address, connection.socket.getsockname())


def is_served(server, connection):
    """Whether the server still holds its end of a connection open."""
    end = _server_side(server, connection)
    return end is not None and end.state == "ESTABLISHED" and end.inode != 0


def is_held(server, connection):
    """Whether a process of the server has its end of a connection open, also when it has
    said that it will send no more."""
    end = _server_side(server, connection)
    return end is not None and end.inode != 0


def owner(server, connection):
    """Return the pids of the server's processes that hold their end of a
    connection."""
    end = _server_side(server, connection)
    return [pid for pid in session_members(server.pid)
            if end and f"socket:[{end.inode}]" in procfs.open_files(pid).values()]


def age(pid):
    """Return for how many seconds a process has existed."""
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    started = int(text[text.rindex(")") + 2:].split()[19]) / TICK
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started
