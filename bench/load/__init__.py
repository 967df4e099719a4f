"""The load tools: ab, wrk, h2load and httperf behind one interface.

    result = load.run("wrk", Job([url], connections=100, seconds=2), {1})
    result.rate, result.failed, result.p99, result.cpu ...

A tool is a class with `command` and `parse`. What a tool does not measure is
None, never 0: of one that ended without a report not even `good` is known.
"""

import math
import os
import re
import shlex
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field, replace

from bench.run import process as child
from bench.meter import procfs, sockets


class LoadError(Exception):
    """The tool is missing, or what it printed makes no sense."""


@dataclass(frozen=True)
class Job:
    """What a tool shall do. One process of the tool runs for each URL and
    gets its share of `connections` and `requests`."""

    urls: tuple
    connections: int = 1        # at once; httperf: in all
    seconds: float = 1.0        # how long; an upper bound with `requests`
    requests: int = None        # end after so many (ab, h2load)
    rate: float = None          # new connections a second (httperf)
    calls: int = 1              # requests on each connection (httperf)
    keep_alive: bool = True
    threads: int = 1            # of the tool (wrk, h2load)
    timeout: float = 5.0        # seconds a client waits (httperf)
    script: str = None          # a Lua file (wrk)

    @property
    def port(self):
        """The server's port."""
        return int(re.search(r":(\d+)/", self.urls[0]).group(1))

    @property
    def deadline(self):
        """Seconds after which the tool is taken to hang."""
        waits = self.timeout if self.rate else 0
        return self.seconds + waits + 5 + self.connections / 2000


@dataclass
class Result:
    """What one run of a tool found. Times of an answer in milliseconds.

    All four counts are None when the tool left no report; `unfinished` alone
    is None when neither the tool nor the kernel tells.
    """

    good: int = 0               # requests answered as they should be
    failed: int = 0             # errors, resets, refusals, wrong status
    timeouts: int = 0           # of the failed: the client gave up waiting
    unfinished: int = 0         # asked for, but no answer when the tool ended
    seconds: float = 0.0
    mean: float = None
    p50: float = None
    p99: float = None
    max: float = None
    cpu: float = 0.0            # seconds the tool used
    own_cpu: float = 0.0        # seconds this program used beside it
    wall: float = 0.0           # seconds the tool lived
    hung: bool = False          # it had to be told to end
    notes: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    output: str = ""

    @property
    def reported(self):
        """Whether the tool left a report."""
        return self.good is not None

    @property
    def rate(self):
        """Good answers a second; None without a report."""
        if not self.reported:
            return None
        return self.good / self.seconds if self.seconds else 0.0

    @property
    def failed_percent(self):
        """Failed and unfinished ones among all that was asked for. What is
        not known of them is left out; None when none is known to be lost
        and some may be."""
        lost = (self.failed or 0) + (self.unfinished or 0)
        if not lost and None in (self.failed, self.unfinished):
            return None
        asked = self.good + lost
        return 100.0 * lost / asked if asked else 100.0


def number(pattern, text, otherwise=None, convert=float):
    """Return the first group of `pattern` in `text` as a number."""
    found = re.search(pattern, text, re.MULTILINE)
    return convert(found.group(1)) if found else otherwise


