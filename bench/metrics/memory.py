"""Memory and open connections at the peak."""

import procfs
from metrics import Base, Column


class Metric(Base):
    """PSS of the whole tree, and what a connection adds to it."""

    columns = (
        Column("pss_mib", "memory", "MiB PSS at peak", 1,
               "pages of its own, and its share of the shared ones"),
        Column("open_connections", "open connections", "at peak", 0,
               "established, less those that still wait for accept()"),
        Column("bytes_per_connection", "memory a connection", "bytes", 0,
               "what PSS grew by, over the open connections; from 500 "
               "connections on"),
        Column("descriptors", "descriptors", "at peak, one process", 0),
    )

    def begin(self, watch):
        """Measure the idle server."""
        self.base = self.peak = self._memory(watch)
        self.open = self.descriptors = 0

    def sample(self, watch):
        """Measure it under load."""
        self.peak = max(self.peak, self._memory(watch))
        if watch.count_connections:
            port = watch.live.port
            self.open = max(self.open, procfs.established(port)
                            - procfs.listener(port).waiting)
        self.descriptors = max(self.descriptors,
                               *(procfs.open_descriptors(p.pid)
                                 for p in watch.tree), 0)

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
