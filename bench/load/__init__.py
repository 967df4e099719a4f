"""The load tools behind one interface.

    result = load.run("ab", Job(url, connections=100, seconds=2), {1})
    result.rate, result.failed, result.p99, result.cpu ...

What a tool does not measure is None, never 0. Each tool's `latency` says what its
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
from bench.load.httperf import Httperf
from bench.load.openloop import OpenLoop
from bench.load.wrk import Wrk
from bench.meter import procfs, sockets
from bench.run import process as child

__all__ = ["Job", "LoadError", "Result", "TOOLS", "last_line", "missing", "run"]
TOOLS = {tool.name: tool for tool in (Ab(), Wrk(), Httperf(), OpenLoop())}
TURN = 0.06     # seconds, at least


def missing(name):
    """Return how to install the tool `name`, or "" if it is there."""
    return "" if TOOLS[name].path() else TOOLS[name].remedy


def split(name, job):
    """Return the closed loop `job` of the tool `name` with turns of TURN seconds, longer with
    many clients: each of them is to ask several times in a turn. There are none when it is too
    short for two, when it ends by a number of requests, or when the tool cannot be cut off."""
    many = int(job.seconds / max(TURN, job.connections / 2000))
    return job if job.requests or many < 2 or not TOOLS[name].whole_seconds else \
        replace(job, turn=job.seconds / many)


def run(name, job, cores, tick=None):
    """Run `job` with the tool `name` on `cores`; return the Result. `tick()` is called
    while it runs; it returns when it wants to be called again (seconds of time.monotonic).
    A tool that does not end in time is interrupted, and then killed. Raises LoadError, also
    when it ends without a report."""
    try:
        next(in_turns(name, replace(job, turn=0.0), cores, tick))
    except StopIteration as end:
        return end.value
    raise AssertionError("there are no turns without job.turn")


def in_turns(name, job, cores, tick=None, meter=None):
    """The same in turns of `job.turn` seconds: a generator whose value is the Result, and
    which yields after each turn but the last. The tool stands still until it is continued.

    The speed of a core may change several times a second. Servers that take turns all see
    the fast and the slow stretches. `meter.rest()` and `meter.go()` are called at the end and
    at the beginning of a rest. The tool's own clock runs on, so it tells no percentiles.
    """
    tool = TOOLS[name]
    if missing(name):
        raise LoadError(f"{name} is not installed: {missing(name)}")
    with tempfile.TemporaryDirectory(prefix="bench-load-") as folder:
        argv, log = tool.command(job, folder), os.path.join(folder, "output")
        begun = time.monotonic()
        with open(log, "wb") as output:
            process = child.spawn(argv, cores, output)
            began = time.monotonic()
        try:
            late, silent, rested = yield from _wait(process, tool, job, tick, meter)
        finally:
            end = child.stop(process, signal.SIGKILL)
        wall = time.monotonic() - begun
        text = procfs.read(log)
        result = tool.read(text, job, folder)
    if late:
        result.notes.insert(0, f"{name} was told to end after {wall:.0f} s")
    if result.good >= 2 * job.connections:      # each client may have had an answer
        result.unfinished = max(result.unfinished, silent)
    if rested and result.seconds:
        seconds = max(job.turn, result.seconds - rested)
        result = replace(result, seconds=seconds, p50=None, p99=None, max=None,
                         mean=result.mean and result.mean * seconds / result.seconds)
    return replace(result, output=text, command=shlex.join(argv),
                   cpu=end.cpu, wall=wall - rested, began=began)


def _wait(process, tool, job, tick, meter):
    """Wait until the tool ends; the value is whether that took too long, how many clients
    never received an answer, and how many seconds it rested. ab and wrk take whole seconds
    only. For a fraction they are interrupted, and report what they have measured so far."""
    begun, rested = time.monotonic(), 0.0
    cut = tool.whole_seconds and not job.requests and (job.turn or job.seconds % 1)
    interrupt = begun + (job.seconds if cut else job.deadline)
    kill = begun + job.deadline + 2
    look, silent = begun + _look_at(job), 0
    turn_ends = begun + (job.turn or math.inf)
    while (now := time.monotonic() - rested) < kill:
        # A SIGINT right after SIGCONT may go to a thread of wrk that does not wait for it.
        if turn_ends <= now < interrupt - job.turn / 2:
            os.kill(process.pid, signal.SIGSTOP)
            meter.rest()
            stopped = time.monotonic()
            yield
            rested += time.monotonic() - stopped
            meter.go()
            os.kill(process.pid, signal.SIGCONT)
            now = time.monotonic() - rested
            turn_ends = now + job.turn
        if now >= look:
            # A kept connection that has received nothing waits for its first
            # answer. Among new connections one is always on its way; it is
            # the client's first only if it is as old as the run.
            silent = sockets.silent_clients(
                job.port, (0.25 if job.keep_alive else 0.75) * (now - begun))
            look = math.inf
        if now >= interrupt:
            interrupt = turn_ends = math.inf
            os.kill(process.pid, signal.SIGINT)
        due = min(interrupt, kill, look, turn_ends,
                  tick() - rested if tick else math.inf)
        if child.wait(process, max(0.0, due - now)):
            return interrupt == math.inf and not cut, silent, rested
    return True, silent, rested


def _look_at(job):
    """Return how many seconds after its start to count the clients that never
    received an answer, which closed loops do not tell: shortly before the
    end. It takes 7 ms, and 15 us a client, so a short run has no look."""
    if job.requests or job.rate or job.seconds < 1.5 + 0.0002 * job.connections:
        return math.inf
    return job.seconds - 0.03 - 15e-6 * job.connections