class Ab:
    """ApacheBench: a closed loop, one thread, a new connection a request."""

    name = "ab"
    package = "apache2-utils"
    busy_waits = False
    whole_seconds = True

    def command(self, job, folder):
        """Return argv. -r goes on after a failed connection, -l accepts
        pages of different length, -e writes percentiles of 1 us."""
        requests = job.requests or 10_000_000
        argv = ["ab", "-q", "-l", "-r", "-s", "120",
                "-t", str(math.ceil(job.seconds)), "-n", str(requests),
                "-c", str(job.connections),
                "-e", os.path.join(folder, "percentiles.csv")]
        return argv + (["-k"] if job.keep_alive else []) + [job.urls[0]]

    def parse(self, text, job, folder):
        """Return the Result that ab's report holds."""
        seconds = number(r"^Time taken for tests:\s+([\d.]+)", text)
        done = number(r"^Complete requests:\s+(\d+)", text, 0, int)
        if seconds is None:
            if not re.search(r"^Total of|\bapr_", text, re.MULTILINE):
                raise LoadError("no report from ab: " + last_line(text))
            done = number(r"^Total of (\d+) requests", text, 0, int)
            asked = job.requests or done + job.connections
            return Result(good=done, unfinished=asked - done,
                          seconds=job.seconds,
                          notes=["ab gave up: " + last_line(text)])
        kinds = re.search(r"\(Connect: (\d+), Receive: (\d+), "
                          r"Length: (\d+), Exceptions: (\d+)\)", text)
        connect, receive, length, exceptions = (
            map(int, kinds.groups()) if kinds else (0, 0, 0, 0))
        # A refused connection counts as an exception and as a failed
        # receive: the larger of the two is the number of requests.
        failed = connect + length + max(receive, exceptions)
        failed += number(r"^Non-2xx responses:\s+(\d+)", text, 0, int)
        failed = min(failed, done)
        result = Result(good=done - failed, failed=failed, seconds=seconds)
        result.unfinished = max(0, (job.requests or job.connections) - done)
        self._latency(result, os.path.join(folder, "percentiles.csv"))
        return result

    def _latency(self, result, path):
        """Take the percentiles from the file that -e wrote."""
        rows = [line.split(",") for line in procfs.read(path).splitlines()[1:]]
        times = {int(percent): float(ms) for percent, ms in rows}
        if times and result.good:
            result.p50, result.p99 = times.get(50), times.get(99)
            result.max = times.get(100)


class Wrk:
    """wrk: a closed loop over epoll, keep-alive unless told otherwise."""

    name = package = "wrk"
    busy_waits = False
    whole_seconds = True
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}

    def command(self, job, folder):
        """Return argv; of a fraction of a second the rest is cut off. The
        latency of what took longer than the time-out, 2 s by default, would
        be dropped: here none can be that long."""
        seconds = math.ceil(job.seconds)
        argv = ["wrk", "-t", str(min(job.threads, job.connections)),
                "-c", str(job.connections), "-d", f"{seconds}s",
                "--timeout", f"{seconds + 1}s", "--latency"]
        if not job.keep_alive:
            argv += ["-H", "Connection: close"]
        if job.script:
            argv += ["-s", job.script]
        return argv + [job.urls[0]]

    def parse(self, text, job, folder):
        """Return the Result that wrk's report holds."""
        found = re.search(r"^\s*(\d+) requests in ([\d.]+)(\w+),", text,
                          re.MULTILINE)
        if not found:
            if "unable to connect" in text:
                return Result(failed=job.connections, seconds=job.seconds,
                              notes=[last_line(text)])
            raise LoadError("no report from wrk: " + last_line(text))
        done = int(found.group(1))
        seconds = float(found.group(2)) * self.units[found.group(3)] / 1e3
        errors = re.search(r"Socket errors: connect (\d+), read (\d+), "
                           r"write (\d+), timeout (\d+)", text)
        connect, receive, send, late = (
            map(int, errors.groups()) if errors else (0, 0, 0, 0))
        wrong = number(r"Non-2xx or 3xx responses: (\d+)", text, 0, int)
        result = Result(good=max(0, done - wrong),
                        failed=connect + receive + send + wrong,
                        timeouts=late, seconds=seconds)
        if late:
            # These were answered in the end, but after wrk's time-out.
            result.good = max(0, result.good - late)
            result.failed += late
        result.unfinished = max(0, job.connections - result.good
                                - result.failed)
        if result.good:
            result.p50 = self._time(r"^\s+50%\s+(\S+)", text)
            result.p99 = self._time(r"^\s+99%\s+(\S+)", text)
            row = re.search(r"^\s+Latency\s+(\S+)\s+\S+\s+(\S+)", text,
                            re.MULTILINE)
            result.mean, result.max = map(self._milliseconds, row.groups())
        return result

    def _time(self, pattern, text):
        return self._milliseconds(re.search(pattern, text,
                                            re.MULTILINE).group(1))

    def _milliseconds(self, word):
        value, unit = re.fullmatch(r"([\d.]+)(\w+)", word).groups()
        return float(value) * self.units[unit]


