"""Context switches of a server, including threads and children that ended.

/proc shows the switches of living threads only. The kernel also keeps those of
threads that ended and of children that were reaped, but tells them only to the
parent: with wait4(2), which reports on a child that has stopped as well as on
one that has ended. So the idle server is stopped and continued once before the
load and once after it. That adds two switches to each of its threads.
"""

import os
import re
import signal

from bench.meter import Metric, procfs

LINES = re.compile(r"voluntary_ctxt_switches:\s+(\d+)")     # and nonvoluntary


def living(pid):
    """Return the switches of the living threads of `pid`, voluntary (it
    waited) and involuntary (the scheduler took the core away)."""
    return sum(int(count) for thread in procfs.threads(pid)
               for count in LINES.findall(procfs.read(f"/proc/{pid}/task/{thread}/status")))


def account(pid):
    """Return the switches of all threads that our child `pid` has had and of all children that
    it has reaped; None if it has ended."""
    os.kill(pid, signal.SIGSTOP)
    try:
        # WNOWAIT: an exit status stays for the one who started it.
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        if found.si_code != os.CLD_STOPPED:
            return None
        usage = os.wait4(pid, os.WUNTRACED)[2]
        return usage.ru_nvcsw + usage.ru_nivcsw
    finally:
        os.kill(pid, signal.SIGCONT)


def of_tree(tree):
    """Return the switches of a [procfs.Process] whose first one is our child; None if it has
    ended. What is missing: threads and children that ended below a living child of it."""
    root = account(tree[0].pid) if tree else None
    return None if root is None else root + sum(living(one.pid) for one in tree[1:])


class Switches(Metric):
    """Switches of the server's tree from the start of the load until the server is idle again."""

    def begin(self, watch):
        self.before = of_tree(watch.tree)

    def end(self, watch):
        self.after = of_tree(watch.tree)

    def finish(self, watch):
        known = watch.answered and None not in (self.before, self.after)
        return {"switches": (self.after - self.before) / watch.answered if known else None}
