"""How fast is a core at this moment?

A core of a virtual machine is often half of a real one: while the neighbour
on the other half works, ours does a half to two thirds of what it did before,
and nothing in /proc tells. Heat and a frequency governor do the same on one's
own machine. So the same small piece of work is timed again and again.
"""

import os
import time

ROUNDS = 50_000         # a few milliseconds


def measure(core):
    """Return the CPU milliseconds that a fixed piece of work takes on `core`.

    Of two figures from one run the larger one is from a slower core. CPU
    time, not wall time: others who get the core meanwhile do not count.
    """
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
