"""Namespaces of a server's own: functions for Popen's preexec_fn, and ways into
what they have made.

As root, or as any user where the kernel lets users make namespaces.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess

import pytest

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

# For unshare(1), as _unshare() does it.
AS_USER = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]

needs_namespaces = pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", *AS_USER,
                    "true"], capture_output=True, check=False).returncode != 0,
    reason="this user may not make namespaces")
as_root = pytest.mark.skipif(os.geteuid() != 0,
                             reason="only root may enter another namespace")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def _unshare(flags):
    """Leave these namespaces. A user who is not root needs one of users, too, and
    keeps the numbers of user and group in it (user_namespaces(7))."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        _check(_libc.unshare(flags), "unshare")
        return
    _check(_libc.unshare(flags | CLONE_NEWUSER), "unshare")
    for file, line in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"),
                       ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as table:
            table.write(line)


def mount_tmpfs(folder, size):
    """Return a function that covers a folder with an empty tmpfs of `size`
    bytes, for this process only."""
    def mount():
        _unshare(CLONE_NEWNS)
        _check(_libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None),
               "make mounts private")
        _check(_libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0,
                           f"size={size}".encode()), f"mount on {folder}")
    return mount


def own_network():
    """Give this process a network of its own, with 127.0.0.1."""
    _unshare(CLONE_NEWNET)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS,
                    struct.pack("16sh22x", b"lo", IFF_UP))


@contextlib.contextmanager
def network_of(pid):
    """What this thread connects within the block, it connects there."""
    with open("/proc/thread-self/ns/net", "rb") as ours, \
            open(f"/proc/{pid}/ns/net", "rb") as theirs:
        _check(_libc.setns(theirs.fileno(), CLONE_NEWNET), "setns")
        try:
            yield
        finally:
            _check(_libc.setns(ours.fileno(), CLONE_NEWNET), "setns back")


def execute_without_arguments(path):
    """Replace this process by a program with argv[0] == NULL. (Linux 5.18 and
    newer make it one empty argument.)"""
    nothing = (ctypes.c_char_p * 1)(None)
    _libc.execve(os.fsencode(path), nothing, nothing)
    raise OSError(ctypes.get_errno(), "execve")
