"""Each loop runs under SCHED_BATCH."""

import os

from tests.support.processes import children


def check(server):
    assert {os.sched_getscheduler(pid) for pid in children(server.pid)} == \
        {os.SCHED_BATCH}
