"""wrk."""

import math
import re

from bench.load.base import (UNITS, Result, Tool, last_line, milliseconds,
                             number)


class Wrk(Tool):
    """wrk: a closed loop over epoll, keep-alive unless told otherwise."""

    name = "wrk"
    remedy = "apt-get install wrk"
    # stats_correct() of wrk 4: a latency n of at least twice the mean cycle
    # c = clients / rate adds samples of n-c, n-2c, ... down to c. The clock
    # starts when the socket becomes writable, after connect, and after the
    # other clients that wrk serves first.
    latency = ("wrk: from send to the last byte, without connect; corrected "
               "for coordinated omission with added samples, so its mean is "
               "not clients / rate")
    whole_seconds = True

    def command(self, job, folder):
        """Return argv, with the seconds rounded up. wrk drops latencies above
        its time-out, 2 s by default; here no answer can take that long."""
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
        """Return the Result of wrk's report."""
        if "unable to connect" in text:
            return Result(failed=job.connections, seconds=job.seconds,
                          notes=[last_line(text)])
        done, seconds = self.find(r"^\s*(\d+) requests in (\w[\w.]+),", text)
        errors = re.search(r"Socket errors: connect (\d+), read (\d+), "
                           r"write (\d+), timeout (\d+)", text)
        connect, receive, send, late = (
            map(int, errors.groups()) if errors else (0, 0, 0, 0))
        wrong = number(r"Non-2xx or 3xx responses: (\d+)", text, 0, int)
        # The late ones were answered in the end, but after wrk's time-out.
        result = Result(good=max(0, int(done) - wrong - late),
                        failed=connect + receive + send + wrong + late,
                        timeouts=late,
                        seconds=milliseconds(seconds) / UNITS["s"])
        if result.good:
            result.p50 = number(r"^\s+50%\s+(\S+)", text, None, milliseconds)
            result.p99 = number(r"^\s+99%\s+(\S+)", text, None, milliseconds)
            result.mean, result.max = map(milliseconds, self.find(
                r"^\s+Latency\s+(\S+)\s+\S+\s+(\S+)", text))
        return result
