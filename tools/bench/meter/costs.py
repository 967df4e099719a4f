"""Measure what a server costs while a load tool works on it.

    meter = CostMeter(live, redis_pid, count_connections, cpu)
    meter.begin(seconds, longer=False, opened=None)
    result = load.run(..., tick=meter.tick)
    meter.end(result)
    live.stop()
    values = meter.finish()     {column: value}

A metric of yours is a class in METRICS, see tools/bench/meter/__init__.py, and its
columns are in tools/results/columns.toml.
"""

import math
import time
from dataclasses import dataclass

from tools.bench.machine import neighbours
from tools.bench.meter import cpu as cpu_meter, memory, sockets, switches, yardstick
from tools.kit import procfs

INTERVAL = 0.5          # seconds between two samples; less in a short run
SAMPLES = 2             # taken under load, at least, where they are cheap
LAST = 0.05             # seconds from the last sample to the end of the load
OWN_SHARE = 0.01        # share of the time that samples may take
# The server also counts the requests that checked it before the load. Smaller
# differences from the load tool's count mean nothing.
SERVED_MORE, CHECKS = 1.1, 50
METRICS = (sockets.Tcp, cpu_meter.CpuTime, memory.Memory, switches.Switches,
           yardstick.Yardstick)


@dataclass
class CostMeter:
    """All metrics together, for one run of a load tool, and what they may look at."""

    live: object                # the running server, a kit.servers.Live
    redis_pid: int = None       # the private Redis
    count_connections: bool = False     # whether the load holds its connections open
    cpu: object = None          # from cpu.of_tree(); without it CPU time comes from /proc
    load_cores: frozenset = frozenset()     # of the load tool and Redis
    made: int = None            # connections that clients had made when the most were open; None
                                # where they are not counted, or no sample saw one
    tree: list = ()             # the server's processes now, [procfs.Process]

    # From end() on:
    result: object = None       # the load tool's
    wall: float = 0.0           # seconds from begin() to end()
    busy_cpu: float = 0.0       # CPU seconds of the server in `wall`: for server_busy
    server_cpu: cpu_meter.Cpu = None    # for cpu_us: with what it had left to do after that
    core_times: dict = None     # {core: seconds not idle} in `wall`
    program_times: dict = None  # {core: seconds that programs ran} in `wall`
    stolen_times: dict = None   # {core: seconds that the hypervisor gave to others} in `wall`

    # In finish():
    answered: int = 0           # requests among which costs are divided: the good answers
                                # that the load tool saw, or the server's own count if that
                                # is much larger

    def __post_init__(self):
        self.metrics = [metric() for metric in METRICS]
        self.cpu = self.cpu or cpu_meter.ProcMeter(self.live.pid)

    def begin(self, seconds, longer=False, opened=None):
        """Call when the server is ready and idle, before a load of `seconds`, or `longer`. A load
        that first opens its connections may take longer: it then ends `opened` seconds after the
        last of them is open."""
        self._look("begin")
        cost = self._sample()
        self.interval = min(INTERVAL, seconds / SAMPLES)
        self.before = self.cpu.read()
        self.cores = _core_times()
        self.begun = time.monotonic()
        self.ends, self.longer, self.opened = self.begun + seconds, longer, opened
        self.next = self._due(self.begun, cost)

    def tick(self):
        """Take a sample if one is due; return when (time.monotonic) the next one is."""
        now = time.monotonic()
        if now >= self.next:
            self.next = self._due(now, self._sample())
        return self.next

    def _due(self, now, cost):
        """Return when to take the next sample, if one costs `cost` seconds. The more
        processes, the more expensive a sample, and the fewer are taken. One is over shortly
        before the load is, or before it can be; if connections take longer to open than planned,
        some samples are taken when all are open, whatever they cost."""
        last = self.ends - max(LAST, 2 * cost)
        following = now + max(self.interval, cost / OWN_SHARE)
        if now < last:
            return min(following, last)
        if self.opened:
            return now + max(self.opened / (1 + SAMPLES), 2 * cost)
        return following if self.longer else math.inf

    def _look(self, method):
        """Call `method` of every metric. The last to begin is the first to end."""
        self.tree = procfs.tree(self.live.pid)
        for metric in self.metrics[::-1 if method == "end" else 1]:
            getattr(metric, method)(self)

    def _sample(self):
        """Take a sample; return its CPU seconds. The wall time would include the load tool's, which
        uses the same core."""
        before = time.thread_time()
        self._look("sample")
        return time.thread_time() - before

    def end(self, result):
        """Call when the load tool has ended, with its result."""
        self.wall, self.result = time.monotonic() - self.begun, result
        self.core_times, self.program_times, self.stolen_times = (
            {core: seconds - before[core] for core, seconds in now.items()}
            for before, now in zip(self.cores, _core_times()))
        self.busy_cpu = (self.cpu.read() - self.before).total
        # Children that have just lost their client end now. Their cost is
        # known only when their parent has reaped them.
        procfs.settle(self.live.pid)
        self.server_cpu = self.cpu.read() - self.before
        self._look("end")

    def finish(self):
        """Call when the server has ended; return {column: value}."""
        good, served = self.result.good, self.live.served or 0
        self.answered = served if served > SERVED_MORE * good + CHECKS else good
        return {column: value for metric in self.metrics
                for column, value in metric.finish(self).items()}


def _core_times():
    """Return three {core: seconds}: not idle, and with programs running, both without those of
    machine/neighbours.py; and given to others by the hypervisor."""
    return (*map(neighbours.without, (procfs.busy_times(), procfs.program_times())),
            procfs.stolen_times())
