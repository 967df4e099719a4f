"""What the kernel says about a server, in /proc: never what the server says."""

import os
import time
from pathlib import Path

from processes import session_members

TICK = os.sysconf("SC_CLK_TCK")
ESTABLISHED = "01"


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


def status(pid, name):
    """Return the value of a line of /proc/PID/status, as text.

    KeyError if this kernel has no such line.
    """
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    raise KeyError(name)


def memory_kib(pids):
    """Proportional set size of all these processes together, in KiB.

    A page that several share counts for each with its part, so that the sum is
    what the server costs.
    """
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines()
                     if line.startswith("Pss:"))
    return total


def _end_point(address):
    ip = bytes(map(int, address[0].split(".")))[::-1]
    return f"{ip.hex().upper()}:{address[1]:04X}"


def server_side(server, connection):
    """Return (state, inode) of the server's end of a connection, as
    /proc/net/tcp has them; None when the kernel knows of no such end."""
    ours = _end_point(server.address)
    theirs = _end_point(connection.socket.getsockname())
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == [ours, theirs]:
            return fields[3], int(fields[9])
    return None


def is_served(server, connection):
    """Whether the server still holds its end of a connection open."""
    end = server_side(server, connection)
    return end is not None and end[0] == ESTABLISHED and end[1] != 0


def is_held(server, connection):
    """Whether a process of the server has its end of a connection open, also when it has
    said that it will send no more."""
    end = server_side(server, connection)
    return end is not None and end[1] != 0


def owner(server, connection):
    """Return the pids of the server's processes that hold their end of a
    connection."""
    end = server_side(server, connection)
    socket = f"socket:[{end[1]}]" if end else None
    found = []
    for pid in session_members(server.pid):
        try:
            targets = {os.readlink(f"/proc/{pid}/fd/{number}")
                       for number in os.listdir(f"/proc/{pid}/fd")}
        except (FileNotFoundError, ProcessLookupError):
            continue
        if socket in targets:
            found.append(pid)
    return found


def age(pid):
    """Return for how many seconds a process has existed."""
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    started = int(text[text.rindex(")") + 2:].split()[19]) / TICK
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started
