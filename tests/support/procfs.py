"""What the kernel says about a server, in /proc: never what the server says."""

import time

from tests.support.processes import expect_below, session_members
from tools.kit import procfs, sockets


def cpu_seconds(server):
    """Return the seconds of CPU time of a server's process, its living children
    and those that it has reaped."""
    return procfs.cpu_time(procfs.tree(server.pid))


def tasks(server):
    """Return {thread: (state, seconds on a processor, seconds that it waited for one)} of
    all threads of a server, from /proc/PID/task/TID/schedstat."""
    found = {}
    for pid in session_members(server.pid):
        for tid in procfs.threads(pid):
            times = procfs.read(f"/proc/{pid}/task/{tid}/schedstat").split()
            if times:
                found[tid] = procfs.state(pid, tid), int(times[0]) / 1e9, int(times[1]) / 1e9
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


def expect_calm(server, seconds=1.0, share=0.25):
    """Check that the server comes to rest: that for some seconds its threads sleep but
    for that share of the time. One that spins never does."""
    expect_below(share, lambda: load(server, seconds))


def status(pid, name):
    """Return the value of a line of /proc/PID/status, as text; "" where there is no such line."""
    return procfs.find(rf"^{name}:(.*)$", f"/proc/{pid}/status").strip()


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
    field = procfs.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(field[19]) / procfs.TICKS
