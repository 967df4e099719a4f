"""Memory and open connections at the peak."""

import procfs
from metrics import Base, Column


class Metric(Base):
    """PSS of the whole tree, and what a connection adds to it."""

    columns = (
        Column("pss_mib", "memory", "MiB PSS at peak", 1,
               "pages of its own, and its share of the shared ones"),
        Column("open_connections", "open connections", "at peak", 0,
               "descriptors the server has beyond those before the load"),
        Column("bytes_per_connection", "memory a connection", "bytes", 0,
               "what PSS grew by, over the open connections; from 500 "
               "connections on"),
        Column("descriptors", "descriptors", "at peak, one process", 0),
    )

    def begin(self, watch):
        """Measure the idle server."""
        self.base = self.peak = self._memory(watch)
        self.held_before, _ = self._descriptors(watch)
        self.open = self.most = 0

    def sample(self, watch):
        """Measure it under load."""
        self.peak = max(self.peak, self._memory(watch))
        held, most = self._descriptors(watch)
        self.open = max(self.open, held - self.held_before)
        self.most = max(self.most, most)

    def finish(self, watch):
        """Return what was most."""
        each = None
        if self.open >= 500:
            each = (self.peak - self.base) / self.open
        return {"pss_mib": self.peak / 2**20, "descriptors": self.most,
                "open_connections": self.open, "bytes_per_connection": each}

    @staticmethod
    def _memory(watch):
        return sum(procfs.proportional_memory(p.pid) for p in watch.tree)

    @staticmethod
    def _descriptors(watch):
        counts = [procfs.open_descriptors(p.pid) for p in watch.tree]
        return sum(counts), max(counts, default=0)
