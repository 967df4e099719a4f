"""How much CPU time processes use, with everything that they start.

    with meter.of_tree(live.pid) as cpu:
        before = cpu.read()
        ...
        used = cpu.read() - before      used.total, used.user, used.system

Children and threads that end while nobody looks are the difficulty. /proc has
10 ms ticks for a thread that has ended and for a child that its parent has
reaped: where each lives for 50 us, as in 02 and 04, what their last context
switch and their end cost is lost.

So the processes are put into a control group (cgroups(7)) of their own. The
kernel adds the time of each task that runs to its group, in nanoseconds, and
what they fork is in the group from the start. That needs a folder below
/sys/fs/cgroup in which we may write: root may. Elsewhere /proc has to do, and
`way` says so.
"""

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.meter import procfs

ROOT = Path("/sys/fs/cgroup")
NS, US = 1e-9, 1e-6


@dataclass(frozen=True)
class Cpu:
    """CPU seconds. `total` is exact in a control group; the kernel divides it
    into `user` and `system` by what its clock tick happens to interrupt."""

    total: float
    user: float
    system: float

    def __sub__(self, before):
        return Cpu(self.total - before.total, self.user - before.user,
                   self.system - before.system)


class GroupV2:
    """cpu.stat of the unified hierarchy; it needs no controller."""

    way = "cgroup v2"

    @staticmethod
    def parent():
        """Return the folder of the group that we are in."""
        root = ROOT / "unified"     # where both versions are mounted
        return _own_group(root if root.is_dir() else ROOT, "")

    @staticmethod
    def read(folder):
        """Return the Cpu of a group. Raises OSError, KeyError."""
        lines = dict(line.split() for line in
                     (folder / "cpu.stat").read_text().splitlines())
        return Cpu(*(int(lines[f"{name}_usec"]) * US
                     for name in ("usage", "user", "system")))


class GroupV1:
    """The controller cpuacct of version 1."""

    way = "cgroup v1"

    @staticmethod
    def parent():
        """Return the folder of the group that we are in."""
        return _own_group(ROOT / "cpuacct", "cpuacct")

    @staticmethod
    def read(folder):
        """Return the Cpu of a group. Raises OSError."""
        return Cpu(*(int((folder / f"cpuacct.{name}").read_text()) * NS
                     for name in ("usage", "usage_user", "usage_sys")))


def _own_group(root, controller):
    """Return the folder below `root` of the group that this process is in."""
    for line in procfs.read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return root / path.lstrip("/")
    return root


class GroupMeter:
    """Counts for a process tree, in a control group of its own."""

    def __init__(self, kind, pid):
        """Raises OSError where that is not possible."""
        self.kind, self.way = kind, kind.way
        self.parent = kind.parent()
        self.folder = self.parent / f"bench-{os.getpid()}-{pid}"
        self.folder.mkdir()
        try:
            kind.read(self.folder)
            # Twice: one may have forked while the first were moved.
            for one in procfs.tree(pid) + procfs.tree(pid):
                _move(one.pid, self.folder)
        except (OSError, KeyError, ValueError) as error:
            self.close()
            raise OSError(f"{self.way}: {error}") from error

    def read(self):
        """Return the Cpu used so far."""
        return self.kind.read(self.folder)

    def close(self):
        """Delete the group; who is still in it goes back to where it was."""
        until = time.monotonic() + 2
        while time.monotonic() < until:
            for pid in procfs.read(self.folder / "cgroup.procs").split():
                try:
                    _move(pid, self.parent)
                except OSError:
                    pass        # it has ended
            try:
                return self.folder.rmdir()
            except OSError:     # a task that ends is in it a little longer
                time.sleep(0.01)


def _move(pid, folder):
    """Put a process and all its threads into a group. Raises OSError."""
    try:
        (folder / "cgroup.procs").write_text(f"{pid}\n")
    except ProcessLookupError:
        pass                    # it has ended


class ProcMeter:
    """Counts for a process tree by what /proc tells of it."""

    way = "/proc"

    def __init__(self, pid):
        self.pid = pid

    def read(self):
        """Return the Cpu used so far."""
        user, system = procfs.cpu_time(procfs.tree(self.pid))
        return Cpu(user + system, user, system)

    def close(self):
        """There is nothing to delete."""


def open_meter(pid, kinds=(GroupV2, GroupV1)):
    """Return a meter for `pid` and all that descends from it, by the first of
    `kinds` that works here, else by /proc. close() it before `pid` is ended:
    a group that is in use cannot be deleted."""
    for kind in kinds:
        try:
            return GroupMeter(kind, pid)
        except OSError:
            continue
    return ProcMeter(pid)


@contextmanager
def of_tree(pid):
    """The same, as a block."""
    opened = open_meter(pid)
    try:
        yield opened
    finally:
        opened.close()
