"""ApacheBench."""

import collections
import math
import os

from tools.bench.load.base import LoadError, Result, Tool, numbers
from tools.kit import procfs

MOST = 20_000


class Ab(Tool):
    """ab: a closed loop, one thread, and no more clients than MOST."""

    name = "ab"
    remedy = "scripts/deps.sh load fetches it"
    latency = ("ab: from connect (on a kept connection: from send) to the "
               "last byte; not corrected for coordinated omission")
    whole_seconds = ends_by_number = True

    def command(self, job, folder):
        """Return argv. -r goes on after a failed connection, -l accepts pages of different
        length, -e writes percentiles of 1 us. -t would end the run after 50,000 requests, unless
        a number of them follows it. -s: a client in a full queue may wait for longer than the 30 s
        after which ab gives up. Raises LoadError."""
        if job.connections > MOST:
            raise LoadError(f"ab has at most {MOST:,} clients")
        argv = ["ab", "-q", "-l", "-r", "-s", "120", "-t", str(math.ceil(job.seconds)),
                "-n", str(job.requests or 10_000_000), "-c", str(job.connections),
                "-e", os.path.join(folder, "percentiles.csv")]
        if job.keep_times:
            argv += ["-g", os.path.join(folder, "times.tsv")]
        return argv + (["-k"] if job.keep_alive else []) + [job.url]

    def parse(self, text, job, folder):
        seconds, = self.find(r"^Time taken for tests:\s+([\d.]+)", text)
        done, = numbers(r"^Complete requests:\s+(\d+)", text)
        wrong, = numbers(r"^Non-2xx responses:\s+(\d+)", text)
        connect, receive, length, exceptions = numbers(
            r"\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)", text)
        # A refused connection counts as an exception and as a failed
        # receive: the larger of the two is the number of requests.
        failed = min(done, connect + length + max(receive, exceptions) + wrong)
        result = Result(good=done - failed, failed=failed, seconds=float(seconds))
        if result.good:
            self._latency(result, text, folder)
            if job.keep_times:
                result.times = self.times(folder)
        return result

    @staticmethod
    def _latency(result, text, folder):
        """Take the percentiles from the file that -e wrote. Their mean is right to 0.5 ms
        at least, as the row "Total" of the connection times has whole milliseconds. ("Time
        per request" is not measured: it is clients / rate.)"""
        times = column(folder, "percentiles.csv", ",", 1)
        result.p50, result.p99, result.max = times[50], times[99], times[100]
        total, = numbers(r"^Total:\s+\d+\s+(\d+)", text)
        # Each percentile stands for a hundredth of the answers, the last time for one of them.
        mean = sum(times[:100]) / 100 + times[100] / result.good
        result.mean = min(max(mean, total - 0.5), total + 0.5)

    @staticmethod
    def times(folder):
        """Return {microseconds: answers} from the files that -g and -e wrote. -g has every answer
        in whole milliseconds, -e a hundred of them in microseconds. Between two of these the times
        are taken to grow evenly, as far as the whole milliseconds allow."""
        whole = sorted(column(folder, "times.tsv", "\t", 4))
        known = column(folder, "percentiles.csv", ",", 1)
        last, times = len(whole) - 1, collections.Counter()
        for place, rounded in enumerate(whole):
            percent, part = divmod(100 * place / max(1, last), 1)
            low, high = known[int(percent)], known[min(100, int(percent) + 1)]
            time = low + part * (high - low)
            times[round(1000 * min(max(time, rounded - 0.5), rounded + 0.499))] += 1
        return times


def column(folder, name, separator, place):
    """Return the numbers in a column of a file that ab wrote."""
    lines = procfs.read(os.path.join(folder, name)).splitlines()[1:]
    return [float(line.split(separator)[place]) for line in lines]
