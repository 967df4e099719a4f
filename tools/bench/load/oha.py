"""oha, the open loop that has percentiles."""

import contextlib
import json
import os
import re
import sqlite3
from collections import Counter

from tools.bench.load.base import LoadError, Result, Tool, behind

# What oha stores of each answer: `start`, the seconds when its request was sent,
# `start_latency_correction`, when it was due, `duration`, from then to its end, and `status`. It
# writes them after its load and before it ends: a millisecond for some 400 answers.
STORED = "requests.db"
SAYS = re.compile(r"^Storing results to .*\n+", re.MULTILINE)     # on stderr, amid its report


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
                "-q", f"{job.due_a_second:g}", "-n", str(job.asked),
                "-c", str(job.sharers), "-t", f"{job.timeout:g}s",
                "--worker-threads", str(job.threads), "--db-url", os.path.join(folder, STORED)]
        return argv + ([] if job.keep_alive else ["--disable-keepalive"]) + [job.url]

    def parse(self, text, job, folder):
        text = SAYS.sub("", text)
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
        rows = stored(folder) if done >= job.asked else []      # none if it was interrupted
        if rows:
            self.paced(result, job, done,
                       job.asked / job.due_a_second + behind([late for late, *_ in rows]))
            if job.keep_times:
                result.times = Counter(round(1e6 * took) for _, took, status in rows
                                       if 200 <= status < 400)
        return result


def stored(folder):
    """Return (how many seconds late its request was sent, seconds from when it was due to its end,
    status) of each answer, in the order in which they were due. A request is late where oha is too
    slow, and where all its connections wait for the server. Raises LoadError."""
    try:
        with contextlib.closing(sqlite3.connect(os.path.join(folder, STORED))) as database:
            return database.execute(
                "SELECT start - start_latency_correction, duration, status FROM oha "
                "ORDER BY start_latency_correction").fetchall()
    except sqlite3.Error as error:
        raise LoadError(f"oha stored no times: {error}") from error
