"""h2load, of nghttp2, as a client of HTTP/1.1."""

import re

from tools.bench.load.base import Result, Tool, in_seconds


class H2load(Tool):
    """h2load: a closed loop on connections that are kept."""

    name = "h2load"
    remedy = "apt-get install nghttp2-client"
    latency = ("h2load: mean and longest from the request to the last byte; it has no "
               "percentiles, and does not count the time to connect")
    threaded = True

    def command(self, job, folder):
        """Return argv. h2load counts no answer that comes after its time is over."""
        return ["h2load", "--h1", "-t", str(min(job.threads, job.connections)),
                "-c", str(job.connections), "-D", f"{round(1000 * job.seconds)}ms", job.url]

    def parse(self, text, job, folder):
        """Return the Result of h2load's report."""
        seconds, = self.find(r"^finished in ([\d.]+\w+),", text)
        done, failed, errors, late = map(int, self.find(
            r"^requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text))
        result = Result(good=done, failed=failed + errors + late, timeouts=late,
                        seconds=in_seconds(seconds))
        found = re.search(r"^time for request: +\S+ +(\S+) +(\S+)", text, re.MULTILINE)
        if done and found:
            result.max, result.mean = (1000 * in_seconds(word) for word in found.groups())
        return result
