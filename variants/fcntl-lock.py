"""One worker waits in accept, the others for the lock, also when one dies."""

import os
import signal

from tools.kit.procfs import children


def check(server):
    def one_accepts():
        return server.calls() == [1, 3]

    server.wait_for(one_accepts, "1 of 4 workers to be in accept")
    for worker in children(server.pid):     # one of them has the lock
        os.kill(worker, signal.SIGKILL)
        server.wait_for(lambda: worker not in children(server.pid), "its end")
        assert server.request("/hello").status == 200
    server.wait_for(one_accepts, "1 of 4 new workers to be in accept")
