"""One worker waits in accept, the others for the lock, also when one dies."""

import os
import signal

from tests.support.processes import children, system_calls, wait_for


def check(server):
    def one_accepts():
        workers = children(server.pid)
        return sorted(system_calls(*workers).values()) == [1, 3]

    wait_for(one_accepts, "1 of 4 workers to be in accept", deadline=10)
    for worker in children(server.pid):     # one of them has the lock
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: worker not in children(server.pid), "its end")
        assert server.request("/hello").status == 200
    wait_for(one_accepts, "1 of 4 new workers to be in accept", deadline=10)
