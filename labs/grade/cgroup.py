"""A control group for a submission: the kernel counts all memory of its processes, also what
they share, what waits in their sockets, and files in memory (cgroups(7)).

Possible where the grader may make a group below its own (version 1, mostly as root) or next to
it (version 2, where the memory controller is delegated to the user). make() tells.
"""

import contextlib
import itertools
import os
import re
from pathlib import Path

from tools.kit import scratch, wait

PREFIX = "zerohttpd-grade-"
TCP_PART = 4            # version 1: TCP may use this part of the limit, on top of it
_numbers = itertools.count(1)


class Group:
    """A control group; `limit` is in bytes. Raises OSError where it cannot be made."""

    def __init__(self, folder, limits):
        self.folder = folder
        # What a killed grader has left. A group with processes is not removed.
        scratch.sweep(folder.parent, PREFIX, os.rmdir)
        self._held = None
        while self._held is None:
            folder.mkdir()
            self._held = scratch.hold(folder)
        try:
            for name, value, needed in limits:
                if needed or (folder / name).exists():
                    (folder / name).write_text(str(value))
        except OSError:
            self.remove()
            raise

    def add(self, pid):
        """Move a process into it; what that starts will be in it, too."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def is_over(self):
        """Return whether its processes wanted more than they may have: the kernel has killed
        one of them for that."""
        for name in ("memory.events", "memory.oom_control"):    # of version 2 and 1
            with contextlib.suppress(OSError):
                found = re.search(r"^oom_kill (\d+)", (self.folder / name).read_text(), re.M)
                return bool(found and int(found[1]))
        return False

    def remove(self):
        """Remove it. Its processes have ended, which the kernel may see some milliseconds later."""
        def is_gone():
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            return not self.folder.exists()

        wait.until(is_gone, 5)
        os.close(self._held)


def make(limit):
    """Return a new Group whose processes may use `limit` bytes together, or None where that
    is not possible."""
    name = f"{PREFIX}{os.getpid()}-{next(_numbers)}"
    for kind, folder in _ours():
        with contextlib.suppress(OSError):
            if kind == "cgroup":
                return Group(folder / name, [
                    ("memory.limit_in_bytes", limit, True),
                    ("memory.memsw.limit_in_bytes", limit, False),
                    ("memory.kmem.tcp.limit_in_bytes", limit // TCP_PART, False)])
            if "memory" in (folder.parent / "cgroup.subtree_control").read_text().split():
                return Group(folder.parent / name, [
                    ("memory.max", limit, True), ("memory.swap.max", 0, False),
                    ("memory.oom.group", 1, False)])
    return None


def _ours():
    """Yield (version's file system, folder) of each group with memory that we are in."""
    groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        for _, controllers, path in groups:
            if path.startswith(root) and (
                    kind == "cgroup2" and not controllers
                    or kind == "cgroup" and "memory" in controllers.split(",")
                    and "memory" in options.split(",")):
                yield kind, Path(point, os.path.relpath(path, root))
