"""What /proc says about a server while it runs.

Everything the meters know about a process tree comes from here. Times are
seconds, sizes bytes. A process that ends while it is being read is left out:
its CPU time is not lost, the kernel adds it to its parent's `cutime`.
"""

import os
import socket
import struct
import time
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")
MANY_THREADS = 1000


@dataclass(frozen=True)
class Process:
    """One process of a tree, as /proc/PID/stat shows it."""

    pid: int
    parent: int
    session: int
    state: str
    user: float
    system: float
    reaped_user: float
    reaped_system: float
    faults: int
    threads: int


def read(path):
    """Return the text of a small file, or "" where it cannot be read."""
    # Some hundred of these make a sample, on the load tool's core: open()
    # with its buffers and decoder takes three times as long.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        data = b""
        while True:
            more = os.read(descriptor, 65536)
            if not more:
                return data.decode("utf-8", "replace")
            data += more
    except OSError:
        return ""           # the process has ended meanwhile
    finally:
        os.close(descriptor)


def read_int(path, otherwise=0):
    """Return the number that a file holds, or `otherwise`."""
    try:
        return int(read(path).split()[0])
    except (ValueError, IndexError):
        return otherwise


def process(pid):
    """Return the Process `pid`, or None when there is none."""
    text = read(f"/proc/{pid}/stat")
    if not text:
        return None
    # The name is in parentheses and may hold spaces: fields begin after it.
    field = text[text.rindex(")") + 2:].split()
    return Process(
        pid=int(pid), parent=int(field[1]), session=int(field[3]),
        state=field[0],
        user=int(field[11]) / TICKS, system=int(field[12]) / TICKS,
        reaped_user=int(field[13]) / TICKS,
        reaped_system=int(field[14]) / TICKS,
        faults=int(field[7]) + int(field[8]) + int(field[9]) + int(field[10]),
        threads=int(field[17]))


def tree(root):
    """Return `root` and all processes that descend from it."""
    found, queue = [], [root]
    while queue:
        one = process(queue.pop())
        if one:
            found.append(one)
            queue += children(one)
    return found


def children(one):
    """Return the process ids of the children of the Process `one`."""
    pids = []
    try:
        # A child is listed with the thread that forked it.
        threads = os.listdir(f"/proc/{one.pid}/task") \
            if 1 < one.threads <= 50 else [one.pid]
    except OSError:
        return pids
    for thread in threads:
        pids += read(f"/proc/{one.pid}/task/{thread}/children").split()
    return [int(pid) for pid in pids]


def settle(root, seconds=0.5, pause=0.02):
    """Wait until no process or thread comes or goes below `root` any more,
    at most `seconds`."""
    until = time.monotonic() + seconds
    before = None
    while time.monotonic() < until:
        now = [(p.pid, p.threads) for p in tree(root)]
        if now == before:
            return
        before = now
        time.sleep(pause)


def run_time(pid):
    """Return how long the living threads of `pid` have run on a core.

    /proc/PID/task/*/schedstat counts nanoseconds, where /proc/PID/stat is
    cut off at 10 ms, but forgets the threads that have ended.
    """
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            text = read(f"/proc/{pid}/task/{thread}/schedstat")
            if text:
                total += int(text.split()[0])
    except OSError:
        pass
    return total / 1e9


def cpu_time(processes):
    """Return (user, system) seconds that `processes` and all that they have
    reaped used so far.

    Each process counts with the larger of its two clocks, of which neither
    can be too large: 10 ms ticks that include ended threads, or nanoseconds
    of the living ones. The share of user time is that of the ticks.
    """
    user = system = 0.0
    for one in processes:
        own = one.user + one.system
        precise = run_time(one.pid) if one.threads <= MANY_THREADS else 0.0
        if precise > own:
            share = one.user / own if own else 0.5
            user += precise * share
            system += precise * (1 - share)
        else:
            user += one.user
            system += one.system
        user += one.reaped_user
        system += one.reaped_system
    return user, system


def context_switches(pid):
    """Return (voluntary, involuntary) switches of the living threads."""
    voluntary = involuntary = 0
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0, 0
    for thread in threads:
        for line in read(f"/proc/{pid}/task/{thread}/status").splitlines():
            if line.startswith("voluntary_ctxt"):
                voluntary += int(line.split()[1])
            elif line.startswith("nonvoluntary_ctxt"):
                involuntary += int(line.split()[1])
    return voluntary, involuntary


