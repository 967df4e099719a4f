"""strace: on processes that run already, and on a program from its start. To follow one that
runs takes root, or kernel.yama.ptrace_scope = 0; to start one takes neither."""

import contextlib
import os
import shutil
import signal

from tools.kit import process, procfs, scratch, wait

SECONDS = 20            # until it must have begun, or ended
# What ends before strace comes, a child of 02, for example. Nobody can follow a zombie.
GONE = ("", "Z", "X")


class StraceError(Exception):
    """strace cannot follow these processes; the text says why."""


def missing():
    """Return why there is no strace, "" if it is here."""
    return "" if shutil.which("strace") else "strace is missing; scripts/deps.sh watch fetches it"


def words(options, output):
    """Return the words that go in front of the command of a program to trace it and all that it
    starts. Unlike following(), the system calls that `options` leave out cost nothing."""
    return ["strace", "-f", "--seccomp-bpf", *options, "-o", str(output)]


@contextlib.contextmanager
def following(pids, options, output, cores=None,
              until=lambda look, strace: wait.until(look, SECONDS, strace)):
    """Run strace with `options` on these processes until the block ends, on `cores`; what it
    says goes to the file `output`. Yields its process when it follows each of their threads.
    until(look, process) waits for that. Raises StraceError."""
    if missing():
        raise StraceError(missing())
    threads = [thread for pid in pids for thread in procfs.threads(pid)]
    with scratch.file("strace") as log:
        strace = process.spawn(["strace", *options, "-o", str(output),
                                "-p", ",".join(map(str, pids))],
                               cores or os.sched_getaffinity(0), log)

        def follows(thread):
            tracer = procfs.find(r"^TracerPid:\s*(\d+)", f"/proc/{thread}/status")
            return tracer in ("", str(strace.pid)) or procfs.state(thread) in GONE

        try:
            if not until(lambda: all(map(follows, threads)), strace) or process.wait(strace, 0):
                raise StraceError(f"strace: {procfs.read(log.name).strip()[-200:]}")
            yield strace
        finally:
            process.stop(strace, signal.SIGINT, SECONDS)
