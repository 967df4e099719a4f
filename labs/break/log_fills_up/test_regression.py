"""Workers that die right after their start do not keep the machine busy."""

import contextlib
import os
import signal

from labs.grade.observe import Seen, alive, children, wait_until

SECONDS = 6
MOST = 20       # new workers in that time; one a second makes 7


def test_dying_workers_are_replaced_slowly(fresh_server):
    server = fresh_server(["--workers", "1"])
    seen = set()

    def too_many():
        for pid in children(server.pid):
            seen.add(pid)
            if alive(pid):      # as a worker that crashes immediately
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return len(seen) > MOST

    if wait_until(too_many, SECONDS):
        raise Seen(f"more than {MOST} workers started within {SECONDS} s, each "
                   "after the last one died", "a pause before each restart")
    if len(seen) < 2:
        raise Seen("a dead worker was not replaced", "another worker")
