"""Measure what a server costs while a load tool works on it.

    meter = CostMeter(live, redis_pid, count_connections, cpu)
    meter.begin(seconds)
    result = load.run(..., tick=meter.tick)
    meter.end(result)
    live.stop()
    values = meter.finish()     {column key: value}, see metrics/

Nothing of this runs on the server's cores while the load lasts; what it took
from the load tool's meanwhile is in `result.own_cpu`. `cpu` is what meter.of_tree() gives; without it, CPU time is
that of /proc.
"""

import math
import time

from bench.meter import cgroup as meter
from bench.meter import metrics
from bench.meter import procfs

INTERVAL = 0.5          # seconds between two samples; less in a short run
SAMPLES = 2             # at least, where they are cheap
LAST = 0.05             # seconds before the end comes the last of them
OWN_SHARE = 0.01        # of the time may go into taking samples
# The server counts the checks before the load too: such a difference between
# its count and the load tool's says nothing.
SERVED_MORE, CHECKS = 1.1, 50


class Watch:
    """What a metric may look at, see metrics/__init__.py."""

    def __init__(self, live, redis_pid, count_connections):
        self.live, self.redis_pid = live, redis_pid
        self.count_connections = count_connections
        self.tree, self.load, self.wall = [], None, 0.0
        self.server_cpu = self.busy_cpu = 0.0
        self.answered = None
        self.core_times = {}


class CostMeter:
    """All metrics together, for one cell."""

    def __init__(self, live, redis_pid=None, count_connections=False,
                 cpu=None):
        self.watch = Watch(live, redis_pid, count_connections)
        self.metrics = metrics.all_metrics()
        self.cpu = cpu or meter.ProcMeter(live.pid)

    def _look(self, method):
        """Call `method` of every metric on the tree as it is now."""
        self.watch.tree = procfs.tree(self.watch.live.pid)
        for metric in self.metrics:
            getattr(metric, method)(self.watch)

    def begin(self, seconds=None):
        """Call when the server is ready and nobody talks to it. The load
        lasts for `seconds`, as far as one knows."""
        self._look("begin")
        dear = self._sample()       # nobody is kept waiting yet
        self.before = self.cpu.read()
        self.cores = procfs.core_times()
        self.begun = time.monotonic()
        self.interval = min(INTERVAL, seconds / SAMPLES) if seconds \
            else INTERVAL
        self.next = self.begun + max(self.interval * 0.8, dear / OWN_SHARE)
        self.ends = self.begun + seconds if seconds else None
        self._set_last(dear)

    def tick(self):
        """Take a sample if it is time; return when the next one is due.

        Many processes make a sample dear: then there are fewer, so that the
        load tool keeps its core. The last one is taken in any case, and is
        over before the load is.
        """
        now = time.monotonic()
        if now >= min(self.next, self.last):
            if now >= self.last:
                self.ends = None
            dear = self._sample()
            self._set_last(dear)
            self.next = now + max(self.interval, dear / OWN_SHARE)
            if self.ends and self.next > self.last - self.interval / 2:
                self.next = math.inf    # the last one will do
        return min(self.next, self.last)

    def _set_last(self, dear):
        """Say when the last sample is to come, if the next one costs as much
        as one that was `dear` seconds; with a margin, for the load tool has
        the core beside it."""
        self.last = self.ends - max(LAST, 2 * dear) if self.ends \
            else math.inf

    def _sample(self):
        """Take a sample; return what it cost. That is CPU time: on the
        load's busy core a look lasts much longer."""
        before = time.thread_time()
        self._look("sample")
        return time.thread_time() - before

    def end(self, result):
        """Call when the load tool has ended, with what it found."""
        self.watch.wall = time.monotonic() - self.begun
        self.watch.load = result
        self.watch.core_times = {
            core: (user - self.cores[core][0], system - self.cores[core][1])
            for core, (user, system) in procfs.core_times().items()
            if core in self.cores}
        self.watch.busy_cpu = self._used()
        # Children that have just lost their client end now: their cost is
        # known only when their parent has reaped them.
        procfs.settle(self.watch.live.pid)
        self._look("end")
        self.watch.server_cpu = self._used()

    def _used(self):
        """Return the CPU seconds that the server has used since begin()."""
        return max(0.0, (self.cpu.read() - self.before).total)

    def finish(self):
        """Call when the server has ended; return {key: value}."""
        self.watch.answered = self._answered()
        values = {}
        for metric in self.metrics:
            values.update(metric.finish(self.watch))
        return values

    def _answered(self):
        """Return among how many requests the costs are divided, None when
        that is not known: those that the load tool saw answered, unless the
        server itself says that it answered many more."""
        good, report = self.watch.load.good, self.watch.live.report
        served = report["requests"] if report else 0
        if good is None or served > SERVED_MORE * good + CHECKS:
            return served or None
        return good


def columns():
    """Return the Column of every metric."""
    return [c for metric in metrics.all_metrics() for c in metric.columns]
