"""Programs that use a core whenever nothing else does, below all other work.

    with neighbours.running(["awake"], cores):
        ...                     cells; the cores never sleep
        neighbours.without(procfs.busy_times())

A core without work sleeps, and the next packet has to wake it: a part of each figure is the price
of sleeping, which another machine, or another kernel, does not ask. With a neighbour no core
sleeps. Its policy is SCHED_IDLE (sched(7)): whatever else can run goes first, immediately.

The policy counts among the threads of a session only, where the kernel gives each session an
equal share of the cores (autogroup, sched(7)). So the neighbours are put into a control group
that is idle as a whole (cpu.idle). Without the right to make one, their session asks for the
least that there is, 15 of 1,024 parts; then others wait for them now and then.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

from tools.kit import process, procfs

# One computes in a register, one reads more memory than a cache has. It has written to that
# memory: bytes(N) would be N bytes of one page of zeros, which the kernel maps again and again,
# and a cache keeps.
PROGRAMS = {"awake": "while True: pass",
            "cold": "memory = b'x' * (32 << 20)\nwhile True: memory.find(b'y')"}
IDLE = """import contextlib, os
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as own:
    own.write("19")
"""
GROUPS = pathlib.Path("/sys/fs/cgroup")
_running = {}       # {pid: the core that it uses}


@contextlib.contextmanager
def running(names, cores):
    """Run each of the PROGRAMS that `names` lists on each of the `cores` until the block ends.
    Raises OSError where no process can be started."""
    with contextlib.ExitStack() as stack:
        group = _idle_group() if names else None
        if group:
            stack.callback(group.rmdir)
        for name in names:
            for core in cores:
                one = process.spawn([sys.executable, "-c", IDLE + PROGRAMS[name]], {core},
                                    subprocess.DEVNULL)
                stack.callback(process.stop, one)
                stack.callback(_let_run, one.pid, group)
                _running[one.pid] = core
                stack.callback(_running.pop, one.pid)
                if group:
                    (group / "cgroup.procs").write_text(f"{one.pid}\n")
        yield


def _let_run(pid, group):
    """Give a process the time that it needs to end when it is killed: where others keep its core
    busy, it has none. `group` is the Path of its control group, None without one."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    if group:
        with contextlib.suppress(OSError):
            (group.parent / "cgroup.procs").write_text(f"{pid}\n")


def _idle_group():
    """Make a control group, of version 1 or 2, whose processes run when no others can; return its
    folder (a Path), or None where that is not possible."""
    own = procfs.find(r"^\d+:(?:cpu|cpu,cpuacct|):/(.*)", "/proc/self/cgroup")
    for parent in (GROUPS / "cpu" / own, GROUPS / own, GROUPS):
        with contextlib.suppress(OSError):
            group = pathlib.Path(tempfile.mkdtemp(prefix="neighbours-", dir=parent))
            try:
                # "r+" makes no file where the folder is not one of control groups.
                with open(group / "cpu.idle", "r+", encoding="ascii") as idle:
                    idle.write("1\n")
                return group
            except OSError:
                group.rmdir()
    return None


def without(times):
    """Return `times`, {core: seconds of CPU time from any start}, less what neighbours used."""
    rest = dict(times)
    for pid, core in _running.items():
        if core in rest:
            rest[core] -= procfs.cpu_time(procfs.tree(pid))
    return rest
