"""oha, the open loop that has percentiles."""

import json

from tools.bench.load.base import Result, Tool


class Oha(Tool):
    """oha: an open loop; a request is due every 1/rate seconds. When all its
    connections are busy, requests queue up inside oha, and its clock runs."""

    name = "oha"
    remedy = "cargo install oha --locked --root build/tools"
    latency = ("oha: from the time when a request is due to the last byte, so "
               "there is no coordinated omission; good answers only")
    open_loop = threaded = True

    def command(self, job, folder):
        """Return argv. A number of requests, not a time: at the end of a time
        oha would forget those that are still in its queue."""
        argv = [self.path(), "--no-tui", "--output-format", "json",
                "--latency-correction", "--disable-compression", "--redirect", "0",
                "-q", f"{job.due:g}", "-n", str(job.asked),
                "-c", str(job.kept), "-t", f"{job.timeout:g}s",
                "--worker-threads", str(job.threads)]
        return argv + ([] if job.keep_alive else ["--disable-keepalive"]) + [job.url]

    def parse(self, text, job, folder):
        """Return the Result of oha's report."""
        self.find(r"\A\{[^\0]*\}\s*\Z", text)
        found = json.loads(text)
        answers, errors = found["statusCodeDistribution"], found["errorDistribution"]
        summary, percent = found["summary"], found["latencyPercentiles"]
        good = sum(count for status, count in answers.items() if status[0] in "23")
        done = sum(answers.values()) + sum(errors.values())
        result = Result(good=good, failed=done - good, timeouts=errors.get("timeout", 0),
                        seconds=summary["total"])
        if errors:
            said = ", ".join(f"{count} {name}" for name, count in errors.items())
            result.notes.append("errors: " + said)
        if good:
            result.mean, result.p50, result.p99, result.max = (
                1e3 * seconds for seconds in (
                    summary["average"], percent["p50"], percent["p99"], summary["slowest"]))
        # Without an interruption, the last request was sent at most one
        # longest latency before the end.
        if done >= job.asked:
            longest = job.timeout if result.timeouts else summary["slowest"]
            self.paced(result, job, done, result.seconds - longest)
        return result
