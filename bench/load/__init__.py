"""The load tools behind one interface.

    result = load.run("wrk", Job([url], connections=100, seconds=2), {1})
    result.rate, result.failed, result.p99, result.cpu ...

What a tool does not measure is None, never 0: when a tool ends without a
report, not even `good` is known. Each tool's `latency` says what its
percentiles mean.
"""

import math
import os
import shlex
import signal
import tempfile
import time
from dataclasses import replace

from bench.load.ab import Ab
from bench.load.base import Job, LoadError, Result, last_line
from bench.load.h2load import H2load
from bench.load.httperf import Httperf
from bench.load.openloop import OpenLoop
from bench.load.wrk import Wrk
from bench.meter import procfs, sockets
from bench.run import process as child

__all__ = ["Job", "LoadError", "Result", "TOOLS", "last_line", "missing",
           "run"]
TOOLS = {tool.name: tool
         for tool in (Ab(), Wrk(), H2load(), Httperf(), OpenLoop())}
UNKNOWN = Result(good=None, failed=None, timeouts=None, unfinished=None,
                 seconds=None)


def missing(name):
    """Return how to install the tool `name`, or "" if it is there."""
    return "" if TOOLS[name].path() else TOOLS[name].remedy


def run(name, job, cores, tick=None):
    """Run `job` with the tool `name` on `cores`; return the Result.

    `tick()` is called while it runs; it returns when it wants to be called again
    (seconds of time.monotonic). A tool that does not end in time is
    interrupted (it then reports what it has) or killed, and the Result says
    `hung`. Raises LoadError.
    """
    if missing(name):
        raise LoadError(f"{name} is not installed: {missing(name)}")
    with tempfile.TemporaryDirectory(prefix="bench-load-") as folder:
        parts = [_Part(TOOLS[name], share, cores, os.path.join(folder, str(n)))
                 for n, share in enumerate(_shares(job))]
        begun, own = time.monotonic(), time.process_time()
        try:
            hung, silent = _wait(parts, job, begun, tick)
        finally:
            for one in parts:
                if one.process.returncode is None:
                    one.end, _ = child.stop(one.process, signal.SIGKILL)
        wall = time.monotonic() - begun
        own = time.process_time() - own
        result = merge([one.result(hung) for one in parts])
    result.wall, result.own_cpu, result.hung = wall, own, hung
    if result.reported:
        result.unfinished = max(result.unfinished, silent)
    return result


def _shares(job):
    """Return a Job for each URL, with its share of the load."""
    many = len(job.urls)
    return [replace(job, urls=(url,),
                    connections=(job.connections + many - 1 - n) // many,
                    requests=job.requests
                    and (job.requests + many - 1 - n) // many)
            for n, url in enumerate(job.urls)]


class _Part:
    """One process of the tool, running."""

    def __init__(self, tool, job, cores, folder):
        os.mkdir(folder)
        self.tool, self.job, self.folder, self.end = tool, job, folder, None
        self.argv = tool.command(job, folder)
        self.log = os.path.join(folder, "output")
        with open(self.log, "wb") as output:
            self.process = child.spawn(self.argv, cores, output)

    def result(self, hung):
        """Return its Result. Raises LoadError."""
        text = procfs.read(self.log)
        try:
            result = self.tool.read(text, self.job, self.folder)
        except LoadError as error:
            if not hung:
                raise
            result = replace(UNKNOWN, notes=[str(error)])
        return replace(result, output=text, commands=[shlex.join(self.argv)],
                       cpu=self.end.cpu)


def _wait(parts, job, begun, tick):
    """Wait until all parts end; return whether they had to be stopped, and
    how many clients never got an answer.

    ab and wrk take whole seconds only. For a fraction they are interrupted,
    and report what they have measured so far.
    """
    cut = parts[0].tool.whole_seconds and not job.requests and job.seconds % 1
    interrupt = begun + (job.seconds if cut else job.deadline)
    kill = begun + job.deadline + 2
    look, silent = begun + _look_at(job), 0
    left = parts
    while True:
        now = time.monotonic()
        if now >= look:
            # A kept connection that has received nothing waits for its first
            # answer. Among new connections one is always on its way; it is
            # the client's first only if it is as old as the run.
            silent = sockets.silent_clients(
                job.port, (0.25 if job.keep_alive else 0.75) * (now - begun))
            look = math.inf
        due = min(interrupt, kill, look, tick() if tick else math.inf)
        # All end at about the same time: waiting for one is enough.
        left[0].end = child.wait(left[0].process, max(0.0, due - now))
        for one in left[1:]:
            one.end = child.wait(one.process, 0)
        left = [one for one in left if one.end is None]
        now = time.monotonic()
        if not left or now > kill:
            return bool(left) or interrupt == math.inf and not cut, silent
        if now > interrupt:
            interrupt = math.inf
            for one in left:
                os.kill(one.process.pid, signal.SIGINT)


def _look_at(job):
    """Return how many seconds after its start to count the clients that never
    got an answer, which closed loops do not tell: shortly before the end. It
    takes 7 ms, and 15 us a client, so a short run has no look."""
    if job.requests or job.rate or \
            job.seconds < 1.5 + 0.0002 * job.connections:
        return math.inf
    return job.seconds - 0.03 - 15e-6 * job.connections


def merge(results):
    """Return one Result for several processes of a closed loop that ran side
    by side.

    Counts add up, and are unknown when one of them is. The mean and the
    median are means weighted by the answers; the 99th percentile is the
    highest of all, an upper bound.
    """
    if len(results) == 1:
        return results[0]
    def total(name, empty=0):
        return sum((getattr(one, name) for one in results), empty)

    merged = replace(UNKNOWN, cpu=total("cpu"), notes=total("notes", []),
                     commands=total("commands", []),
                     output="".join(one.output for one in results))
    if not all(one.reported for one in results):
        return merged
    for name in ("good", "failed", "timeouts", "unfinished"):
        setattr(merged, name, total(name))
    merged.seconds = max(one.seconds for one in results)
    answered = [one for one in results if one.p99 is not None]
    for name in ("mean", "p50") if answered else ():
        setattr(merged, name, sum(getattr(one, name) * one.good
                                  for one in answered)
                / sum(one.good for one in answered))
    for name in ("p99", "max"):
        setattr(merged, name, max((getattr(one, name) for one in answered),
                                  default=None))
    return merged
