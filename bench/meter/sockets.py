"""TCP: the accept queue, the kernel's counters, clients without an answer.

Sockets are listed through netlink, sock_diag(7), as `ss -t` does, because
/proc/net/tcp lists every connection of the machine.
"""

import socket
import struct
from typing import NamedTuple

from bench.meter import Column, Metric, procfs

ESTABLISHED, SYN_SENT, LISTEN = 1, 2, 10
SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, NLMSG_ERROR = 20, 0x301, 2
INET_DIAG_INFO = 2
HEADER, DIAG_MSG = 16, 72       # bytes of nlmsghdr and inet_diag_msg


def tcp_counters():
    """Return the kernel's extended TCP counters, {name: count}."""
    lines = [line.split()
             for line in procfs.read("/proc/net/netstat").splitlines()]
    for names, values in zip(lines[::2], lines[1::2]):
        if names and names[0] == "TcpExt:":
            return dict(zip(names[1:], map(int, values[1:])))
    return {}


def segments_sent():
    """Return how many TCP segments this network namespace has sent."""
    lines = [line.split()
             for line in procfs.read("/proc/net/snmp").splitlines()
             if line.startswith("Tcp: ")]
    return int(dict(zip(*lines)).get("OutSegs", 0)) if lines else 0


def time_wait_sockets():
    """Return how many TCP sockets are in TIME_WAIT."""
    for line in procfs.read("/proc/net/sockstat").splitlines():
        words = line.split()
        if words and words[0] == "TCP:":
            return int(words[words.index("tw") + 1])
    return 0


class Listener(NamedTuple):
    """The listening sockets of a port, taken together."""

    waiting: int = 0        # connections in the accept queue
    limit: int = 0          # how many fit into it


def listener(port):
    """Return the Listener of `port`; zeros where the kernel does not tell."""
    waiting = limit = 0
    try:
        for message in _sockets({LISTEN}, port):
            queues = struct.unpack_from("=II", message, 52 + 4)
            waiting += queues[0]
            limit += queues[1]
    except OSError:
        pass
    return Listener(waiting, limit)


def silent_clients(port, seconds):
    """Return how many IPv4 clients of `port` on this machine are not connected
    yet, or sent a request more than `seconds` ago and have received nothing.
    None where the kernel does not tell.

    Takes some milliseconds, as the kernel searches all connections, and 5 us a
    client.
    """
    try:
        silent = 0
        for message in _sockets({ESTABLISHED, SYN_SENT}, 0, port,
                                (socket.AF_INET,)):
            if message[1] == SYN_SENT:
                silent += 1
                continue
            info = _tcp_info(message)
            since, = struct.unpack_from("=I", info, 44)     # last_data_sent
            received, = struct.unpack_from("=Q", info, 128)  # bytes_received
            silent += not received and since > 1e3 * seconds
    except (OSError, struct.error):     # before Linux 4.1 it is shorter
        return None
    return silent


def _tcp_info(message):
    """Return the struct tcp_info among the attributes of a message, b""
    without one."""
    start = DIAG_MSG
    while start + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, start)
        if kind == INET_DIAG_INFO:
            return message[start + 4:start + length]
        start += (length + 3) & ~3
    return b""


def _sockets(states, port, remote=0,
             families=(socket.AF_INET, socket.AF_INET6)):
    """Yield a struct inet_diag_msg, with a tcp_info after it, for each TCP
    socket in one of `states` from the local `port` to the `remote` one, 0 for
    any. Raises OSError where the kernel does not tell."""
    for family in families:
        # struct inet_diag_req_v2: of the socket's id only the ports are given.
        request = struct.pack("=BBBBI", family, socket.IPPROTO_TCP,
                              1 << (INET_DIAG_INFO - 1), 0,
                              sum(1 << state for state in states))
        request += struct.pack(">HH", port, remote) + bytes(44)
        header = struct.pack("=IHHII", HEADER + len(request),
                             SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0)
        netlink_sock_diag = 4
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                           netlink_sock_diag) as diag:
            diag.settimeout(1)
            diag.send(header + request)
            yield from _messages(diag)


def _messages(diag):
    """Yield what follows each netlink header until the dump is over. Raises
    OSError."""
    while True:
        data = diag.recv(1 << 17)
        start = 0
        while start < len(data):
            length, kind = struct.unpack_from("=IH", data, start)
            if kind == NLMSG_ERROR:
                raise OSError("the kernel does not list its sockets")
            if kind != SOCK_DIAG_BY_FAMILY:     # NLMSG_DONE
                return
            yield data[start + HEADER:start + length]
            start += (length + 3) & ~3


class AcceptQueue(Metric):
    """The length of the accept queue, and what was refused because it, or the
    queue of handshakes before it, was full. The counters are the kernel's and
    count every listener of this network namespace."""

    columns = (
        Column("accept_queue", "accept queue", "at peak", 0,
               "connections made but not yet accepted"),
        Column("accept_queue_limit", "its limit", "", 0,
               "the backlog, cut by net.core.somaxconn"),
        Column("overflows", "queue overflows", "", 0,
               "ListenOverflows: a connection found the accept queue full"),
        Column("drops", "dropped SYNs", "", 0,
               "ListenDrops: connection requests thrown away"),
        Column("syn_cookies", "SYN cookies", "", 0,
               "SyncookiesSent: a connection found the SYN queue full"),
    )

    def begin(self, watch):
        self.before = tcp_counters()
        self.longest = 0

    def sample(self, watch):
        self.longest = max(self.longest, listener(watch.live.port).waiting)

    def end(self, watch):
        self.after = tcp_counters()
        self.limit = listener(watch.live.port).limit

    def finish(self, watch):
        def added(name):
            return self.after.get(name, 0) - self.before.get(name, 0)
        return {"accept_queue": self.longest,
                "accept_queue_limit": self.limit,
                "overflows": added("ListenOverflows"),
                "drops": added("ListenDrops"),
                "syn_cookies": added("SyncookiesSent")}
