"""Which system calls a request costs: counted in a pass of its own, never a
timed one.

perf counts in the kernel and follows future children and threads. strace
follows them too, but stops the server twice at every call. The first of them
that is installed and permitted is used.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from bench.meter import procfs
from bench.run import process as child

# The calls that perf counts one by one; others are counted as "other".
NAMES = """
    accept accept4 brk clock_nanosleep clone clone3 close connect epoll_ctl
    epoll_pwait epoll_pwait2 epoll_wait exit exit_group fcntl fork fstat futex
    getsockopt io_uring_enter ioctl lseek madvise mmap mprotect munmap
    newfstatat open openat openat2 poll ppoll pread64 pselect6 read readv
    recvfrom recvmsg rseq rt_sigaction rt_sigprocmask rt_sigreturn
    sched_yield select sendfile sendmsg sendto set_robust_list setsockopt
    shutdown socket statx vfork wait4 write writev""".split()
EVENT = "raw_syscalls:sys_enter"
MOST_COUNTERS = 8000    # that perf opens: each takes a descriptor
SECONDS = 20            # until a tool must have begun, or ended


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
        if re.search(rf"^[1-9]\d*,,{EVENT},", probe.stderr, re.MULTILINE):
            return ""
        return ("perf may not count system calls (needs root, or "
                "kernel.perf_event_paranoid = -1)")

    def attach(self, pids, cores, folder):
        """Begin to count the calls of `pids`; return the process of perf when
        it counts. Raises SyscallError."""
        tasks = sum(p.threads for p in map(procfs.process, pids) if p)
        room = min(MOST_COUNTERS, procfs.descriptor_limit() // 2)
        known = [n for n in NAMES if n in self.numbers]
        self.counted = known if tasks * (len(known) + 1) <= room else []
        events = ["-e", EVENT]
        for name in self.counted:
            events += ["-e", EVENT, "--filter", f"id=={self.numbers[name]}"]
        # Opened for both directions, so that neither open() waits for perf.
        for pipe in ("control", "ack"):
            os.mkfifo(folder / pipe)
        self.control = os.open(folder / "control", os.O_RDWR)
        self.ack = os.open(folder / "ack", os.O_RDWR | os.O_NONBLOCK)
        with open(folder / "log", "wb") as log:
            process = child.spawn(
                ["perf", "stat", "-x", ",", "-o", "out", "-D", "-1",
                 "--control", "fifo:control,ack", *events,
                 "-p", ",".join(map(str, pids))], cores, log, folder)
        self._tell(process, b"enable\n")
        return process

    def _tell(self, process, order):
        """Give an order and wait until perf has acknowledged it."""
        os.write(self.control, order)
        until = time.monotonic() + SECONDS
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
                child.stop(process, signal.SIGINT, SECONDS)
        # The total, then the calls in the order of the events.
        counts = re.findall(rf"^(\d+),,{EVENT},",
                            procfs.read(folder / "out"), re.MULTILINE)
        return dict(zip(("all", *self.counted), map(int, counts)))


class Strace:
    """`strace -f -c`; a subclass may have other options and parse()."""

    name = "strace"
    options = ("-c",)

    def problem(self):
        """Return why strace cannot be used, or ""."""
        return "" if shutil.which("strace") else \
            "strace is not installed (apt-get install strace)"

    def attach(self, pids, cores, folder):
        """Begin to count the calls of `pids`; return the process of strace
        when it counts. Raises SyscallError."""
        argv = ["strace", "-f", *self.options, "-o", "out"]
        for pid in pids:
            argv += ["-p", str(pid)]
        with open(folder / "log", "wb") as log:
            process = child.spawn(argv, cores, log, folder)
        until = time.monotonic() + SECONDS
        while (said := procfs.read(folder / "log")).count(
                " attached") < len(pids):
            if child.wait(process, 0.01) or time.monotonic() > until:
                raise SyscallError("strace: " + said.strip()[-200:])
        return process

    def detach(self, process, folder):
        """Stop counting; return {name: calls}, with "all" for the total."""
        child.stop(process, signal.SIGINT, SECONDS)
        return self.parse(procfs.read(folder / "out"))

    def parse(self, text):
        """Return {name: calls} from the table that -c prints."""
        row = r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$"
        counts = {name: int(calls) for calls, name
                  in re.findall(row, text, re.MULTILINE)}
        total = counts.pop("total", 0)
        return {**counts, "all": total}


def call_numbers():
    """Return {name: number} of this machine's system calls, as the C
    compiler knows them; {} without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return {}
    macros = subprocess.run([compiler, "-E", "-dM", "-"],
                            input="#include <sys/syscall.h>\n", text=True,
                            capture_output=True, check=False).stdout
    return {name: int(number) for name, number in re.findall(
        r"#define __NR_(\w+) (\d+)$", macros, re.MULTILINE)}


def counter():
    """Return the best tool there is. Raises SyscallError."""
    problems = []
    for tool in (Perf(), Strace()):
        problems.append(tool.problem())
        if not problems[-1]:
            return tool
    raise SyscallError("; ".join(problems))


def count(tool, live, cores, work):
    """Count the calls of the server `live` while `work()` runs.

    `work` returns how many requests were answered; the counter runs on
    `cores`. Returns {name: calls a request}, most frequent first, with the
    sum as "all". Raises SyscallError.
    """
    with tempfile.TemporaryDirectory(prefix="bench-calls-") as folder:
        pids = [p.pid for p in procfs.tree(live.pid)]
        process = tool.attach(pids, cores, Path(folder))
        try:
            requests = work()
        finally:
            counts = tool.detach(process, Path(folder))
    if not requests or not counts.get("all"):
        raise SyscallError("nothing was counted")
    known = sum(n for name, n in counts.items() if name != "all")
    if known:
        counts["other"] = max(0, counts["all"] - known)
    return {name: n / requests for name, n in
            sorted(counts.items(), key=lambda one: -one[1]) if n}
