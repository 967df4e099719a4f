"""CPU time of a process tree, with everything that it starts.

The processes are put into a control group (cgroups(7), version 2) of their own. The kernel
adds the time of each task to its group in nanoseconds, up to its last context switch, and
new threads and children are in the group from the start. That needs a writable folder in
/sys/fs/cgroup, as root has. Elsewhere /proc has to do: it has no exact clock for children
and threads that live for 50 us, as in 02 and 04, and loses their last context switch.
"""

import os
import statistics
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from tools.bench.meter import Metric
from tools.kit import procfs, wait

ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Cpu:
    """CPU seconds. `total` is exact in a control group; `user` and `system` are samples of
    the kernel's clock tick, and only their proportion counts."""

    total: float
    user: float
    system: float

    def __sub__(self, before):
        return Cpu(self.total - before.total, self.user - before.user, self.system - before.system)


class Group:
    """Counts for a process tree, in a control group of its own. No controller is needed."""

    def __init__(self, pid):
        """Raises OSError where that is not possible."""
        both = ROOT / "unified"     # where a machine has version 1, too
        self.parent = (both if both.is_dir() else ROOT) / procfs.find(
            r"^0::/(.*)", "/proc/self/cgroup")
        self.folder = self.parent / f"bench-{os.getpid()}-{pid}"
        self.folder.mkdir()
        try:
            self.read()
            # Twice: one may have forked while the first were moved.
            for one in procfs.tree(pid) + procfs.tree(pid):
                _move(one.pid, self.folder)
        except OSError:
            self.close()
            raise

    def read(self):
        """Return the Cpu used so far. Raises OSError."""
        lines = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return Cpu(*(int(lines[f"{name}_usec"]) / 1e6 for name in ("usage", "user", "system")))

    def close(self):
        """Move the processes back and delete the group."""
        def is_gone():
            for pid in procfs.read(self.folder / "cgroup.procs").split():
                _move(pid, self.parent)
            with suppress(OSError):     # a task that is ending still belongs to it
                self.folder.rmdir()
            return not self.folder.exists()

        wait.until(is_gone, 2)


def _move(pid, folder):
    """Put a process and all its threads into a group, unless it has ended. Raises OSError."""
    with suppress(ProcessLookupError):
        (folder / "cgroup.procs").write_text(f"{pid}\n")


class ProcMeter:
    """Counts for a process tree by what /proc shows of it. The split into user and system is that
    of the cores on which `pid` may run, because a process that no clock tick has hit counts as all
    user time."""

    def __init__(self, pid):
        self.pid, self.cores = pid, os.sched_getaffinity(pid)

    def read(self):
        """Return the Cpu used so far."""
        times = procfs.core_times()
        user, system = (sum(times[core][kind] for core in self.cores) for kind in (0, 1))
        return Cpu(procfs.cpu_time(procfs.tree(self.pid)), user, system)


def of_tree(pid):
    """Return a block with a meter for `pid` and all that descends from it. If they are in a group
    of their own, they are moved back at its end, and the group is deleted."""
    try:
        return closing(Group(pid))
    except OSError:
        return nullcontext(ProcMeter(pid))


class CpuTime(Metric):
    """CPU time of Redis and of others on the same cores, and the server's as CostMeter has read it:
    until the load ended, and until the server had nothing left to do."""

    def begin(self, meter):
        self.redis = procfs.cpu_time(procfs.tree(meter.redis_pid))

    def end(self, meter):
        self.redis = procfs.cpu_time(procfs.tree(meter.redis_pid)) - self.redis

    def finish(self, meter):
        load, wall, cores = meter.result, meter.wall, meter.live.start.cores
        others = [core for core in meter.core_times if core in meter.load_cores - cores]

        def percent(times, some):
            return 100 * statistics.fmean(times[core] for core in some) / wall

        busy = 100 * meter.busy_cpu / wall / len(cores)
        values = {
            # Clock ticks of 10 ms can add up to a little more than there is.
            "server_busy": min(100.0, busy),
            "load_busy": 100 * load.cpu / load.wall if load.wall else None,
            "steal": percent(meter.stolen_times, cores),
            "redis_busy": 100 * self.redis / wall if meter.redis_pid else None,
            "load_cores_busy": percent(meter.core_times, others or cores)}
        if others:  # else load and foreign work look the same
            values["foreign"] = max(0.0, percent(meter.program_times, cores) - busy)
        if meter.answered:
            used = meter.server_cpu
            each = 1e6 * used.total / meter.answered
            user = each * (used.user / ((used.user + used.system) or 1.0))
            values.update(cpu_us=each, cpu_user_us=user, cpu_system_us=each - user)
        return values
