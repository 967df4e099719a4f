"""What the kernel knows of TCP sockets: sock_diag(7), as ss(8) uses it, and its counters.

No root is needed. OSError where the kernel has no sock_diag. /proc/net/tcp is not read: it
lists every connection of the machine.
"""

import functools
import socket
import struct
from dataclasses import dataclass

from tools.kit import procfs

STATES = dict(enumerate(
    "ESTABLISHED SYN_SENT SYN_RECV FIN_WAIT1 FIN_WAIT2 TIME_WAIT CLOSE "
    "CLOSE_WAIT LAST_ACK LISTEN CLOSING NEW_SYN_RECV".split(), 1))
ESTABLISHED, SYN_SENT, LISTEN = 1 << 1, 1 << 2, 1 << 10     # sets of states
# TIME_WAIT is left out: no process has such a socket, and there are many.
OPEN = 0xffe & ~LISTEN & ~(1 << 6)

_BY_FAMILY, _REQUEST, _DUMP = 20, 1, 0x300
_ERROR = 2
_HEADER = struct.Struct("=IHHII")               # struct nlmsghdr
_ASK = struct.Struct("=BBBBI2s2s16s16sI8s")     # struct inet_diag_req_v2
_TELL = struct.Struct("=BBBB2s2s16s16sI8sIIIII")    # struct inet_diag_msg
_INFO = 2                                       # an attribute
_PATIENCE = 1           # seconds for the kernel, or for a handshake


@dataclass(slots=True)
class Tcp:
    """One TCP socket. The last three are None without details."""

    inode: int
    local: tuple        # (host, port)
    remote: tuple       # (host, port), None of a listener
    state: str          # of STATES
    unread: int         # bytes in its queue; of a listener the length of the accept queue ...
    unsent: int         # ... and its limit
    quiet_in: float = None      # seconds since data came in
    quiet_out: float = None     # seconds since data went out
    received: int = None        # bytes in all


def lookup(local, remote):
    """Return the Tcp of one IPv4 connection, or None. Cheap."""
    ask = _ASK.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xffffffff,
                    *(struct.pack("!H", end[1]) for end in (local, remote)),
                    *(socket.inet_aton(end[0]).ljust(16, b"\0")
                      for end in (local, remote)), 0, b"\xff" * 8)
    found = [_tcp(body) for body in _exchange(ask, _REQUEST)]
    return found[0] if found and found[0].remote == remote else None


def tcp(states=OPEN, details=False, families=(4, 6), wanted=None, local=0, remote=0):
    """Return [Tcp] of this network namespace.

    `states`: a set of bits, 1 << number. Reading all that are open takes the kernel some
    milliseconds for each family; the listening ones, none. `wanted(inode, local port)`: whether a
    socket is returned; None: all are. `local`, `remote`: only those with this port; 0: any."""
    found = []
    for number in families:
        family = socket.AF_INET if number == 4 else socket.AF_INET6
        ask = _ASK.pack(family, socket.IPPROTO_TCP, 1 << _INFO - 1 if details else 0, 0, states,
                        *(struct.pack("!H", port) for port in (local, remote)), *(b"",) * 2, 0, b"")
        found += filter(None, (_tcp(body, wanted) for body in _exchange(ask, _REQUEST | _DUMP)))
    return found


def accepts(port):
    """Return whether a program accepts connections at `port`. For it, this is one of them."""
    with socket.socket() as probe:
        probe.settimeout(_PATIENCE)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def accept_queue(port):
    """Return how many connections wait in the accept queues of `port`, and how many fit into them.
    Raises OSError."""
    found = tcp(LISTEN, local=port)
    return sum(one.unread for one in found), sum(one.unsent for one in found)


def listeners(pid, port):
    """Return the descriptors of a process that listen at `port`. Raises OSError."""
    wanted = {f"socket:[{one.inode}]" for one in tcp(LISTEN, local=port)}
    return [number for number, what in procfs.open_files(pid).items() if what in wanted]


def silent_clients(port, seconds):
    """Return how many clients of `port` on this machine are not connected yet, or sent a
    request more than `seconds` ago and have received nothing. Raises OSError. Takes some
    milliseconds, as the kernel searches all connections, and some microseconds a client."""
    return sum(one.state == "SYN_SENT" or not one.received and one.quiet_out > seconds
               for one in tcp(ESTABLISHED | SYN_SENT, details=True, remote=port))


def counters():
    """Return the TCP counters of this network namespace, {name: count}, as `nstat -a` has them."""
    lines = [line.split() for path in ("/proc/net/snmp", "/proc/net/netstat")
             for line in procfs.read(path).splitlines()]
    return {name: int(value) for names, values in zip(lines[::2], lines[1::2])
            if names[0] in ("Tcp:", "TcpExt:") for name, value in zip(names[1:], values[1:])}


def _exchange(ask, flags):
    """Send one request; yield the bodies of the answers. Raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as netlink:
        netlink.settimeout(_PATIENCE)
        netlink.send(_HEADER.pack(_HEADER.size + len(ask), _BY_FAMILY, flags, 0, 0) + ask)
        while True:
            data, position = netlink.recv(1 << 17), 0
            while position < len(data):
                length, kind, *_ = _HEADER.unpack_from(data, position)
                if kind == _ERROR and flags & _DUMP:
                    raise OSError("the kernel does not list its sockets")
                if kind != _BY_FAMILY:      # the end of a dump, or no such socket
                    return
                yield data[position + _HEADER.size:position + length]
                position += (length + 3) & ~3
            if not flags & _DUMP:
                return


def _tcp(body, wanted=None):
    """Return the Tcp of one inet_diag_msg, None if it is not wanted."""
    family, state, _, _, sport, dport, source, target, _, _, _, unread, \
        unsent, _, inode = _TELL.unpack_from(body)
    if wanted and not wanted(inode, int.from_bytes(sport, "big")):
        return None
    name = STATES.get(state, str(state))
    one = Tcp(inode, _address(family, source, sport),
              None if name == "LISTEN" else _address(family, target, dport), name, unread, unsent)
    info = _attribute(body[_TELL.size:], _INFO)
    if len(info) >= 136:                        # struct tcp_info
        one.quiet_out = struct.unpack_from("=I", info, 44)[0] / 1000     # last_data_sent
        one.quiet_in = struct.unpack_from("=I", info, 52)[0] / 1000      # last_data_recv
        one.received, = struct.unpack_from("=Q", info, 128)             # bytes_received
    return one


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
