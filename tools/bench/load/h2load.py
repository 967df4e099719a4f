"""h2load, of nghttp2, as a client of HTTP/1.1: as a closed loop, and with a rate."""

import itertools
import math
import os
import re
import shutil
import statistics
from collections import Counter

from tools.bench.load.base import (
    LAG, PATH, LoadError, Result, Tool, behind, in_seconds, percentile)

LOG = "requests"        # a line for each answer: microseconds when its request was sent, status,
                        # microseconds that it took; later versions may add more
NEAR = LAG / 100 / 2    # how far a rate of ticks may be from the demanded one


class H2load(Tool):
    """h2load: a closed loop on connections that are kept."""

    name = "h2load"
    remedy = "scripts/deps.sh load fetches it"
    latency = ("h2load: mean and longest from the request to the last byte; it has no "
               "percentiles, and does not count the time to connect")
    threaded = True

    def path(self):
        return shutil.which("h2load", path=PATH)

    def command(self, job, folder):
        """Return argv. h2load counts no answer that comes after its time is over."""
        return [self.path(), "--h1", "-t", str(min(job.threads, job.connections)),
                "-c", str(job.connections), "-D", f"{round(1000 * job.seconds)}ms", job.url]

    def parse(self, text, job, folder):
        seconds, = self.find(r"^finished in ([\d.]+\w+),", text)
        begun, done, failed, late = map(int, self.find(
            r"^requests: .* (\d+) started, .* (\d+) succeeded, (\d+) failed, .* (\d+) timeout",
            text))
        # The failed ones include those that a connection did not send after its error.
        result = Result(good=done, failed=min(failed, begun - done), timeouts=late,
                        seconds=in_seconds(seconds))
        found = re.search(r"^time for request: +\S+ +(\S+) +(\S+)", text, re.MULTILINE)
        if done and found:
            result.max, result.mean = (1000 * in_seconds(word) for word in found.groups())
        return result


class H2loadRate(H2load):
    """h2load with a rate: an open loop, whose clock has ticks of whole milliseconds. job.sharers
    connections take turns, if they are kept; else each request has its own."""

    name = "h2load-rate"
    latency = ("h2load-rate: from sending to the last byte, without the time to connect; what had "
               "to wait on a kept connection, from when it was due; good answers only")
    open_loop = needs_kept = True       # on a new connection it asks without a pause
    threaded = False

    def command(self, job, folder):
        """Return argv. A connection sends its first request when it opens, so they open one after
        the other: if all opened together, requests would come in bursts, one of each."""
        many, period = ticks(job.due_a_second)
        clients = turns(job) if job.keep_alive else job.asked
        argv = [self.path(), "--h1", "-n", str(job.asked), "-c", str(clients),
                "-r", str(min(many, clients)), "--rate-period", f"{period}ms",
                "-N", f"{round(1000 * job.timeout)}ms", "--log-file", os.path.join(folder, LOG)]
        how = ["-H", "Connection: close"]
        if job.keep_alive:
            how = ["--rps", f"{job.due_a_second / clients:g}"]
        return [*argv, *how, job.url]

    def parse(self, text, job, folder):
        """Return the Result of the report and of the log. Raises LoadError, also if requests were
        sent too fast."""
        result = super().parse(text, job, folder)
        try:
            with open(os.path.join(folder, LOG), encoding="ascii") as log:
                rows = [tuple(map(int, line.split()[:3])) for line in log]
            answers = [(start / 1e3, took / 1e3) for start, status, took in rows
                       if 200 <= status < 400]
        except ValueError as error:
            raise LoadError(f"no log from h2load: {error}") from error
        if job.asked == len(rows):      # of what was not sent, the server may be the reason
            self._pace(result, job, sorted(start / 1e6 for start, _, _ in rows))
        times = sorted(took for _, took in answers)
        if job.keep_alive and answers:
            rate = job.due_a_second / 1e3
            times = from_due(answers, turns(job) / rate,
                             min(rows)[0] / 1e3 + (job.asked - 1) / rate)
        if job.keep_times:
            result.times = Counter(round(1e3 * took) for took in times)
        if times:
            result.mean, result.max = statistics.fmean(times), times[-1]
            result.p50, result.p99 = percentile(times, 50), percentile(times, 99)
        return result

    def _pace(self, result, job, sent):
        """Note how far the rate was below the demanded one; `sent` has the seconds when each
        request was. Raises LoadError if it was above."""
        planned = job.asked / job.due_a_second
        seconds = planned + behind([at - place / job.due_a_second for place, at in enumerate(sent)])
        if job.keep_alive and seconds < (1 - LAG / 100) * planned:
            raise LoadError("h2load sent faster than demanded, as it does where the server "
                            "closes connections that are to be kept")
        self.paced(result, job, len(sent), seconds)


def turns(job):
    """Return how many kept connections take turns; each asks once a second or more often, so that
    it has not been silent for job.timeout."""
    return max(1, min(job.sharers, job.asked, int(job.due_a_second)))


def ticks(rate):
    """Return (how many requests in each period, its milliseconds) for a rate a second: the shortest
    period that comes near."""
    for period in itertools.count(1):
        many = round(rate * period / 1000)
        if abs(1000 * many / period - rate) <= NEAR * rate:
            return many, period


def from_due(answers, interval, end):
    """Return sorted milliseconds from when each request was due; `answers` are (when it was sent,
    how long it took), of several connections. The requests of each are due every `interval` ms,
    until `end`, and wait for the answer to the one before. So an answer that takes longer delays
    the next ones. Which answers are theirs, the log does not say: they are taken for the quickest.
    The delays of several long answers in a row are not added up."""
    late = sorted(took - after * interval for sent, took in answers
                  for after in range(1, math.ceil(took / interval))
                  if sent + after * interval <= end)
    times = sorted(took for _, took in answers)
    short = sum(took <= interval for took in times)
    late = late[-short:] if short else []
    return sorted([wait + took for wait, took in zip(late, times)] + times[len(late):])
