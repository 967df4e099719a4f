"""h2load."""

import re

from bench.load.base import UNITS, LoadError, Result, Tool, milliseconds


class H2load(Tool):
    """h2load --h1: a closed loop in place of weighttp. It keeps its
    connections."""

    name = "h2load"
    remedy = "apt-get install nghttp2-client"
    latency = ("h2load: mean and maximum only, from send to the last byte, "
               "without connect; not corrected for coordinated omission")

    def command(self, job, folder):
        """Return argv: a number of requests, or a time."""
        if not job.keep_alive:
            raise LoadError("h2load cannot open a new connection for each "
                            "request; use TOOL=wrk")
        length = (["-n", str(job.requests)] if job.requests
                  else ["-D", f"{int(job.seconds * 1000)}ms"])
        return ["h2load", "--h1", *length, "-c", str(job.connections),
                "-t", str(min(job.threads, job.connections)), job.urls[0]]

    def parse(self, text, job, folder):
        """Return the Result of h2load's report."""
        seconds, = self.find(r"^finished in (\w[\w.]+),", text)
        done, good, failed, late = map(int, self.find(
            r"(\d+) done, (\d+) succeeded, (\d+) failed, \d+ errored, "
            r"(\d+) timeout", text))
        # h2load's "failed" includes requests that were never started or
        # never answered; `done` tells them apart.
        result = Result(good=good, timeouts=late,
                        failed=min(failed, max(0, done - good) + late),
                        seconds=milliseconds(seconds) / UNITS["s"])
        row = re.search(r"^time for request:\s+\S+\s+(\S+)\s+(\S+)", text,
                        re.MULTILINE)
        if row and done:
            result.max, result.mean = map(milliseconds, row.groups())
        return result
