"""Each loop runs under SCHED_BATCH."""

import os

from tools.kit.procfs import children


def check(server):
    assert set(map(os.sched_getscheduler, children(server.pid))) == {os.SCHED_BATCH}
