"""Programs that the tests start, and the promise that none outlives them.

Each program gets a session (setsid) of its own, so that it and all its
children can be found and ended together. Fixtures end what they started. When
the test run itself is killed no fixture runs, so a *guardian* stands by: a
process that reads from a pipe whose only writer is the test run. End of file
means that the run is gone, however it went, and the guardian ends, and
removes, what is left.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tools.kit import TOP, procfs, scratch, wait

# How long anything may take before a test gives up on it. It is no measure of
# speed: a sanitizer build on a busy machine is ten times slower than usual. Who
# hunts a bug that makes a server hang may set a shorter one.
DEADLINE = float(os.environ.get("TEST_DEADLINE", "60"))


def wait_for(condition, what, deadline=DEADLINE):
    """Poll `condition()` until it returns something true, and return that.

    `what` says what is being waited for; AssertionError after `deadline`
    seconds. For state that no event tells of: /proc, files, refused ports.
    """
    found = wait.until(condition, deadline, every=0.005)
    assert found, f"waited {deadline:g} s for {what}"
    return found


def expect_below(bound, measure):
    """Call `measure()` until it once returns less than `bound`.

    A crowded machine delays some of the calls. A server that is too slow is too slow in
    all of them, so that only then the test fails: AssertionError after DEADLINE seconds.
    What one call leaves behind must not help the next.
    """
    end, least = time.monotonic() + DEADLINE, float("inf")
    while least >= bound:
        assert time.monotonic() < end, f"{least:g} at best, not below {bound:g}"
        least = min(least, measure())


def seconds_of(action):
    """Return how long `action()` takes, in seconds."""
    began = time.monotonic()
    action()
    return time.monotonic() - began


def _session(pid):
    """Return the session of a process, None if the process is gone."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _lives(pid):
    """Return whether a process is there and no zombie."""
    return procfs.state(pid) not in ("", "X", "Z")


def session_members(session):
    """List the pids of a session that are alive; zombies are not.

    One system call for each process tells whether it is of the session; only those
    that are get read. Tests look hundreds of times a second.
    """
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if _session(pid) == session and _lives(pid)]


def _children(pid):
    """Return {child of `pid`: its state}, from a look at all processes: the list of children in
    /proc is incomplete while one of them ends (proc_pid_task_children(5))."""
    found = {}
    for child in filter(str.isdigit, os.listdir("/proc")):
        stat = procfs.read(f"/proc/{child}/stat").rpartition(")")[2].split()
        if stat and int(stat[1]) == pid:
            found[int(child)] = stat[0]
    return found


def children(pid):
    """List the living child processes of `pid`."""
    return [child for child, state in _children(pid).items() if state not in "XZ"]


def zombies(pid):
    """List the children of `pid` that ended and were not waited for."""
    return [child for child, state in _children(pid).items() if state == "Z"]


def freeze(pids):
    """Send SIGSTOP and wait until it has taken effect: at the end of the system call that a
    process is in, and accept(2) may take a client until then."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: all(procfs.state(pid) == "T" for pid in pids), "the processes to stop")


def kill_session(session):
    """End every process of a session, now."""
    for pid in session_members(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Guardian:
    """The process that tidies up if we cannot. Starts on first use.

    What it takes care of is a session (its number) or a temporary folder (its
    path).
    """

    def __init__(self):
        self._process = None

    def _tell(self, word, thing):
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.processes"], cwd=TOP,
                stdin=subprocess.PIPE, start_new_session=True)
            atexit.register(self._dismiss)
        self._process.stdin.write(f"{word} {thing}\n".encode())
        self._process.stdin.flush()

    def _dismiss(self):
        self._process.stdin.close()
        self._process.wait()

    def watch(self, thing):
        """Take it into care."""
        self._tell("watch", thing)

    def forget(self, thing):
        """It has gone in the ordinary way."""
        self._tell("forget", thing)


guardian = Guardian()


def spawn(command, **options):
    """Start a program in a session of its own, in the guardian's care.

    Takes what subprocess.Popen takes. End it with `end()`.
    """
    process = subprocess.Popen(command, start_new_session=True, **options)
    guardian.watch(process.pid)
    return process


def end(process):
    """Make sure that a spawned program and all its children are gone."""
    kill_session(process.pid)
    process.wait()
    guardian.forget(process.pid)


def make_folder(name):
    """Make a temporary folder that every user may look into.

    Remove it with `remove_folder()`.
    """
    folder = Path(scratch.make(name))
    guardian.watch(folder)
    folder.chmod(0o755)                 # for servers that gave up being root
    return folder


def remove_folder(folder):
    """Remove a folder and all that is in it, if it is there."""
    scratch.remove(str(folder))
    guardian.forget(folder)


def _stand_guard():
    watched = set()
    for line in sys.stdin:
        word, thing = line.rstrip("\n").split(" ", 1)
        if word == "watch":
            watched.add(thing)
        else:
            watched.discard(thing)
    for thing in sorted(watched, key=lambda thing: not thing.isdigit()):
        if thing.isdigit():             # first the programs,
            kill_session(int(thing))
        else:                           # then what they wrote
            shutil.rmtree(thing, ignore_errors=True)


if __name__ == "__main__":
    _stand_guard()
