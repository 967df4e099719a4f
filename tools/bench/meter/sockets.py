"""TCP: the accept queue, the kernel's counters, clients without an answer.

Sockets are listed through netlink, sock_diag(7), as `ss -t` does, because
/proc/net/tcp lists every connection of the machine.
"""

import socket
import struct

from tools.bench.meter import Metric
from tools.kit import procfs

ESTABLISHED, SYN_SENT, LISTEN = 1, 2, 10
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, NLMSG_ERROR = 20, 0x301, 2
INET_DIAG_INFO = 2
HEADER, DIAG_MSG = 16, 72       # bytes of nlmsghdr and inet_diag_msg


def tcp_counters():
    """Return the TCP counters of this network namespace, {name: count}, as `nstat -a` has them."""
    lines = [line.split() for path in ("/proc/net/snmp", "/proc/net/netstat")
             for line in procfs.read(path).splitlines()]
    return {name: int(value) for names, values in zip(lines[::2], lines[1::2])
            if names[0] in ("Tcp:", "TcpExt:") for name, value in zip(names[1:], values[1:])}


def accept_queue(port):
    """Return how many connections wait in the accept queues of `port`, and
    how many fit into them. Raises OSError."""
    queues = [struct.unpack_from("=II", message, 52 + 4)
              for message in _sockets({LISTEN}, local=port)]
    return tuple(map(sum, zip((0, 0), *queues)))


def listeners(pid, port):
    """Return the descriptors of a process that listen at `port`. Raises OSError."""
    wanted = {"socket:[%d]" % struct.unpack_from("=I", message, 68)     # idiag_inode
              for message in _sockets({LISTEN}, local=port)}
    return [number for number, what in procfs.open_files(pid).items() if what in wanted]


def silent_clients(port, seconds):
    """Return how many clients of `port` on this machine are not connected yet, or sent a
    request more than `seconds` ago and have received nothing. Raises OSError. Takes some
    milliseconds, as the kernel searches all connections, and 5 us a client."""
    silent = 0
    for message in _sockets({ESTABLISHED, SYN_SENT}, remote=port):
        info = next(body for kind, body in _parts(message, DIAG_MSG, "=HH", 4)
                    if kind == INET_DIAG_INFO)              # struct tcp_info
        since, = struct.unpack_from("=I", info, 44)         # last_data_sent
        received, = struct.unpack_from("=Q", info, 128)     # bytes_received
        silent += message[1] == SYN_SENT or not received and since > 1e3 * seconds
    return silent


def _sockets(states, local=0, remote=0):
    """Yield a struct inet_diag_msg, with its attributes after it, for each TCP
    socket in one of `states` with these ports, 0 for any. Raises OSError."""
    for family in (socket.AF_INET, socket.AF_INET6):
        # struct inet_diag_req_v2: of the socket's id only the ports are given.
        request = struct.pack("=BBBBI", family, socket.IPPROTO_TCP,
                              1 << (INET_DIAG_INFO - 1), 0, sum(1 << state for state in states))
        request += struct.pack(">HH44x", local, remote)
        header = struct.pack("=IHHII", HEADER + len(request),
                             SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as diag:
            diag.settimeout(1)
            diag.send(header + request)
            yield from _messages(diag)


def _messages(diag):
    """Yield what follows each netlink header until the dump is over. Raises OSError."""
    while True:
        for kind, body in _parts(diag.recv(1 << 17), 0, "=IH", HEADER):
            if kind == NLMSG_ERROR:
                raise OSError("the kernel does not list its sockets")
            if kind != SOCK_DIAG_BY_FAMILY:     # NLMSG_DONE
                return
            yield body


def _parts(data, start, form, size):
    """Yield (kind, body) of the messages or attributes in `data` from `start`. Each has a
    header of `size` bytes; the format `form` reads its first fields, length and kind."""
    while start < len(data):
        length, kind = struct.unpack_from(form, data, start)
        yield kind, data[start + size:start + length]
        start += (length + 3) & ~3


class AcceptQueue(Metric):
    """The length of the accept queue, and what was refused because it, or the queue of
    handshakes before it, was full: for every listener of this network namespace."""

    longest = 0

    def begin(self, meter):
        self.before = tcp_counters()

    def sample(self, meter):
        self.longest = max(self.longest, accept_queue(meter.live.port)[0])

    def end(self, meter):
        self.after = tcp_counters()
        self.limit = accept_queue(meter.live.port)[1]

    def finish(self, meter):
        overflows, cookies = (self.after[name] - self.before[name]
                              for name in ("ListenOverflows", "SyncookiesSent"))
        return {"accept_queue": self.longest, "accept_queue_limit": self.limit,
                "overflows": overflows, "syn_cookies": cookies}
