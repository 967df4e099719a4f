"""Which system calls a request costs: a pass of its own, never a timed one.

perf counts in the kernel and follows children and threads that are yet to
come; strace does so too, but stops the server twice at every call. What is
there and allowed is used, in this order.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from bench.run import process as child
from bench.meter import procfs

# The calls a web server lives on; what is not here is counted as "other".
NAMES = (
    "accept", "accept4", "recvfrom", "recvmsg", "read", "readv", "sendto",
    "sendmsg", "write", "writev", "sendfile", "close", "shutdown",
    "setsockopt", "getsockopt", "ioctl", "fcntl", "epoll_wait",
    "epoll_pwait", "epoll_pwait2", "epoll_ctl", "poll", "ppoll", "select",
    "pselect6", "open", "openat", "openat2", "newfstatat", "fstat", "statx",
    "pread64", "lseek", "connect", "socket", "clone", "clone3", "fork",
    "vfork", "wait4", "exit_group", "exit", "futex", "mmap", "munmap",
    "mprotect", "madvise", "brk", "rt_sigprocmask", "rt_sigaction",
    "rt_sigreturn", "sched_yield", "clock_nanosleep", "set_robust_list",
    "rseq", "io_uring_enter",
)
EVENT = "raw_syscalls:sys_enter"
MOST_COUNTERS = 8000        # of perf at once: each takes a descriptor


class SyscallError(Exception):
    """System calls cannot be counted here; the text says why."""


class Perf:
    """`perf stat` on the one tracepoint that every system call passes, once
    for the total and once with a filter for each call by its number."""

    name = "perf"

    def __init__(self):
        self.numbers = call_numbers()

    def problem(self):
        """Return why perf cannot be used, or ""."""
        if not shutil.which("perf"):
            return "perf is not installed (apt-get install linux-perf)"
        probe = subprocess.run(["perf", "stat", "-x", ",", "-e", EVENT,
                                "true"], capture_output=True, text=True,
                               check=False)
        if not re.search(rf"^[1-9]\d*,,{EVENT},", probe.stderr, re.MULTILINE):
            return ("perf may not count system calls (needs root, or "
                    "kernel.perf_event_paranoid = -1)")
        return ""

    def attach(self, pids, cores, folder):
        """Begin to count the calls of `pids`; return when it counts."""
        tasks = sum(p.threads for p in map(procfs.process, pids) if p)
        room = min(MOST_COUNTERS, procfs.descriptor_limit() // 2)
        known = [n for n in NAMES if n in self.numbers]
        self.counted = known if tasks * (len(known) + 1) <= room else []
        events = ["-e", EVENT]
        for name in self.counted:
            events += ["-e", EVENT, "--filter", f"id=={self.numbers[name]}"]
        for pipe in ("control", "ack"):
            os.mkfifo(os.path.join(folder, pipe))
        argv = ["perf", "stat", "-x", ",", "-o", "out", "-D", "-1",
                "--control", "fifo:control,ack", *events,
                "-p", ",".join(map(str, pids))]
        with open(os.path.join(folder, "log"), "wb") as log:
            process = child.spawn(argv, cores, log, folder)
        # Opened for both directions, so that neither open() waits for perf.
        self.control = os.open(os.path.join(folder, "control"), os.O_RDWR)
        self.ack = os.open(os.path.join(folder, "ack"),
                           os.O_RDWR | os.O_NONBLOCK)
        self._tell(process, b"enable\n")
        return process

    def _tell(self, process, order):
        """Give an order and wait until perf has acknowledged it."""
        os.write(self.control, order)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                if b"ack" in os.read(self.ack, 64):
                    return
            except BlockingIOError:
                if child.wait(process, 0.005):
                    break
        raise SyscallError("perf did not begin to count")

    def detach(self, process, folder):
        """Stop counting; return {name: calls}, with "all" for the total."""
        try:
            if process.returncode is None:
                self._tell(process, b"disable\n")
        finally:
            os.close(self.control)
            os.close(self.ack)
            if process.returncode is None:
                child.stop(process, signal.SIGINT, 20)
        return self.parse(procfs.read(os.path.join(folder, "out")))

    def parse(self, text):
        """Return {name: calls} from perf's CSV: the total, then the calls
        in the order in which they were asked for."""
        counts = re.findall(rf"^(\d+),,{EVENT},", text, re.MULTILINE)
        return dict(zip(("all", *self.counted), map(int, counts)))


class Strace:
    """`strace -f -c`."""

    name = "strace"
    options = ("-c",)

    def problem(self):
        """Return why strace cannot be used, or ""."""
        if not shutil.which("strace"):
            return "strace is not installed (apt-get install strace)"
        return ""

    def attach(self, pids, cores, folder):
        """Begin to count the calls of `pids`; return when it counts."""
        argv = ["strace", "-f", *self.options, "-o", "out"]
        for pid in pids:
            argv += ["-p", str(pid)]
        log_path = os.path.join(folder, "log")
        with open(log_path, "wb") as log:
            process = child.spawn(argv, cores, log, folder)
        until = time.monotonic() + 20
        while procfs.read(log_path).count(" attached") < len(pids):
            if child.wait(process, 0.01) or time.monotonic() > until:
                raise SyscallError("strace: "
                                   + procfs.read(log_path).strip()[-200:])
        return process

    def detach(self, process, folder):
        """Stop counting; return {name: calls}, with "all" for the total."""
        child.stop(process, signal.SIGINT, 20)
        return self.parse(procfs.read(os.path.join(folder, "out")))

    def parse(self, text):
        """Return {name: calls} from the table that -c prints."""
        counts = {}
        row = r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$"
        for calls, name in re.findall(row, text, re.MULTILINE):
            if name != "total":
                counts[name] = counts.get(name, 0) + int(calls)
        counts["all"] = sum(counts.values())
        return counts


def call_numbers():
    """Return {name: number} of this machine's system calls, as the C
    compiler knows them; {} without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return {}
    macros = subprocess.run([compiler, "-E", "-dM", "-"],
                            input="#include <sys/syscall.h>\n", text=True,
                            capture_output=True, check=False).stdout
    return {name: int(number) for name, number
            in re.findall(r"#define __NR_(\w+) (\d+)$", macros,
                          re.MULTILINE)}


def counter():
    """Return the best tool there is. Raises SyscallError."""
    problems = []
    for tool in (Perf(), Strace()):
        problem = tool.problem()
        if not problem:
            return tool
        problems.append(problem)
    raise SyscallError("; ".join(problems))


def count(tool, live, cores, work):
    """Count the calls of the server `live` while `work()` runs.

    `work` returns how many requests were answered; the counter runs on
    `cores`. Returns {name: calls a request}, most frequent first, with the
    sum as "all". Raises SyscallError.
    """
    with tempfile.TemporaryDirectory(prefix="bench-calls-") as folder:
        pids = [p.pid for p in procfs.tree(live.pid)]
        process = tool.attach(pids, cores, folder)
        try:
            requests = work()
        finally:
            counts = tool.detach(process, folder)
    if not requests or not counts.get("all"):
        raise SyscallError("nothing was counted")
    known = sum(n for name, n in counts.items() if name != "all")
    if known:
        counts["other"] = max(0, counts["all"] - known)
    each = sorted(counts.items(), key=lambda one: -one[1])
    return {name: n / requests for name, n in each if n}
