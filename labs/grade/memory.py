"""How much memory the processes of a submission use together, in bytes."""

import contextlib
import os

from tools.kit import procfs


def used(pids, exactly=False):
    """Return the memory of processes, files in memory included, without files on a disk. Pages
    that n processes share count in each of them; `exactly`, which takes longer, 1/n in each."""
    return sum(map(_proportional if exactly else resident, pids)) + _files_in_memory(pids)


def free_share():
    """Return the share of the machine's memory that is free, 0 to 1."""
    available, total = (int(procfs.find(rf"^{name}: +(\d+)", "/proc/meminfo"))
                        for name in ("MemAvailable", "MemTotal"))
    return available / total


def descendants(pid):
    """Return the process ids of all that descend from a process, whichever thread forked them."""
    found, new = [], procfs.children(pid)
    while new:
        found += new
        new = [child for one in new for child in procfs.children(one)]
    return found


def _kilobytes(path, names):
    """Return the sum of the lines of `path` that begin with one of `names`, in bytes; None where
    the file cannot be read."""
    lines = procfs.read(path).splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines
                      if line.startswith(names)) if lines else None


def resident(pid):
    """Return the bytes of memory that a process uses, 0 when it has ended."""
    return _kilobytes(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:")) or 0


def _proportional(pid):
    """The same, where pages that n processes share count for 1/n in each."""
    found = _kilobytes(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:"))
    return resident(pid) if found is None else found


def _files_in_memory(pids):
    """Return the bytes in files of memfd_create(2) that processes have open. One that is
    mapped, too, counts twice."""
    sizes = {}
    for pid in pids:
        for number, what in procfs.open_files(pid).items():
            if what.startswith("/memfd:"):
                with contextlib.suppress(OSError):
                    file = os.stat(f"/proc/{pid}/fd/{number}")
                    sizes[file.st_dev, file.st_ino] = file.st_blocks * 512
    return sum(sizes.values())
