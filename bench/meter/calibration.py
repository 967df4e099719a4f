"""How fast is a core now?

A core of a virtual machine is often one of two hardware threads. While the
other one works, ours runs at half to two thirds of its speed, and nothing in
/proc shows it. Heat and frequency scaling slow down a laptop in the same way.
"""

import os
import time

from bench.meter import Metric

ROUNDS = 50_000         # a few milliseconds


def measure(core):
    """Return the CPU milliseconds that a fixed piece of work takes on `core`. The larger of
    two figures comes from the slower core. CPU time, not wall time, so that other programs
    on this core do not count."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        begun = time.thread_time()
        total = 0
        for number in range(ROUNDS):
            total += number * number
        return 1e3 * (time.thread_time() - begun)
    finally:
        os.sched_setaffinity(0, before)


class CoreSpeed(Metric):
    """measure() just before the load and just after it."""

    def begin(self, watch):
        self.before = measure(min(watch.live.start.cores))

    def end(self, watch):
        self.after = measure(min(watch.live.start.cores))

    def finish(self, watch):
        return {"gauge_ms": (self.before + self.after) / 2}
