"""The queue of connections that wait for accept()."""

from bench.meter import procfs
from bench.meter.metrics import Base, Column


class Metric(Base):
    """Its length, and what was turned away because it, or the queue of
    handshakes before it, was full. The counters are the kernel's and count
    every listener of the machine."""

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
        """Read the counters."""
        self.before = procfs.tcp_counters()
        self.longest = 0

    def sample(self, watch):
        """Look at the queue."""
        self.longest = max(self.longest,
                           procfs.listener(watch.live.port).waiting)

    def end(self, watch):
        """Read the counters again."""
        self.after = procfs.tcp_counters()
        self.limit = procfs.listener(watch.live.port).limit

    def finish(self, watch):
        """Return what was added."""
        def added(name):
            return self.after.get(name, 0) - self.before.get(name, 0)
        return {"accept_queue": self.longest,
                "accept_queue_limit": self.limit,
                "overflows": added("ListenOverflows"),
                "drops": added("ListenDrops"),
                "syn_cookies": added("SyncookiesSent")}
