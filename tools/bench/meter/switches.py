"""Context switches of a server, including threads and children that ended.

/proc shows the switches of living threads only. The kernel also keeps those of threads that ended
and of children that were reaped, but tells them only to the parent: with wait4(2), which reports on
a child that has stopped as well as on one that has ended. So the idle server is stopped and
continued once before the load and once after it. That adds two switches to each of its threads.
"""

import os
import re
import signal

from tools.bench.meter import Metric
from tools.kit import procfs

LINES = re.compile(r"voluntary_ctxt_switches:\s+(\d+)")     # and nonvoluntary


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
    switches = account(tree[0].pid) if tree else None
    if switches is None:
        return None
    for one in tree[1:]:
        for thread in procfs.threads(one.pid):
            status = procfs.read(f"/proc/{one.pid}/task/{thread}/status")
            switches += sum(map(int, LINES.findall(status)))
    return switches


class Switches(Metric):
    """Switches of the server's tree from the start of the load until the server is idle again."""

    def begin(self, meter):
        self.before = of_tree(meter.tree)

    def end(self, meter):
        self.after = of_tree(meter.tree)

    def finish(self, meter):
        known = meter.answered and None not in (self.before, self.after)
        return {"switches": (self.after - self.before) / meter.answered if known else None}