def proportional_memory(pid):
    """Return the PSS of `pid`: what it has alone, and its share of what it
    has together with others (after fork most pages are shared)."""
    for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def open_descriptors(pid):
    """Return how many descriptors `pid` holds."""
    folder = f"/proc/{pid}/fd"
    try:
        # Since Linux 6.2 the size of the folder is the count.
        return os.stat(folder).st_size or len(os.listdir(folder))
    except OSError:
        return 0


def descriptor_limit(pid="self"):
    """Return the soft limit of open descriptors of `pid`."""
    for line in read(f"/proc/{pid}/limits").splitlines():
        if line.startswith("Max open files"):
            return int(line.split()[3])
    return 0


def core_times():
    """Return {core: (user, system)} seconds of each core since boot, that
    is all the time it was not idle. System includes interrupts, and time
    that a hypervisor gave to others."""
    times = {}
    for line in read("/proc/stat").splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name != "cpu":
            # user nice system idle iowait irq softirq steal (guest ...)
            field = [int(word) / TICKS for word in fields]
            times[int(name[3:])] = (field[0] + field[1],
                                    field[2] + sum(field[5:8]))
    return times


def tcp_counters():
    """Return the kernel's extended TCP counters, {name: count}."""
    lines = [line.split() for line in read("/proc/net/netstat").splitlines()]
    for names, values in zip(lines[::2], lines[1::2]):
        if names and names[0] == "TcpExt:":
            return dict(zip(names[1:], map(int, values[1:])))
    return {}


def segments_sent():
    """Return how many TCP segments this network has sent (snmp: OutSegs)."""
    lines = [line.split() for line in read("/proc/net/snmp").splitlines()
             if line.startswith("Tcp: ")]
    return int(dict(zip(*lines)).get("OutSegs", 0)) if lines else 0


def time_wait_sockets():
    """Return how many TCP sockets wait in TIME_WAIT."""
    for line in read("/proc/net/sockstat").splitlines():
        words = line.split()
        if words and words[0] == "TCP:":
            return int(words[words.index("tw") + 1])
    return 0


@dataclass(frozen=True)
class Listener:
    """The listening sockets of a port, taken together."""

    waiting: int = 0        # connections in the accept queue
    limit: int = 0          # how many may wait there


def listener(port):
    """Return the Listener of `port` as it is now.

    Asked through netlink, as `ss -lt` does, since /proc/net/tcp lists every
    connection of the machine.
    """
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
    """Return how many IPv4 clients of this machine's `port` are not connected
    yet, or have received nothing though they asked more than `seconds` ago;
    None where the kernel does not tell.

    Takes some milliseconds, since the kernel looks through its table of all
    connections, and 5 us for each client.
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
    start = 72                  # struct inet_diag_msg
    while start + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, start)
        if kind == INFO:
            return message[start + 4:start + length]
        start += (length + 3) & ~3
    return b""


ESTABLISHED, SYN_SENT, LISTEN = 1, 2, 10
INFO = 2
NLMSG_ERROR = 2


def _sockets(states, port, remote=0,
             families=(socket.AF_INET, socket.AF_INET6)):
    """Yield a struct inet_diag_msg, with a tcp_info after it, for each TCP
    socket in one of `states` on the local `port` to the `remote` one, 0 for
    any. Raises OSError where the kernel does not tell."""
    sock_diag, by_family, dump = 4, 20, 0x301
    for family in families:
        # struct inet_diag_req_v2: what is wanted, then a sock id of which
        # only the ports are given.
        request = struct.pack("=BBBBI", family, socket.IPPROTO_TCP,
                              1 << (INFO - 1), 0,
                              sum(1 << state for state in states))
        request += struct.pack(">HH", port, remote) + bytes(44)
        header = struct.pack("=IHHII", 16 + len(request), by_family, dump,
                             1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                           sock_diag) as diag:
            diag.settimeout(1)
            diag.send(header + request)
            yield from _messages(diag, by_family)


def _messages(diag, kind):
    """Yield what follows each netlink header until the dump is over. Raises
    OSError."""
    while True:
        data = diag.recv(1 << 17)
        start = 0
        while start < len(data):
            length, got = struct.unpack_from("=IH", data, start)
            if got == NLMSG_ERROR:
                raise OSError("the kernel does not list its sockets")
            if got != kind:             # NLMSG_DONE
                return
            yield data[start + 16:start + length]
            start += (length + 3) & ~3
