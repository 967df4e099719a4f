"""The queue of connections that wait for accept()."""

import procfs
from metrics import Base, Column


class Metric(Base):
    """Its length, and how often it was full. The overflow counters are the
    kernel's and count every listener of the machine."""

    columns = (
        Column("accept_queue", "accept queue", "at peak", 0,
               "connections made but not yet accepted"),
        Column("overflows", "queue overflows", "", 0,
               "ListenOverflows: a connection was turned away because the "
               "accept queue was full"),
        Column("drops", "dropped SYNs", "", 0,
               "ListenDrops: connection requests thrown away"),
    )

    def begin(self, watch):
        """Read the counters."""
        self.before = procfs.tcp_counters()
        self.longest = 0

    def sample(self, watch):
        """Look at the queue."""
        self.longest = max(self.longest, procfs.accept_queue(watch.live.port))

    def end(self, watch):
        """Read them again."""
        self.after = procfs.tcp_counters()

    def finish(self, watch):
        """Return what was added."""
        def added(name):
            return self.after.get(name, 0) - self.before.get(name, 0)
        return {"accept_queue": self.longest,
                "overflows": added("ListenOverflows"),
                "drops": added("ListenDrops")}
