"""Measure what a server costs while a load tool works on it.

    meter = CostMeter(live, redis_pid, count_connections)
    meter.begin()
    result = load.run(..., tick=meter.tick)
    meter.end(result)
    live.stop()
    values = meter.finish()     {column key: value}, see metrics/

Nothing of this runs on the server's cores while the load lasts; what it took
from the load tool's meanwhile is in `result.own_cpu`.
"""

import time

import metrics
import procfs

INTERVAL = 0.5          # seconds between two samples, at least
OWN_SHARE = 0.01        # of the time may go into taking samples


class Watch:
    """What a metric may look at, see metrics/__init__.py."""

    def __init__(self, live, redis_pid, count_connections):
        self.live, self.redis_pid = live, redis_pid
        self.count_connections = count_connections
        self.tree, self.load, self.wall = [], None, 0.0
        self.server_cpu = 0.0
        self.core_times = {}


class CostMeter:
    """All metrics together, for one cell."""

    def __init__(self, live, redis_pid=None, count_connections=False):
        self.watch = Watch(live, redis_pid, count_connections)
        self.metrics = metrics.all_metrics()

    def _look(self, method):
        """Call `method` of every metric on the tree as it is now."""
        self.watch.tree = procfs.tree(self.watch.live.pid)
        for metric in self.metrics:
            getattr(metric, method)(self.watch)

    def begin(self):
        """Call when the server is ready and nobody talks to it."""
        self._look("begin")
        self.cpu = procfs.cpu_time(self.watch.tree)
        self.cores = procfs.core_times()
        self.begun = time.monotonic()
        self.next = self.begun + INTERVAL * 0.8

    def tick(self):
        """Take a sample if it is time; return when the next one is due.

        Many processes make a sample dear: then there are fewer, so that the
        load tool keeps its core.
        """
        now = time.monotonic()
        if now >= self.next:
            self._look("sample")
            took = time.monotonic() - now
            self.next = now + max(INTERVAL, took / OWN_SHARE)
        return self.next

    def end(self, result):
        """Call when the load tool has ended, with what it found."""
        self.watch.wall = time.monotonic() - self.begun
        self.watch.load = result
        self.watch.core_times = {
            core: (user - self.cores[core][0], system - self.cores[core][1])
            for core, (user, system) in procfs.core_times().items()
            if core in self.cores}
        # Children that have just lost their client end now: their cost is
        # known only when their parent has reaped them.
        procfs.settle(self.watch.live.pid)
        self._look("end")
        user, system = procfs.cpu_time(self.watch.tree)
        self.watch.server_cpu = max(0.0, user + system - sum(self.cpu))

    def finish(self):
        """Call when the server has ended; return {key: value}."""
        values = {}
        for metric in self.metrics:
            values.update(metric.finish(self.watch))
        return values


def columns():
    """Return the Column of every metric."""
    return [c for metric in metrics.all_metrics() for c in metric.columns]
