"""What the kernel knows of the other end of a connection on this machine.

Netlink's sock_diag(7), as ss(8) uses it. Unlike /proc/net/tcp, which lists
every socket there is, it looks one up: so it costs the same on a machine that
is full of connections.
"""

import socket
import struct

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_NLMSG_ERROR = 2
_TCP_ESTABLISHED = 1
_HEADER = struct.Struct("=IHHII")           # struct nlmsghdr
_ID = "2s2s16s16sI8s"                       # struct inet_diag_sockid
_REQUEST = struct.Struct("=BBBBI" + _ID)    # struct inet_diag_req_v2
_REPLY = struct.Struct("=BBBB" + _ID + "III")   # inet_diag_msg, its start


def _port(number):
    return struct.pack("!H", number)


def _ip(text):
    return socket.inet_aton(text).ljust(16, b"\0")


def unread(local, remote):
    """Return how many bytes lie unread in an IPv4 TCP socket.

    `local` and `remote` are the (host, port) of its two ends. None when there
    is no such established connection (yet). OSError without sock_diag.
    """
    request = _REQUEST.pack(
        socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xffffffff,
        _port(local[1]), _port(remote[1]), _ip(local[0]), _ip(remote[0]), 0,
        b"\xff" * 8)                        # any cookie
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                       _NETLINK_SOCK_DIAG) as netlink:
        netlink.send(_HEADER.pack(_HEADER.size + len(request),
                                  _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0)
                     + request)
        answer = netlink.recv(65536)
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind == _NLMSG_ERROR:
        return None
    _, state, _, _, sport, dport, _, _, _, _, _, queue, _ = \
        _REPLY.unpack_from(answer, _HEADER.size)
    if state != _TCP_ESTABLISHED or dport != _port(remote[1]):
        return None                         # the listening socket, found
    assert sport == _port(local[1])         # where the connection is not
    return queue
