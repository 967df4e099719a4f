"""Programs that use a core whenever nothing else does, below all other work.

    with neighbours.running(["awake"], cores):
        ...                     cells; the cores never sleep
        neighbours.without(procfs.busy_times())

A core without work sleeps, and the next packet has to wake it: a part of each figure is the price
of sleeping, which another machine, or another kernel, does not ask. With a neighbour no core
sleeps. Its policy is SCHED_IDLE (sched(7)): whatever else can run goes first, at once.
"""

import contextlib
import subprocess
import sys

from tools.kit import process, procfs

# One computes in a register, one reads more memory than a cache has. It has written to that
# memory: bytes(N) would be N bytes of one page of zeros, which the kernel maps again and again,
# and a cache keeps.
PROGRAMS = {"awake": "while True: pass",
            "cold": "memory = b'x' * (32 << 20)\nwhile True: memory.find(b'y')"}
IDLE = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
_running = {}       # {pid: the core that it uses}


@contextlib.contextmanager
def running(names, cores):
    """Run each of the PROGRAMS that `names` lists on each of the `cores` until the block ends.
    Raises OSError where no process can be started."""
    with contextlib.ExitStack() as stack:
        for name in names:
            for core in cores:
                one = process.spawn([sys.executable, "-c", IDLE + PROGRAMS[name]], {core},
                                    subprocess.DEVNULL)
                _running[one.pid] = core
                stack.callback(_running.pop, one.pid)
                stack.callback(process.stop, one)
        yield


def without(times):
    """Return `times`, {core: seconds of CPU time from any start}, less what neighbours used."""
    rest = dict(times)
    for pid, core in _running.items():
        if core in rest:
            rest[core] -= procfs.cpu_time(procfs.tree(pid))
    return rest
