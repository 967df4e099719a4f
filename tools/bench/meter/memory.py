"""Memory, open connections, page faults, processes and threads."""

from tools.bench.meter import Metric
from tools.kit import procfs, sockets

FEW = 16                # processes of which the memory is read in a sample
ENOUGH = 500            # connections from which the memory of one is known


class Memory(Metric):
    """PSS of the whole tree, how much each connection adds, and how many processes and threads a
    sample saw at most. Where connections are counted, meter.made becomes how many the clients had
    made at the sample that saw the most of them open."""

    def begin(self, meter):
        self.faults = sum(one.faults for one in meter.tree)
        self.base = self.peak = proportional(meter.tree)
        self.held = _descriptors(meter.tree)
        self.open = self.descriptors = self.processes = self.threads = 0
        self.before = _made() if meter.count_connections else 0

    def sample(self, meter):
        self.peak = max(self.peak, proportional(meter.tree))
        made = _made() - self.before if meter.count_connections else None   # before the look
        now = _descriptors(meter.tree)
        self.descriptors = max(self.descriptors, *now.values(), 0)
        # Of a process that begin() has not seen, all but one descriptor are copies of its
        # parent's: it was forked for one connection.
        held = sum(count - self.held.get(pid, count - 1) for pid, count in now.items())
        if held > self.open:
            self.open, meter.made = held, made
        alive = [one.threads for one in meter.tree if one.state != "Z"]
        self.processes = max(self.processes, len(alive))
        self.threads = max(self.threads, sum(alive))

    def end(self, meter):
        self.faults = sum(one.faults for one in meter.tree) - self.faults

    def finish(self, meter):
        # A client that got an answer had a connection: with 0, no sample came while it was open.
        held = self.open if meter.count_connections else None
        if not held and meter.answered:
            held = None
        each = (self.peak - self.base) / held if (held or 0) >= ENOUGH else None
        return {"faults": max(0, self.faults) / meter.answered if meter.answered else None,
                "pss_mib": self.peak / 2**20, "descriptors": self.descriptors,
                "open_connections": held, "bytes_per_connection": each,
                "processes": self.processes, "threads": self.threads}


def proportional(tree):
    """Return the PSS of a [procfs.Process] in bytes. The kernel walks all pages of a process
    for that, so of many processes the first one and a few others stand for the rest."""
    first, *others = [one.pid for one in tree] or [0]
    read = others[::max(1, len(others) // FEW)]
    return procfs.proportional_memory(first) + len(others) / (len(read) or 1) * sum(
        map(procfs.proportional_memory, read))


def _made():
    """Return how many connections the kernel has made for listeners of this network namespace so
    far: also those that wait to be accepted, but none that it turned away."""
    return sockets.counters()["PassiveOpens"]


def _descriptors(tree):
    return {one.pid: procfs.open_descriptors(one.pid) for one in tree}
