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
from tools.bench.load.h2load import H2load, H2loadRate
from tools.bench.load.httperf import Httperf
from tools.bench.load.oha import Oha
from tools.bench.load.wrk import Wrk
from tools.kit import process as child, procfs, scratch, sockets

__all__ = ["Job", "LoadError", "Result", "TOOLS", "demanded", "last_line", "missing", "run"]
OFTEN = 0.05            # seconds between two checks whether all connections are open
STILL = 0.5             # seconds after which an accept queue that gets no shorter counts as stuck
TOOLS = {tool.name: tool for tool in (
    Ab(), Wrk(), Httperf(), Oha(), Arrivals(), H2load(), H2loadRate())}


def missing(name):
    """Return how to install the tool `name`, or "" if it is there."""
    return "" if TOOLS[name].path() else TOOLS[name].remedy


def demanded(url, rate, seconds, keep_alive, **more):
    """Return the Job of an open loop: `rate` requests a second for `seconds`. Each has a connection
    of its own, or a few share them."""
    return Job(url, connections=round(seconds * rate), seconds=seconds, rate=rate,
               keep_alive=keep_alive, **more)


def run(name, job, cores, tick=None):
    """Run `job` with the tool `name` on `cores`; return the Result. `tick()` is called while it
    runs; it returns when it wants to be called again (seconds of time.monotonic). A tool that does
    not end in time is interrupted, then killed. If connections take longer to open than
    job.opening, the load lasts that much longer, at most until job.deadline. Raises LoadError, also
    when it ends without a report."""
    tool = TOOLS[name]
    if missing(name):
        raise LoadError(f"{name} is not installed: {missing(name)}")
    with scratch.folder("load") as folder:
        connections, told = None, job
        if job.opening and _cut(tool, job):
            connections = _Opening(tool, job)
            told = replace(job, seconds=math.ceil(job.deadline))
        argv, log = tool.command(told, folder), os.path.join(folder, "output")
        asked = time.monotonic()
        with open(log, "wb") as output:
            process = child.spawn(argv, cores, output)
            runs = time.monotonic()
        sending = _Sending(job if tool.hides_lag else None, runs)
        try:
            late, silent = _wait(process, tool, job, tick, connections, sending)
        finally:
            end = child.stop(process, signal.SIGKILL)
        wall = time.monotonic() - asked
        text = procfs.read(log)
        result = tool.read(text, job, folder)
    sending.judge(tool, job, result)
    if late:
        result.notes.insert(0, f"{name} was told to end after {wall:.0f} s")
    if result.good >= 2 * job.connections:      # each client may have had an answer
        result.unfinished = max(result.unfinished, silent)
    return replace(result, output=text, command=shlex.join(argv), opens=tool.opens(job),
                   cpu=end.cpu, wall=wall, began=runs)


def _cut(tool, job):
    """Return whether the tool is interrupted when the time of the job is over, and reports what it
    has measured so far. ab and wrk take whole seconds only, and do not know when all of their
    connections are open."""
    return tool.whole_seconds and not job.requests and (job.opening or job.seconds % 1)


class _Opening:
    """Tells whether all connections of a job are open. Make it before the tool is started.

    A count of the kernel says when that can be at the earliest. Other programs connect, too, such
    as another load tool of the same host, so then the sockets of the tool itself are counted: this
    takes up to 10 us for each, which is too much for every look."""

    def __init__(self, tool, job):
        self.port, self.opens = job.port, tool.opens(job)
        self.wanted = _connects() + self.opens
        self.all = False
        self.fewest, self.since = math.inf, 0.0

    def done(self, pid, now):
        """Return whether the tool, process `pid`, has connected them all and none waits to be
        accepted, or the accept queue has got no shorter for STILL seconds; `now` is the time."""
        if not self.all and (begun := _connects()) >= self.wanted:
            lacking = self.opens - _sockets(pid)
            self.all, self.wanted = lacking <= 0, begun + lacking
        if not self.all:
            return False
        waiting = sockets.accept_queue(self.port)[0]
        if waiting < self.fewest:
            self.fewest, self.since = waiting, now
        return not waiting or now - self.since >= STILL


class _Sending:
    """Tells how many connections a second a tool begins, for one that does not say when it sent
    what: two counts of the kernel, shortly after its begin and shortly before its end. With None
    for the job it does not count, nor where a single connection would matter. Other programs of
    this network namespace that connect are counted, too, so what it tells may be too much."""

    FROM, TO = 0.3, 0.9     # the share of the time planned for sending
    LEAST = 300             # connections between the two
    LONGEST = 0.0005        # seconds that a count may take: else another program ran in between,
    AGAIN = 0.005           # and it counts again after this time

    def __init__(self, job, begun):
        planned = job.connections / job.rate if job else 0.0
        enough = job and job.connections * (self.TO - self.FROM) >= self.LEAST
        self.looks = [begun + share * planned for share in (self.FROM, self.TO)] if enough else []
        self.seen = []

    @property
    def due(self):
        """When (time.monotonic) to look next."""
        return self.looks[0] if self.looks else math.inf

    def look(self):
        """Count, if it is time."""
        if time.monotonic() >= self.due:
            before, count = time.monotonic(), _connects()
            if (now := time.monotonic()) - before < self.LONGEST:
                self.seen.append((before, count))
                self.looks.pop(0)
            else:
                self.looks[0] = now + self.AGAIN

    def judge(self, tool, job, result):
        """Correct the rate that the tool sent at in its Result, if it was lower than it says."""
        if len(self.seen) == 2:
            (begun, before), (ended, after) = self.seen
            lasts = job.connections / max(1e-9, (after - before) / (ended - begun))
            if result.sent_rate and job.asked / lasts < result.sent_rate:
                tool.paced(result, job, job.asked, lasts)


def _connects():
    """Return how many connections have been begun in this network namespace so far."""
    return sockets.counters()["ActiveOpens"]


def _sockets(pid):
    """Return how many sockets a process has. A load tool connects each as soon as it has it."""
    return sum(what.startswith("socket:") for what in procfs.open_files(pid).values())


def _wait(process, tool, job, tick, connections, sending):
    """Wait until the tool ends; return whether that took too long, and how many clients never
    received an answer. `connections` is the _Opening, None where they need not all be open;
    `sending` is the _Sending."""
    begun = time.monotonic()
    cut = _cut(tool, job)
    interrupt = begun + (job.seconds if cut else job.deadline)
    opening = begun + job.opening if connections else math.inf
    kill = begun + job.deadline + 2
    look, silent = begun + _look_at(job), 0
    while (now := time.monotonic()) < kill:
        if now >= opening:
            opening = math.inf
            if interrupt < math.inf and not connections.done(process.pid, now):
                opening = now + OFTEN
                later = min(opening + job.seconds - job.opening, begun + job.deadline) - interrupt
                interrupt, look = interrupt + later, look + later
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
        sending.look()
        due = min(interrupt, opening, kill, look, sending.due, tick() if tick else math.inf)
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
