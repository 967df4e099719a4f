"""h2load, of nghttp2, as a client of HTTP/1.1: as a closed loop, and with a rate."""

import os
import re
import shutil
import statistics
from collections import Counter

from tools.bench.load.base import LAG, PATH, LoadError, Result, Tool, in_seconds, percentile

LOG = "requests"        # a line for each: microseconds when it was sent, status, microseconds
LONGEST = 20            # milliseconds of a period at most, where 50 requests a second are due


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
        return ["h2load", "--h1", "-t", str(min(job.threads, job.connections)),
                "-c", str(job.connections), "-D", f"{round(1000 * job.seconds)}ms", job.url]

    def parse(self, text, job, folder):
        """Return the Result of h2load's report."""
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
    """h2load with a rate: an open loop, whose clock has ticks of whole milliseconds. at_a_time
    connections take turns, if they are kept for more than one request; else each request has its
    own."""

    name = "h2load-rate"
    latency = ("h2load-rate: from sending to the last byte, without the time to connect; on kept "
               "connections from when the request was due; good answers only")
    open_loop = True
    threaded = False
    at_a_time = 100

    def command(self, job, folder):
        """Return argv. A connection sends its first request when it opens, so they open one after
        the other: if all opened together, all requests would come in bursts of as many."""
        rate = job.rate * job.calls
        many, period = ticks(rate)
        argv = ["h2load", "--h1", "-n", str(job.asked), "-r", str(many),
                "--rate-period", f"{period}ms", "-N", f"{round(1000 * job.timeout)}ms",
                "--log-file", os.path.join(folder, LOG)]
        if job.calls > 1:
            each = f"{rate / self._clients(job):g}"
            return [*argv, "-c", str(self._clients(job)), "--rps", each, job.url]
        close = [] if job.keep_alive else ["-H", "Connection: close"]
        return [*argv, "-c", str(job.asked), *close, job.url]

    def _clients(self, job):
        """Return how many kept connections take turns; each asks once a second or more often, so
        that it has not been silent for job.timeout."""
        return max(1, min(self.at_a_time, job.asked, int(job.rate * job.calls)))

    def parse(self, text, job, folder):
        """Return the Result of the report and of the log. Raises LoadError if requests were sent
        too fast."""
        result = super().parse(text, job, folder)
        with open(os.path.join(folder, LOG), encoding="ascii") as log:
            rows = [tuple(map(int, line.split())) for line in log]
        if rows:
            planned = len(rows) / (job.rate * job.calls)
            seconds = planned + behind([start / 1e6 for start, _, _ in rows], planned)
            if seconds < (1 - LAG / 100) * planned:
                raise LoadError("h2load sent faster than demanded, as it does where the server "
                                "closes connections that are to be kept")
            self.paced(result, job, len(rows), seconds)
        times = sorted(took / 1e3 for _, status, took in rows if 200 <= status < 400)
        if job.calls > 1:
            times = from_due(times, 1e3 * self._clients(job) / (job.rate * job.calls))
        if job.keep_times:
            result.times = Counter(round(1e3 * took) for took in times)
        if times:
            result.mean, result.max = statistics.fmean(times), times[-1]
            result.p50, result.p99 = percentile(times, 50), percentile(times, 99)
        return result


def ticks(rate):
    """Return (how many requests in each period, its milliseconds) for a rate a second: the shortest
    period of those that come nearest."""
    return min(((max(1, round(rate * period / 1000)), period)
                for period in range(1, max(LONGEST, round(1000 / rate)) + 1)),
               key=lambda one: abs(1000 * one[0] / one[1] - rate))


def behind(sent, planned):
    """Return by how many seconds the last requests were later than the first ones. `sent` has the
    seconds when each was sent, and the `planned` ones pass from the first until one after the last
    is due. Of the first and last twentieth, the one counts that was late least: a single request
    that waits at an end is no lower rate."""
    late = [at - place * planned / len(sent) for place, at in enumerate(sorted(sent))]
    some = max(1, len(late) // 20)
    return min(late[-some:]) - min(late[:some])


def from_due(times, interval):
    """Return sorted milliseconds from when each request was due. `times`, sorted, are from when it
    was sent. The requests of a connection are due every `interval` ms, and wait for the answer to
    the one before. So an answer that takes longer delays the next ones. Which of the times they
    have is not known: they are taken for the shortest, and what they waited counts alone."""
    late = [took - after * interval for took in times if took > interval
            for after in range(1, int(took / interval) + 1)]
    return sorted(times[len(late):] + late)
