"""There is a leader for each core; it does not wait long for a silent client,
and when it is killed another worker leads."""

import os
import signal
import time

from tests.support.processes import children, system_calls, wait_for


def check(server):
    groups = min(4, len(os.sched_getaffinity(0)))
    # Followers, if there are any, are in futex(2).
    wait_for(lambda: sorted(system_calls(*children(server.pid)).values()) ==
             sorted(n for n in (groups, 4 - groups) if n),
             f"{groups} of 4 workers to be in accept", deadline=10)
    silent = [server.connect() for _ in range(3)]
    began = time.monotonic()
    assert server.request("/hello").status == 200
    assert time.monotonic() - began < 2
    for connection in silent:
        connection.close()
    for worker in children(server.pid):
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: worker not in children(server.pid), "its end")
        assert server.request("/hello").status == 200
