"""ApacheBench."""

import math
import os
import re

from bench.load.base import LoadError, Result, Tool, last_line, number
from bench.meter import procfs


class Ab(Tool):
    """ab: a closed loop, one thread."""

    name = "ab"
    package = "apache2-utils"
    latency = ("ab: from connect (on a kept connection: from send) to the "
               "last byte; not corrected for coordinated omission")
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
        """Return the Result of ab's report."""
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
        if result.good:
            self._latency(result, text, os.path.join(folder,
                                                     "percentiles.csv"))
        return result

    @staticmethod
    def _latency(result, text, path):
        """Take the percentiles from the file that -e wrote, and the mean from
        the row "Total" of the connection times. ("Time per request" is not
        measured: it is clients / rate.) The row has whole milliseconds; the
        percentiles bound the mean from both sides, more narrowly if it is
        short."""
        rows = [line.split(",") for line in procfs.read(path).splitlines()[1:]]
        times = [float(ms) for _, ms in rows]
        mean = number(r"^Total:\s+\d+\s+(\d+)", text)
        if len(times) != 101 or mean is None:
            return
        result.p50, result.p99, result.max = times[50], times[99], times[100]
        least = max(sum(times[:100]) / 100, mean - 0.5)
        most = min(sum(times[1:]) / 100, mean + 0.5)
        result.mean = (least + most) / 2
