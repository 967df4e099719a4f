"""Memory and open connections at the peak."""

from bench.meter import procfs
from bench.meter.metrics import Base, Column

FEW = 16    # processes; a larger tree takes long to ask for its memory


class Metric(Base):
    """PSS of the whole tree, and what a connection adds to it.

    The kernel walks all pages of a process to tell its PSS. A pool of many
    processes still has its memory when the load has ended, and is asked
    then, where that takes no time from the load tool.
    """

    columns = (
        Column("pss_mib", "memory", "MiB PSS at peak", 1,
               "pages of its own, and its share of the shared ones"),
        Column("open_connections", "open connections", "at peak", 0,
               "accepted and not yet closed: the descriptors that came on top"),
        Column("bytes_per_connection", "memory a connection", "bytes", 0,
               "what PSS grew by, over the open connections; from 500 "
               "connections on"),
        Column("descriptors", "descriptors", "at peak, one process", 0),
    )

    def begin(self, watch):
        """Measure the idle server."""
        self.base = self.peak = self._memory(watch)
        self.held = {one.pid: procfs.open_descriptors(one.pid)
                     for one in watch.tree}
        self.open = self.descriptors = 0

    def sample(self, watch):
        """Measure it under load."""
        if not self._is_a_pool(watch):
            self.peak = max(self.peak, self._memory(watch))
        now = {one.pid: procfs.open_descriptors(one.pid)
               for one in watch.tree}
        self.descriptors = max(self.descriptors, *now.values(), 0)
        # A process that was not there before was made for one of them.
        self.open = max(self.open, sum(
            count - self.held.get(pid, count - 1)
            for pid, count in now.items()))

    def end(self, watch):
        """Measure a pool."""
        if self._is_a_pool(watch):
            self.peak = max(self.peak, self._memory(watch))

    def _is_a_pool(self, watch):
        """Whether it is many processes, the same as before the load."""
        return len(watch.tree) > FEW and \
            {one.pid for one in watch.tree} == self.held.keys()

    def finish(self, watch):
        """Return what was most."""
        if not watch.count_connections:
            self.open = None
        each = None
        if self.open and self.open >= 500:
            each = (self.peak - self.base) / self.open
        return {"pss_mib": self.peak / 2**20, "descriptors": self.descriptors,
                "open_connections": self.open, "bytes_per_connection": each}

    @staticmethod
    def _memory(watch):
        return sum(procfs.proportional_memory(p.pid) for p in watch.tree)
