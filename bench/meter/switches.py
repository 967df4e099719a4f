"""Context switches of a server, including threads and children that ended.

/proc shows the switches of living threads only. The kernel also keeps those of
threads that ended and of children that were reaped, but tells them only to the
parent: with wait4(2), which reports on a child that has stopped as well as on
one that has ended. So the idle server is stopped and continued once before the
load and once after it. That adds two switches to each of its threads.
"""

import os
import signal

from bench.meter import Column, Metric, procfs


def living(pid):
    """Return (voluntary, involuntary) switches of the living threads."""
    voluntary = involuntary = 0
    for thread in procfs.threads(pid):
        for line in procfs.read(
                f"/proc/{pid}/task/{thread}/status").splitlines():
            if line.startswith("voluntary_ctxt"):
                voluntary += int(line.split()[1])
            elif line.startswith("nonvoluntary_ctxt"):
                involuntary += int(line.split()[1])
    return voluntary, involuntary


def account(pid):
    """Return (voluntary, involuntary) switches of all threads that the child
    `pid` has had and of all children that it has reaped; None if it is not
    our child or has ended."""
    try:    # WNOWAIT: its exit status stays for the one who started it
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return None
    except ChildProcessError:
        return None
    os.kill(pid, signal.SIGSTOP)
    try:
        found = os.waitid(os.P_PID, pid,
                          os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        if found.si_code != os.CLD_STOPPED:
            return None
        usage = os.wait4(pid, os.WUNTRACED)[2]
        return usage.ru_nvcsw, usage.ru_nivcsw
    finally:
        os.kill(pid, signal.SIGCONT)


def of_tree(tree):
    """Return (voluntary, involuntary) switches of a [procfs.Process] whose
    first one is the root; None if the root cannot be asked. What is missing:
    threads and children that ended below a living child of the root."""
    root = account(tree[0].pid) if tree else None
    if root is None:
        return None
    counts = [root, *(living(one.pid) for one in tree[1:])]
    return tuple(map(sum, zip(*counts)))


class Switches(Metric):
    """Switches of the server's tree from the start of the load until the
    server is idle again."""

    columns = (
        Column("switches", "context switches", "/request", 2,
               "voluntary (it waited) and involuntary (its time was up)"),
        Column("switches_involuntary", "involuntary", "/request", 2,
               "the scheduler took the core away"),
    )

    def begin(self, watch):
        self.before = of_tree(watch.tree)

    def end(self, watch):
        self.after = of_tree(watch.tree)

    def finish(self, watch):
        if not (watch.answered and self.before and self.after):
            return {}
        voluntary, involuntary = (
            after - before for before, after in zip(self.before, self.after))
        return {"switches": (voluntary + involuntary) / watch.answered,
                "switches_involuntary": involuntary / watch.answered}
