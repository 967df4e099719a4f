"""Start a program on chosen cores, and know what it cost when it ended."""

import contextlib
import ctypes
import os
import resource
import select
import signal
import socket
import subprocess
from dataclasses import dataclass, replace

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_libc = ctypes.CDLL(None, use_errno=True)
_running = {}           # {pid: process} of those not waited for yet


@dataclass(frozen=True)
class Exit:
    """How a child ended."""

    code: int               # negative: the signal that ended it
    cpu: float              # seconds of it and of all children that it reaped
    early: bool = False     # before stop() asked it to end

    def __str__(self):
        """The name of the signal, or the exit code, in words."""
        return signal.Signals(-self.code).name if self.code < 0 else f"exit code {self.code}"


@contextlib.contextmanager
def uninterrupted():
    """Hold Ctrl-C back while a process starts or ends and is recorded; yields the signal mask
    from before.

    Another thread that does not block these signals gets them instead. Python then raises
    KeyboardInterrupt here all the same, and where that happens between fork() and exec() it is
    lost, with a lock of logging. So a thread that runs at the same time has to be started in here:
    it keeps the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(thread):
    """Start a threading.Thread that no signal reaches: Ctrl-C is for the main thread."""
    with uninterrupted():
        thread.start()


def end_on_signals():
    """Have SIGTERM and SIGHUP raise KeyboardInterrupt, as SIGINT does, but only the first of them:
    when a terminal is closed both come (scripts/guardian.c), and the second would cut short what
    undoes all. A program that we start has neither handler."""
    def end(*_):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def spawn(argv, cores, output, folder=None):
    """Start `argv` bound to `cores` (a set of numbers), in a session of its own, both outputs going
    to the open file `output`. It dies with us. Raises OSError when there is no such program."""
    with uninterrupted() as mask:
        def prepare():
            os.sched_setaffinity(0, cores)
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask - ENDING)

        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, cwd=folder, start_new_session=True, preexec_fn=prepare)
        _running[process.pid] = process
    return process


def wait(process, seconds):
    """Wait at most `seconds` for `process`; return its Exit, or None while it still runs."""
    ended = _reap(process)
    if ended or seconds <= 0:
        return ended
    # The descriptor of a process becomes readable when it ends: a single
    # wake-up, which does not disturb the load tool.
    with open(os.pidfd_open(process.pid), "rb", buffering=0) as descriptor:
        waiting = select.poll()     # select() knows 1,024 descriptors only
        waiting.register(descriptor, select.POLLIN)
        waiting.poll(1000 * seconds)
    return _reap(process)


def _reap(process):
    """Return the Exit of `process` if it has ended, else None."""
    with uninterrupted():
        if process.returncode is None:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not pid:
                return None
            process.returncode = os.waitstatus_to_exitcode(status)
            process.ended = Exit(process.returncode, usage.ru_utime + usage.ru_stime)
            del _running[pid]
    return process.ended


def stop(process, first=signal.SIGTERM, seconds=3.0):
    """End `process`: ask with the signal `first`, wait up to `seconds`, then kill what is left of
    its session. Return its Exit."""
    early = _reap(process)
    if not early:
        os.kill(process.pid, first)
        wait(process, seconds)
    kill_session(process.pid)
    return replace(wait(process, 60), early=bool(early))


def end_all():
    """End whatever was started and still runs."""
    for process in list(_running.values()):
        stop(process)


def adopt_orphans():
    """Become the parent of all that descend from us and lose theirs; reap_orphans() has to be
    called now and then."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans():
    """Wait for adopted children that have ended: as zombies they would look as if they ran. Those
    that spawn() started are left to wait()."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) \
                and ended.si_pid not in _running:
            os.waitpid(ended.si_pid, 0)


def kill_session(leader):
    """Kill what is left of the session that `leader` began."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def allow_descriptors():
    """Raise our limit of open descriptors to the hard one; return that."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def free_port():
    """Return a TCP port that is free now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
