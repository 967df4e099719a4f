"""httperf."""

import re

from tools.bench.load.base import Result, Tool, numbers


class Httperf(Tool):
    """httperf: an open loop; a new connection every 1/rate seconds."""

    name = "httperf"
    remedy = "scripts/deps.sh load fetches it"
    latency = ("httperf: mean only, in steps of 0.1 ms, from send to the first byte; time lost "
               "before a connection opens is not counted")
    open_loop = busy_waits = hides_lag = True
    # It waits in select(), which knows no descriptor above 1023.
    descriptors = 1024

    def command(self, job, folder):
        host, port, path = re.fullmatch(r"http://([^:/]+):(\d+)(/.*)", job.url).groups()
        # Not --hog: with it httperf binds each client's port itself, and hangs
        # when all are in TIME_WAIT, as after a dozen runs. connect(2) alone
        # lets the kernel reuse such a port (tcp_tw_reuse).
        return ["httperf", "--server", host, "--port", port, "--uri", path,
                "--num-conns", str(job.connections), "--num-calls", str(job.calls),
                "--rate", f"{job.rate:g}", "--timeout", f"{job.timeout:g}"]

    def parse(self, text, job, folder):
        requests, replies, duration = map(float, self.find(
            r"requests (\d+) replies (\d+) test-duration ([\d.]+) s", text))
        errors = {name: int(count) for line in re.findall(r"^Errors: (.*)$", text, re.MULTILINE)
                  for name, count in re.findall(r"([\w-]+) (\d+)", line)}
        good = sum(numbers(r" 2xx=(\d+) 3xx=(\d+)", text))
        # A connection that breaks fails its current call; its remaining calls are not made.
        broken = min(max(0, job.asked - int(replies)), errors["total"])
        late = min(broken, errors["client-timo"] + errors["socket-timo"])
        result = Result(good=good, failed=int(replies) - good + broken, timeouts=late)
        kinds = [f"{count} {name}" for name, count in errors.items() if count and name != "total"]
        result.notes += ["connections with errors: " + ", ".join(kinds)] if kinds else []
        if replies:
            result.mean, = numbers(r"^Reply time \[ms\]: response ([\d.]+)", text)
        self._times(result, text, job, requests, duration)
        return result

    def _times(self, result, text, job, requests, duration):
        """Take the seconds until the last answer, and the rate of sending, from the test's
        `duration`. The last answer came to a connection that began within the demanded time
        and lived as long as others (few live two standard deviations longer than the mean), or
        to one that then waited for its time-out. The rates that httperf prints divide by all
        of `duration`, so a slow server lowers them. It certainly lagged only if even a
        connection as long as the longest must have begun too late."""
        mean, longest, deviation = (ms / 1e3 for ms in numbers(
            r"^Connection time \[ms\]: min \S+ avg (\S+) max (\S+) median \S+ stddev (\S+)", text))
        waited = job.timeout if result.timeouts else 0.0
        usual = min(longest, mean + 2 * deviation)
        last = max(job.connections / job.rate + usual, duration - waited)
        result.seconds = min(duration, last)
        self.paced(result, job, requests, duration - longest - waited)
