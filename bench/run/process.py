"""Start a program on chosen cores, and know what it cost when it ended."""

import ctypes
import os
import select
import signal
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, replace

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_running = {}           # {pid: process} of those not waited for yet


@dataclass(frozen=True)
class Exit:
    """How a child ended. `usage` is wait4's account of the child and of all
    that it has waited for: CPU seconds and context switches."""

    code: int               # negative: the signal that ended it
    usage: object
    early: bool = False     # before stop() asked it to end

    @property
    def cpu(self):
        """User and system CPU seconds together."""
        return self.usage.ru_utime + self.usage.ru_stime

    def __str__(self):
        """The name of the signal, or the exit code, in words."""
        return (signal.Signals(-self.code).name if self.code < 0
                else f"exit code {self.code}")


@contextmanager
def uninterrupted():
    """Hold Ctrl-C back while a process comes or goes and is noted, so that
    none is forgotten; yields the signal mask from before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK,
                                    {signal.SIGINT, signal.SIGTERM})
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def spawn(argv, cores, output, folder=None):
    """Start `argv` bound to `cores` (a set of numbers), in a session of its
    own, both outputs going to the open file `output`. It dies with us.

    Raises OSError when there is no such program.
    """
    with uninterrupted() as mask:
        def prepare():
            os.sched_setaffinity(0, cores)
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, cwd=folder, start_new_session=True,
            preexec_fn=prepare)
        _running[process.pid] = process
    return process


def wait(process, seconds):
    """Wait at most `seconds` for `process`; return its Exit, or None while
    it still runs."""
    ended = _reap(process)
    if ended or seconds <= 0:
        return ended
    # A descriptor of a process is readable once it has ended: one wake-up,
    # no polling beside the load tool.
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        os.close(descriptor)
    return _reap(process)


def _reap(process):
    """Return the Exit of `process` if it has ended, else None."""
    with uninterrupted():
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if not pid:
            return None
        process.returncode = os.waitstatus_to_exitcode(status)
        del _running[pid]
    return Exit(process.returncode, usage)


def stop(process, first=signal.SIGTERM, seconds=3.0):
    """End `process`: ask with the signal `first`, after `seconds` kill the
    whole session. Return (Exit, clean): clean is False when it was killed,
    or had ended by itself.
    """
    if process.returncode is not None:
        raise ValueError("the process has been waited for already")
    ended = _reap(process)
    if ended:
        kill_session(process.pid)
        return replace(ended, early=True), False
    os.kill(process.pid, first)
    ended = wait(process, seconds)
    if ended:
        kill_session(process.pid)
        return ended, True
    kill_session(process.pid)
    return wait(process, 60), False


def end_all():
    """End whatever was started and still runs: Ctrl-C may come between any
    two lines."""
    for process in list(_running.values()):
        stop(process)


def kill_session(leader):
    """Kill what is left of the session that `leader` began."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def free_port():
    """Return a TCP port that nobody listens on at the moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
