"""wrk."""

import math
from pathlib import Path

from tools.bench.load.base import Result, Tool, in_seconds, numbers

PAUSE = str(Path(__file__).with_name("pause.lua"))
# A pause is a timer, and a thread of wrk goes through the list of its timers for each of them.
TIMERS = 2000


class Wrk(Tool):
    """wrk: a closed loop over epoll, keep-alive unless told otherwise."""

    name = "wrk"
    remedy = "scripts/deps.sh load fetches it"
    # The clock starts when the socket becomes writable: after connect, and after the other
    # clients that wrk serves first. Then stats_correct() adds samples: for a latency n of
    # at least twice the mean cycle c = clients / rate those of n-c, n-2c, ... down to c.
    latency = ("wrk: not read, because it counts neither the time to connect nor that until it "
               "sends again, and adds samples that were not measured")
    whole_seconds = threaded = True

    @staticmethod
    def _threads(job):
        """Return how many threads share the connections. Each opens the same number, and wrk opens
        no remainder: with pauses, the number of threads is one that leaves the smallest."""
        threads = min(job.threads, job.connections)
        if job.pause:
            threads = max(threads, math.ceil(job.connections / TIMERS))
            threads = min(range(threads, 2 * threads), key=lambda n: job.connections % n)
        return threads

    def opens(self, job):
        return job.connections - job.connections % self._threads(job)

    def command(self, job, folder):
        """Return argv, with the seconds rounded up. An answer that takes
        longer than the time-out, 2 s by default, would be an error."""
        seconds, threads = math.ceil(job.seconds), self._threads(job)
        argv = ["wrk", "-t", str(threads), "-c", str(job.connections), "-d", f"{seconds}s",
                "--timeout", f"{seconds + 1}s"]
        if not job.keep_alive:
            argv += ["-H", "Connection: close"]
        if job.script:
            argv += ["-s", job.script]
        if job.pause:
            return [*argv, "-s", PAUSE, job.url, "--", f"{1000 * job.pause:.0f}",
                    str(job.connections // threads)]
        return argv + [job.url]

    def parse(self, text, job, folder):
        done, seconds = self.find(r"^\s*(\d+) requests in ([\d.]+\w+),", text)
        connect, receive, send, late = numbers(
            r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
        wrong, = numbers(r"Non-2xx or 3xx responses: (\d+)", text)
        # The late ones were answered in the end, but after wrk's time-out.
        return Result(good=max(0, int(done) - wrong - late),
                      failed=connect + receive + send + wrong + late, timeouts=late,
                      seconds=in_seconds(seconds))