class H2load:
    """h2load --h1: stands in for weighttp. It keeps its connections."""

    name = "h2load"
    package = "nghttp2-client"
    busy_waits = False
    whole_seconds = False

    def command(self, job, folder):
        """Return argv: a number of requests, or a time."""
        if not job.keep_alive:
            raise LoadError("h2load cannot open a new connection for each "
                            "request; use TOOL=wrk")
        much = (["-n", str(job.requests)] if job.requests
                else ["-D", f"{int(job.seconds * 1000)}ms"])
        return ["h2load", "--h1", *much, "-c", str(job.connections),
                "-t", str(min(job.threads, job.connections)), job.urls[0]]

    def parse(self, text, job, folder):
        """Return the Result that h2load's report holds."""
        seconds = re.search(r"^finished in ([\d.]+)(\w+),", text,
                            re.MULTILINE)
        counts = re.search(r"requests: (\d+) total, (\d+) started, "
                           r"(\d+) done, (\d+) succeeded, (\d+) failed, "
                           r"(\d+) errored, (\d+) timeout", text)
        if not seconds or not counts:
            raise LoadError("no report from h2load: " + last_line(text))
        total, _, done, good, failed, _, late = map(int, counts.groups())
        # Those never started and those without an answer count as failed
        # with h2load; told apart here by what was done.
        broken = min(failed, max(0, done - good) + late)
        result = Result(good=good, failed=broken, timeouts=late,
                        unfinished=max(0, total - good - broken),
                        seconds=float(seconds.group(1))
                        * Wrk.units[seconds.group(2)] / 1e3)
        row = re.search(r"^time for request:\s+(\S+)\s+(\S+)\s+(\S+)", text,
                        re.MULTILINE)
        if row and done:
            _, result.max, result.mean = map(Wrk()._milliseconds,
                                             row.groups())
        return result


class Httperf:
    """httperf: an open loop; a new connection every 1/rate seconds."""

    name = package = "httperf"
    busy_waits = True
    whole_seconds = False
    # It waits in select(), which knows no descriptor above 1023.
    descriptors = 1024

    def command(self, job, folder):
        """Return argv."""
        address = re.fullmatch(r"http://([^:/]+):(\d+)(/.*)", job.urls[0])
        host, port, path = address.groups()
        # Not --hog: with it httperf binds each client's port itself, and hangs
        # when all of them rest in TIME_WAIT, as after some dozen runs. The
        # kernel, asked by connect(2) alone, takes such a port again
        # (tcp_tw_reuse).
        return ["httperf", "--server", host, "--port", port,
                "--uri", path, "--num-conns", str(job.connections),
                "--num-calls", str(job.calls), "--rate", f"{job.rate:g}",
                "--timeout", f"{job.timeout:g}"]

    def parse(self, text, job, folder):
        """Return the Result that httperf's report holds."""
        total = re.search(r"Total: connections (\d+) requests (\d+) "
                          r"replies (\d+) test-duration ([\d.]+) s", text)
        errors = dict(re.findall(r"([\w-]+) (\d+)",
                                 "".join(re.findall(r"^Errors: (.*)$", text,
                                                    re.MULTILINE))))
        if not total or not errors:
            raise LoadError("no report from httperf: " + last_line(text))
        replies = int(total.group(3))
        status = {int(k): int(v)
                  for k, v in re.findall(r"(\d)xx=(\d+)", text)}
        good = status.get(2, 0) + status.get(3, 0)
        errors = {name: int(count) for name, count in errors.items()}
        # A connection that breaks fails the call it is at; the rest of its
        # calls is not made.
        lost = max(0, job.connections * job.calls - replies)
        broken = min(lost, errors["total"])
        result = Result(good=good, failed=replies - good + broken,
                        unfinished=lost - broken)
        result.timeouts = min(broken, errors["client-timo"]
                              + errors["socket-timo"])
        result.seconds = self._answering(text, job, float(total.group(4)),
                                         result.timeouts)
        told = [f"{count} {name}" for name, count in errors.items()
                if count and name != "total"]
        if told:
            result.notes.append("connections with errors: " + ", ".join(told))
        if replies:
            result.mean = number(r"^Reply time \[ms\]: response ([\d.]+)",
                                 text)
        return result

    @staticmethod
    def _answering(text, job, duration, timeouts):
        """Return how many of the test's seconds `duration` were not spent on
        waiting for time-outs alone.

        The last answer came to a connection that began within the demanded
        time and lived as long as others (few live two standard deviations
        longer than the mean), or to one that then waited for its time-out.
        """
        lives = re.search(r"^Connection time \[ms\]: min \S+ avg (\S+) "
                          r"max (\S+) median \S+ stddev (\S+)", text,
                          re.MULTILINE)
        if not timeouts or not lives:
            return duration
        mean, longest, deviation = map(float, lives.groups())
        usual = min(longest, mean + 2 * deviation) / 1e3
        return min(duration, max(job.connections / job.rate + usual,
                                 duration - job.timeout))


