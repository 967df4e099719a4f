"""A worker that dies is replaced, at whatever time it dies."""

import os
import re
import signal

from labs.grade.observe import Seen, Trace, alive, children, state, wait_until
from labs.grade.tasks import living

WORKERS = 3
# The parent goes on 2 s after such a call. A worker that dies in these 2 s dies
# between the parent's check and its wait.
SLOWLY = ("-q", "-e", "inject=rt_sigprocmask:delay_exit=2000000")
CALLS = "rt_sigprocmask,wait4,clone,clone3,fork,vfork"
# After a fork: it has asked for the children, and then changed its signal mask.
WORST = re.compile(r".*\b(?:fork|clone).*?\bwait4\(.*\n.*\brt_sigprocmask\(", re.DOTALL)


def test_every_dead_worker_is_replaced(fresh_server):
    server = fresh_server(["--workers", str(WORKERS)])
    if not wait_until(lambda: len(living(server.pid)) == WORKERS):
        raise Seen(f"{len(living(server.pid))} workers", str(WORKERS))
    first, second = living(server.pid)[:2]

    def is_bad_moment():
        said = "\n".join(trace.lines())
        return WORST.match(said) and said.rstrip().rpartition("\n")[2].count("rt_sigprocmask(")

    with Trace(server.pid, CALLS, SLOWLY) as trace:
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: is_bad_moment() or (
            first not in children(server.pid) and
            len(living(server.pid)) == WORKERS and state(server.pid) == "S"), 40)
        os.kill(second, signal.SIGKILL)
        if not wait_until(lambda: not alive(second)):
            raise Seen("a worker that survives SIGKILL", "a dead one")
        trace.detach()
    if not wait_until(lambda: len(living(server.pid)) == WORKERS, 10):
        raise Seen(f"{len(living(server.pid))} workers 10 s after one of "
                   f"{WORKERS} was killed", f"{WORKERS} again")
