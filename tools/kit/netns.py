"""A network of its own for every measurement, with the kernel's limits set.

The limits on connections belong to a network namespace (namespaces(7)). In a
new one they can be set without root, and without changing the machine. It has
a loopback device only, which is all that a server and its load need.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000    # <linux/sched.h>
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1                      # <net/if.h>
BELOW = Path("/proc/sys/net")
CONGESTION = "ipv4/tcp_congestion_control"
QUEUE = 20_000      # more than there are clients
_entered = False


def enter():
    """Move this process, and what it starts from now on, into a network of its own: its
    accept and SYN queues hold QUEUE clients, clients have many ports, and nothing paces by
    timers, as BBR does. Call it before there is a second thread. Raises OSError where the
    system does not allow it; the process may be in the new network even so."""
    global _entered
    user, group = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if user != 0 else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:    # os.unshare() came with Python 3.12
        error = ctypes.get_errno()
        raise OSError(error, f"unshare(2): {os.strerror(error)}")
    if user != 0:       # an unprivileged user becomes root inside
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"),
                           ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
    _entered = True
    set_limits({"core/somaxconn": QUEUE, "ipv4/tcp_max_syn_backlog": QUEUE,
                "ipv4/ip_local_port_range": "1024 65535", "ipv4/tcp_tw_reuse": 1,
                CONGESTION: "reno"})
    with contextlib.suppress(OSError):      # CUBIC may be forbidden here; Reno never is
        set_limits({CONGESTION: "cubic"})


def set_limits(limits):
    """Set {path below /proc/sys/net: value}. Raises OSError, also before enter(): it would change
    the machine."""
    if not _entered:
        raise OSError(errno.EPERM, "there is no network of its own", *limits)
    for path, value in limits.items():
        (BELOW / path).write_text(str(value))


def problem():
    """Return why this process cannot have a network of its own, or "". A child tries it, so that
    nothing changes here."""
    done = subprocess.run([sys.executable, __file__], stderr=subprocess.PIPE,
                          text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2].removeprefix("OSError: ")


if __name__ == "__main__":
    enter()
