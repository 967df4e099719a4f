"""What the kernel knows of sockets: sock_diag(7), as ss(8) uses it.

No root is needed. OSError where the kernel has no sock_diag.
"""

import collections
import functools
import socket
import struct

# One TCP socket. local, remote: (host, port); state: of STATES; unread,
# unsent: bytes in its queues, for a listener the length of the accept queue
# and its limit; quiet_in, quiet_out: seconds since data came in and went out;
# received: bytes in all. The last three are None without details.
Tcp = collections.namedtuple(
    "Tcp", "inode local remote state unread unsent quiet_in quiet_out received")

STATES = dict(enumerate(
    "ESTABLISHED SYN_SENT SYN_RECV FIN_WAIT1 FIN_WAIT2 TIME_WAIT CLOSE "
    "CLOSE_WAIT LAST_ACK LISTEN CLOSING NEW_SYN_RECV".split(), 1))
LISTEN = 1 << 10
# TIME_WAIT is left out: no process has such a socket, and there are many.
OPEN = 0xffe & ~LISTEN & ~(1 << 6)

_BY_FAMILY, _REQUEST, _DUMP = 20, 1, 0x300
_DONE, _ERROR = 3, 2
_HEADER = struct.Struct("=IHHII")               # struct nlmsghdr
_ASK = struct.Struct("=BBBBI2s2s16s16sI8s")     # struct inet_diag_req_v2
_TELL = struct.Struct("=BBBB2s2s16s16sI8sIIIII")    # struct inet_diag_msg
_INFO = 2                                       # an attribute


def lookup(local, remote):
    """Return the Tcp of one IPv4 connection, or None. Cheap."""
    ask = _ASK.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xffffffff,
                    *(struct.pack("!H", end[1]) for end in (local, remote)),
                    *(socket.inet_aton(end[0]).ljust(16, b"\0")
                      for end in (local, remote)), 0, b"\xff" * 8)
    found = [_tcp(body) for body in _exchange(ask, _REQUEST)]
    return found[0] if found and found[0].remote == remote else None


def tcp(states=OPEN, details=False, families=(4, 6), wanted=None):
    """Return [Tcp] of this network namespace.

    `states`: a set of bits, 1 << number. Reading all that are open takes the
    kernel some milliseconds for each family; the listening ones, none.
    `wanted(inode, local port)`: whether a socket is returned; None: all are.
    """
    found = []
    for number in families:
        family = socket.AF_INET if number == 4 else socket.AF_INET6
        ask = _ASK.pack(family, socket.IPPROTO_TCP,
                        1 << _INFO - 1 if details else 0, 0, states,
                        *(b"",) * 4, 0, b"")
        found += filter(None, (_tcp(body, wanted) for body
                               in _exchange(ask, _REQUEST | _DUMP)))
    return found


def _exchange(ask, flags):
    """Send one request; return the bodies of the answers."""
    found = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as netlink:
        netlink.send(_HEADER.pack(_HEADER.size + len(ask), _BY_FAMILY, flags,
                                  0, 0) + ask)
        while True:
            data, position = netlink.recv(1 << 16), 0
            while position < len(data):
                length, kind, *_ = _HEADER.unpack_from(data, position)
                if kind in (_DONE, _ERROR):
                    return found
                found.append(data[position + _HEADER.size:position + length])
                position += (length + 3) & ~3
            if not flags & _DUMP:
                return found


def _tcp(body, wanted=None):
    """Return the Tcp of one inet_diag_msg, None if it is not wanted."""
    family, state, _, _, sport, dport, source, target, _, _, _, unread, \
        unsent, _, inode = _TELL.unpack_from(body)
    if wanted and not wanted(inode, int.from_bytes(sport, "big")):
        return None
    info = _attribute(body[_TELL.size:], _INFO)
    quiet_out = quiet_in = received = None
    if len(info) >= 136:                        # struct tcp_info
        quiet_out, = struct.unpack_from("=I", info, 44)
        quiet_in, = struct.unpack_from("=I", info, 52)
        quiet_out, quiet_in = quiet_out / 1000, quiet_in / 1000
        received, = struct.unpack_from("=Q", info, 128)
    name = STATES.get(state, str(state))
    remote = None if name == "LISTEN" else _address(family, target, dport)
    return Tcp(inode, _address(family, source, sport), remote, name, unread,
               unsent, quiet_in, quiet_out, received)


@functools.lru_cache(maxsize=10000)
def _address(family, host, port):
    size = 4 if family == socket.AF_INET else 16
    text = socket.inet_ntop(family, host[:size])
    return text.removeprefix("::ffff:"), struct.unpack("!H", port)[0]


def _attribute(data, wanted):
    """Return the bytes of a netlink attribute, b"" where it is missing."""
    position = 0
    while position + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, position)
        if length < 4 or kind == wanted:
            return data[position + 4:position + length]
        position += (length + 3) & ~3
    return b""
