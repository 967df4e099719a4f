"""What /proc shows of processes and of cores.

Times are in seconds, sizes in bytes. A process that ends while it is read is
left out; its CPU time is in its parent's `reaped`.
"""

import contextlib
import os
import re
import time
from collections import Counter
from dataclasses import dataclass

from tools.kit import wait

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """One process of a tree, as /proc/PID/stat shows it."""

    pid: int
    state: str
    used: float             # CPU seconds, those of ended threads included
    reaped: float           # CPU seconds of children that it waited for
    faults: int             # of its threads and of reaped children
    threads: int


def read(path):
    """Return the text of a small file, or "" where it cannot be read."""
    # A sample reads hundreds of them on the load tool's core, where a buffer and a decoder would
    # double the time. It fails also while it reads, when the process ends.
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def read_int(path, otherwise=0):
    """Return the number that a file begins with; `otherwise` without one."""
    found = re.match(r"\d+", read(path))
    return int(found[0]) if found else otherwise


def find(pattern, path):
    """Return what the first group of `pattern` matches in a file, "" where it does not. ^ and $
    are the ends of a line."""
    found = re.search(pattern, read(path), re.MULTILINE)
    return found[1] if found else ""


def process(pid):
    """Return the Process `pid`, or None when there is none."""
    text = read(f"/proc/{pid}/stat")
    if not text:
        return None
    # The name is in parentheses and may hold spaces: fields begin after it.
    field = text[text.rindex(")") + 2:].split()
    user, system, reaped_user, reaped_system = map(int, field[11:15])
    return Process(int(pid), field[0], (user + system) / TICKS,
                   (reaped_user + reaped_system) / TICKS,
                   sum(map(int, field[7:11])), int(field[17]))


def state(pid, thread=None):
    """Return the letter of proc(5) for a process or one of its threads: R, S, D, T, Z ...; "" if
    it has ended."""
    path = f"/proc/{pid}/task/{thread}/stat" if thread else f"/proc/{pid}/stat"
    return read(path).rpartition(")")[2][1:2]


def listed(folder):
    """Return the names in a folder of /proc, such as "/proc/7/fd"; [] if its process has ended."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def threads(pid):
    """Return the thread ids of a process in order, [] if it has ended; the first is the process
    id."""
    return sorted(map(int, listed(f"/proc/{pid}/task")))


def system_calls(pids):
    """Return {number: how many threads of these processes are in that system call}, the numbers as
    text; "-1" stands for a page fault, "running" for none."""
    paths = (f"/proc/{pid}/task/{thread}/syscall" for pid in pids for thread in threads(pid))
    return Counter(words[0] for words in (read(path).split() for path in paths) if words)


def children(pid, threads_of=threads):
    """Return the process ids of a process's children, zombies too: a child is listed with the
    thread that forked it."""
    found = []
    for thread in threads_of(pid):
        found += map(int, read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def tree(root):
    """Return the Process `root` and then all that descend from it; [] if it is not there."""
    found, queue = [], [root]
    while queue:
        one = process(queue.pop())
        if one:
            found.append(one)
            # Of more than 50 threads only the first is asked: asking all takes a sample too long.
            queue += children(one.pid, threads if 1 < one.threads <= 50 else lambda pid: [pid])
    return found


def settle(root):
    """Wait until processes and threads below `root` stay the same for 20 ms, half a second at
    most."""
    seen = [None]

    def is_same():
        seen.append([(one.pid, one.threads) for one in tree(root)])
        return seen[-1] == seen[-2]

    wait.until(is_same, 0.5, every=0.02)


def cpu_time(processes):
    """Return the CPU seconds of `processes` and of all children that they have reaped. Each process
    counts with the larger of two clocks, neither of which can be too large: ticks of 10 ms, which
    include ended threads, or the nanoseconds that schedstat counts for living ones."""
    return sum(one.reaped + max(one.used, 1e-9 * sum(
        read_int(f"/proc/{one.pid}/task/{thread}/schedstat") for thread in threads(one.pid)))
               for one in processes)


def proportional_memory(pid):
    """Return the PSS of `pid`: its own pages, and its share of those that it
    shares with others (after fork most pages are shared)."""
    return 1024 * int(find(r"^Pss: +(\d+)", f"/proc/{pid}/smaps_rollup") or 0)


def open_files(pid):
    """Return {descriptor: what it refers to} of a process, {} if it has ended."""
    found = {}
    for name in listed(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
    return found


def open_descriptors(pid):
    """Return how many descriptors `pid` has open."""
    return len(listed(f"/proc/{pid}/fd"))


def descriptor_limit(pid="self"):
    """Return the soft limit of open descriptors of `pid`."""
    return int(find(r"^Max open files +(\d+)", f"/proc/{pid}/limits") or 0)


def core_times():
    """Return {core: (user, system)}, the seconds since boot that each core worked for programs and
    for the kernel. They are samples, 100 to 1,000 a second: only their proportion counts."""
    return {core: (user + nice, system + irq + softirq)
            for core, (user, nice, system, _idle, _iowait, irq, softirq, _steal) in _stat().items()}


def stolen_times():
    """Return {core: the seconds since boot for which it had work and the hypervisor ran other
    machines}; 0 where the hypervisor does not tell."""
    return {core: times[-1] for core, times in _stat().items()}


def busy_times():
    """Return {core: the seconds that each core was not idle}, from any start. Interrupts count,
    and time that a hypervisor gave to others while there was work.

    Only idle time is measured with a clock (CONFIG_NO_HZ of the kernel). The others are samples,
    and work that keeps in step with them is always or never seen: a core that answers 20,000
    requests a second of httperf works for 21 % of the time, and they said 2 % and 71 %."""
    now = time.monotonic()
    return {core: now - (idle + iowait)
            for core, (_user, _nice, _system, idle, iowait, *_) in _stat().items()}


def program_times():
    """Return {core: the seconds that programs ran there}, from any start, up to the last context
    switch or tick. Only kernels with CONFIG_SCHEDSTATS or with version 1 of control groups tell;
    elsewhere these are busy_times(), with interrupts and the way into idle and out of it."""
    told = re.findall(r"^cpu(\d+) (?:\d+ ){6}(\d+)", read("/proc/schedstat"), re.M) \
        or enumerate(read("/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu").split())
    return {int(core): int(nanoseconds) / 1e9 for core, nanoseconds in told} or busy_times()


def _stat():
    """Return {core: the first eight times of /proc/stat, in seconds}."""
    return {int(core): [int(word) / TICKS for word in words.split()[:8]]
            for core, words in re.findall(r"^cpu(\d+) (.*)", read("/proc/stat"), re.M)}
