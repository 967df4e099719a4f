"""Waits until the machine is quiet: the server's cores are free, and as fast as usual."""

import os
import statistics
import time

from tools.bench.machine import neighbours
from tools.kit import procfs, wait

SLOWER = 30.0       # per cent more time for the same work than usual
FOREIGN = 10.0      # per cent of the server's cores
LOOK = 0.2          # seconds of a look at what runs there
WORK = 50_000       # sums, a few milliseconds
GAUGES = 5          # of a core at each look, of which the fastest counts
PAUSE = 0.2         # seconds between two looks
QUICK, FULL = 3.0, 60.0     # seconds to wait at most, before a round


class Gate:
    """Called before each round; waits at most `limit` seconds. After a wait without result, the
    next is half as long, until the machine is quiet again: on one that never is, waiting does not
    help."""

    def __init__(self, machine, limit):
        self.limit = self.patience = limit
        self.server_cores = machine.server_cores
        others = sorted(machine.load_cores - machine.server_cores)
        self.seen = {core: [] for core in [min(machine.server_cores), *others[:1]]}

    def __call__(self):
        """Return when it is quiet, or when the limit is reached."""
        quiet = wait.until(lambda: not self.disturbed(), self.patience, every=PAUSE)
        self.patience = self.limit if quiet else self.patience / 2

    def disturbed(self):
        """Return in words what is not quiet, "" if all is."""
        for core, seen in self.seen.items():
            now = min(measure(core) for _ in range(GAUGES))
            seen.append(now)
            slower = 100 * (now / statistics.median(seen) - 1)
            if slower > SLOWER:
                return f"core {core} is {slower:.0f} % slower than usual"
        busy = foreign(self.server_cores)
        return f"other programs use {busy:.0f} % of the server's cores" if busy > FOREIGN else ""


def measure(core):
    """Return the CPU milliseconds that a fixed piece of work takes on `core`. CPU time, not
    wall time, so that other programs on this core do not count."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        begun = time.thread_time()
        total = 0
        for number in range(WORK):
            total += number * number
        return 1e3 * (time.thread_time() - begun)
    finally:
        os.sched_setaffinity(0, before)


def foreign(cores):
    """Return how busy the cores are, per cent, while this program sleeps; without neighbours."""
    before, begun = neighbours.without(procfs.busy_times()), time.monotonic()
    time.sleep(LOOK)
    after, lasted = neighbours.without(procfs.busy_times()), time.monotonic() - begun
    used = sum(after[core] - before[core] for core in cores)
    return 100 * used / (lasted * len(cores))