TOOLS = {tool.name: tool for tool in (Ab(), Wrk(), H2load(), Httperf())}


def last_line(text):
    """Return the last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "(nothing was printed)"


def missing(name):
    """Return what to install for the tool `name`, or "" if it is there."""
    return "" if shutil.which(name) else TOOLS[name].package


class SilentClients:
    """How many clients of a closed loop that runs for a time never got an
    answer. The tools count what came back, and say nothing of a client that
    waits until the end; the kernel knows what its socket has received.

    A single look shortly before the end. It does not see a client that was
    answered at first and then no more. There is none in a short run, where it
    would take more than a hundredth of the time: 7 ms, as the kernel goes
    through all of its table, and some microseconds for each client.
    """

    SECONDS, FOR_EACH = 1.5, 0.0002     # the shortest run that has one

    def __init__(self, job, begun):
        self.job, self.begun = job, begun
        closed = not job.requests and not job.rate and \
            job.seconds >= self.SECONDS + self.FOR_EACH * job.connections
        # It is over before the tool ends, which has the core beside it.
        self.due = begun + job.seconds - 0.03 - 15e-6 * job.connections \
            if closed else None
        self.count = 0          # None where the kernel does not tell

    def look(self):
        """Count them now, for once."""
        self.due = None
        # Who keeps its connection and has had nothing on it waits for the
        # first answer. Of those who come anew each time one is always on its
        # way; it is the first one only if it is as old as the run.
        patience = 0.25 if self.job.keep_alive else 0.75
        self.count = sockets.silent_clients(
            self.job.port, patience * (time.monotonic() - self.begun))

    def add_to(self, result):
        """Put them into `result`, which knows of what its tool has seen."""
        if self.count is None:
            result.unfinished = result.unfinished or None
        elif result.reported:
            result.unfinished = max(result.unfinished, self.count)


def run(name, job, cores, tick=None):
    """Put `job` on the server with the tool `name` on `cores`.

    `tick()` is called meanwhile; it returns when it wants to be called again
    (seconds of time.monotonic). A tool that does not end in time is
    interrupted (it then reports what it has) or killed, and the Result says
    `hung`. Raises LoadError.
    """
    if missing(name):
        raise LoadError(f"{name} is not installed: apt-get install "
                        f"{missing(name)}")
    tool = TOOLS[name]
    with tempfile.TemporaryDirectory(prefix="bench-load-") as folder:
        runs = _start(tool, job, cores, folder)
        begun, own = time.monotonic(), time.process_time()
        silent = SilentClients(job, begun)
        try:
            hung = _wait(tool, runs, job, begun, tick, silent)
        finally:
            for one in runs:
                if one.process.returncode is None:
                    one.end, _ = child.stop(one.process, signal.SIGKILL)
        wall = time.monotonic() - begun
        own = time.process_time() - own
        results = []
        for one in runs:
            text = procfs.read(one.log)
            try:
                result = tool.parse(text, one.job, one.folder)
            except LoadError as error:
                if not hung:
                    raise
                result = Result(None, None, None, None, None,
                                notes=[str(error)])
            result.output, result.commands = text, [shlex.join(one.argv)]
            result.cpu, result.hung = one.end.cpu, hung
            results.append(result)
    merged = merge(results)
    merged.wall, merged.own_cpu = wall, own
    silent.add_to(merged)
    return merged


@dataclass
class _Run:
    """One process of the tool."""

    process: object
    job: Job
    argv: list
    folder: str
    log: str
    end: object = None


def _start(tool, job, cores, folder):
    """Start a process of the tool for each URL."""
    def share(index, number):
        each, more = divmod(number, len(job.urls))
        return each + (index < more)

    runs = []
    for index, url in enumerate(job.urls):
        part = replace(job, urls=(url,),
                       connections=share(index, job.connections),
                       requests=job.requests and share(index, job.requests))
        own = os.path.join(folder, str(index))
        os.mkdir(own)
        argv = tool.command(part, own)
        log = os.path.join(own, "output")
        with open(log, "wb") as output:
            process = child.spawn(argv, cores, output)
        runs.append(_Run(process, part, argv, own, log))
    return runs


def _wait(tool, runs, job, begun, tick, silent):
    """Wait for all, and look for SilentClients when it is time; return
    whether the tool had to be told to end.

    ab and wrk take whole seconds only. Of a fraction the rest is cut off by
    an interrupt, upon which both report what they have measured.
    """
    cut = tool.whole_seconds and not job.requests and job.seconds % 1
    interrupt_at = begun + (job.seconds if cut else job.deadline)
    kill_at = begun + job.deadline + 2
    interrupted = False
    while True:
        now = time.monotonic()
        wake = kill_at if interrupted else interrupt_at
        if tick:
            wake = min(wake, tick())
        if silent.due:
            if time.monotonic() >= silent.due:
                silent.look()
            else:
                wake = min(wake, silent.due)
        left = [one for one in runs if one.end is None]
        # Each ends at about the same time: it is enough to wait for one.
        left[0].end = child.wait(left[0].process, max(0.0, wake - now))
        for one in left[1:]:
            one.end = child.wait(one.process, 0)
        now = time.monotonic()
        left = [one for one in left if one.end is None]
        if not left or now > kill_at:
            return bool(left) or (interrupted and not cut)
        if now > interrupt_at and not interrupted:
            interrupted = True
            for one in left:
                os.kill(one.process.pid, signal.SIGINT)


def merge(results):
    """Return one Result for several processes that ran side by side.

    Counts add up, and are not known when one of them is not. The median is
    the mean of the medians, weighted by the answers; the 99th percentile is
    the worst of all, so an upper bound.
    """
    if len(results) == 1:
        return results[0]
    merged = Result(hung=any(r.hung for r in results))
    for name, together in (("good", sum), ("failed", sum), ("timeouts", sum),
                           ("unfinished", sum), ("seconds", max)):
        known = [getattr(r, name) for r in results]
        setattr(merged, name, None if None in known else together(known))
    for one in results:
        merged.cpu += one.cpu
        merged.notes += one.notes
        merged.commands += one.commands
        merged.output += one.output
    for name in ("mean", "p50"):
        known = [(getattr(r, name), r.good) for r in results
                 if getattr(r, name) is not None and r.good]
        if known:
            weight = sum(good for _, good in known)
            setattr(merged, name, sum(v * g for v, g in known) / weight)
    for name in ("p99", "max"):
        known = [getattr(r, name) for r in results
                 if getattr(r, name) is not None]
        setattr(merged, name, max(known, default=None))
    return merged
