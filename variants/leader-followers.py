"""There is a leader for each core; it does not wait long for a silent client,
and when it is killed another worker leads."""

import os
import signal
import time

from tools.kit.procfs import children


def check(server):
    groups = min(4, len(os.sched_getaffinity(0)))
    # Followers, if there are any, are in futex(2).
    server.wait_for(lambda: server.calls() == sorted(n for n in (groups, 4 - groups) if n),
                    f"{groups} of 4 workers to be in accept")
    silent = [server.connect() for _ in range(3)]
    began = time.monotonic()
    assert server.request("/hello").status == 200
    assert time.monotonic() - began < 2
    for connection in silent:
        connection.close()
    for worker in children(server.pid):
        os.kill(worker, signal.SIGKILL)
        server.wait_for(lambda: worker not in children(server.pid), "its end")
        assert server.request("/hello").status == 200
