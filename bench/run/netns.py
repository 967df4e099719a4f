"""A network of one's own, where the limits of the kernel are one's own, too.

    own_network.enter(somaxconn=20_000)

Some limits on connections belong to a network namespace. In a new one they can
be set without changing the machine for everybody else; it has a loopback
device and nothing more, which is all that a server and its load need here.
"""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000    # <linux/sched.h>
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1                      # <net/if.h>
LIMITS = Path("/proc/sys/net")


def enter(somaxconn):
    """Move this process, and what it starts from now on, into a network of
    its own, in which accept and SYN queues may be `somaxconn` long. Call it
    before there is a second thread. Raises OSError where the system does not
    allow that; the process may be in the new network even so."""
    user, group = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if user != 0 else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:    # os.unshare() came with Python 3.12
        raise OSError(ctypes.get_errno(), "unshare(2)")
    if user != 0:                   # who may do nothing outside is root inside
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"0 {user} 1")
        (own / "gid_map").write_text(f"0 {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS,
                    struct.pack("16sh22x", b"lo", IFF_UP))
    (LIMITS / "core" / "somaxconn").write_text(str(somaxconn))
    (LIMITS / "ipv4" / "tcp_max_syn_backlog").write_text(str(somaxconn))
