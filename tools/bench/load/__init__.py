"""The load tools behind one interface.

    result = load.run("ab", Job(url, connections=100, seconds=2), {1})
    result.rate, result.failed, result.p99, result.cpu ...

What a tool does not measure is None, never 0. Each tool's `latency` says what its percentiles mean.
"""

import math
import os
import shlex
import signal
import time
from dataclasses import replace

from tools.bench.load.ab import Ab
from tools.bench.load.arrivals import Arrivals
from tools.bench.load.base import Job, LoadError, Result, last_line
from tools.bench.load.h2load import H2load
from tools.bench.load.httperf import Httperf
from tools.bench.load.openloop import OpenLoop
from tools.bench.load.wrk import Wrk
from tools.kit import process as child, procfs, scratch, sockets

__all__ = ["Job", "LoadError", "Result", "TOOLS", "last_line", "missing", "run"]
TOOLS = {tool.name: tool for tool in (Ab(), Wrk(), Httperf(), OpenLoop(), Arrivals(), H2load())}


def missing(name):
    """Return how to install the tool `name`, or "" if it is there."""
    return "" if TOOLS[name].path() else TOOLS[name].remedy


def run(name, job, cores, tick=None):
    """Run `job` with the tool `name` on `cores`; return the Result. `tick()` is called while it
    runs; it returns when it wants to be called again (seconds of time.monotonic). A tool that does
    not end in time is interrupted, then killed. Raises LoadError, also when it ends without a
    report."""
    tool = TOOLS[name]
    if missing(name):
        raise LoadError(f"{name} is not installed: {missing(name)}")
    with scratch.folder("load") as folder:
        argv, log = tool.command(job, folder), os.path.join(folder, "output")
        asked = time.monotonic()
        with open(log, "wb") as output:
            process = child.spawn(argv, cores, output)
            runs = time.monotonic()
        try:
            late, silent = _wait(process, tool, job, tick)
        finally:
            end = child.stop(process, signal.SIGKILL)
        wall = time.monotonic() - asked
        text = procfs.read(log)
        result = tool.read(text, job, folder)
    if late:
        result.notes.insert(0, f"{name} was told to end after {wall:.0f} s")
    if result.good >= 2 * job.connections:      # each client may have had an answer
        result.unfinished = max(result.unfinished, silent)
    return replace(result, output=text, command=shlex.join(argv),
                   cpu=end.cpu, wall=wall, began=runs)


def _wait(process, tool, job, tick):
    """Wait until the tool ends; return whether that took too long, and how many clients never
    received an answer. ab and wrk take whole seconds only. For a fraction they are
    interrupted, and report what they have measured so far."""
    begun = time.monotonic()
    cut = tool.whole_seconds and not job.requests and job.seconds % 1
    interrupt = begun + (job.seconds if cut else job.deadline)
    kill = begun + job.deadline + 2
    look, silent = begun + _look_at(job), 0
    while (now := time.monotonic()) < kill:
        if now >= look:
            # A kept connection that has received nothing waits for its first
            # answer. Among new connections one is always on its way; it is
            # the client's first only if it is as old as the run.
            silent = sockets.silent_clients(
                job.port, (0.25 if job.keep_alive else 0.75) * (now - begun))
            look = math.inf
        if now >= interrupt:
            interrupt = math.inf
            os.kill(process.pid, signal.SIGINT)
        due = min(interrupt, kill, look, tick() if tick else math.inf)
        if child.wait(process, max(0.0, due - now)):
            return interrupt == math.inf and not cut, silent
    return True, silent


def _look_at(job):
    """Return how many seconds after its start to count the clients that never
    received an answer, which closed loops do not tell: shortly before the
    end. It takes 7 ms, and 15 us a client, so a short run has no look."""
    if job.requests or job.rate or job.seconds < 1.5 + 0.0002 * job.connections:
        return math.inf
    return job.seconds - 0.03 - 15e-6 * job.connections
