"""oha, the open loop that has percentiles."""

import json
from pathlib import Path

from bench.load.base import LoadError, Result, Tool, last_line

OWN = Path(__file__).resolve().parents[2] / "build/tools/bin/oha"


class OpenLoop(Tool):
    """oha: an open loop; a request is due every 1/rate seconds. When all its
    connections are busy, requests queue up inside oha, and its clock runs."""

    name = package = "oha"
    latency = ("oha: from the time when a request is due to the last byte, so "
               "there is no coordinated omission; good answers only")
    open_loop = True
    connections = 100

    def path(self):
        """Return its path: on PATH, or in build/tools/bin/."""
        return super().path() or (str(OWN) if OWN.exists() else None)

    @property
    def remedy(self):
        """The command that installs it, from the top of the checkout."""
        return "cargo install oha --locked --root build/tools"

    def command(self, job, folder):
        """Return argv. A number of requests, not a time: at the end of a time
        oha would forget those that are still in its queue."""
        argv = [self.path(), "--no-tui", "--output-format", "json",
                "--latency-correction", "--disable-compression",
                "-q", f"{job.rate * job.calls:g}",
                "-n", str(job.connections * job.calls),
                "-c", str(self.connections), "-t", f"{job.timeout:g}s",
                "--worker-threads", str(job.threads)]
        return argv + ([] if job.keep_alive else ["--disable-keepalive"]) \
            + [job.urls[0]]

    def parse(self, text, job, folder):
        """Return the Result of oha's report."""
        try:
            found = json.loads(text)
        except ValueError:
            raise LoadError("no report from oha: " + last_line(text)) from None
        answers, errors = (found["statusCodeDistribution"],
                           found["errorDistribution"])
        good = sum(count for status, count in answers.items()
                   if status[0] in "23")
        asked = job.connections * job.calls
        done = sum(answers.values()) + sum(errors.values())
        summary, percent = found["summary"], found["latencyPercentiles"]
        result = Result(good=good, failed=done - good,
                        timeouts=errors.get("timeout", 0),
                        unfinished=max(0, asked - done),
                        seconds=summary["total"])
        if errors:
            result.notes.append("errors: " + ", ".join(
                f"{count} {name}" for name, count in errors.items()))
        if good:
            result.mean, result.p50, result.p99, result.max = (
                1e3 * seconds for seconds in (
                    summary["average"], percent["p50"], percent["p99"],
                    summary["slowest"]))
        # Without an interruption, the last request was sent at most one
        # longest latency before the end.
        if not result.unfinished:
            self.paced(result, job, asked, result.seconds
                       - max((result.max or 0.0) / 1e3,
                             job.timeout if result.timeouts else 0.0))
        return result
