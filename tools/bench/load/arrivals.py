"""An open loop of two kinds of requests, in which each has its own time of arrival.

ab and wrk wait for an answer before they ask again, so a client that is held sends nothing while
it is held, and the worst waits are the ones that are missing. Here requests are due at times that
were drawn before, one at a time from a Poisson process as if many strangers came, and the clock
of each runs from the time at which it was due (Gil Tene's "coordinated omission"). oha does that
for one path; what one kind of request does to another kind needs two. The program that sends
them is arrive.py.
"""

import json
import pathlib
import random
import re
import statistics
import sys

from tools.bench.load.base import Result, Tool, percentile

LATE = 0.001        # seconds after its time that make a request late
TINY = 1e-9         # seconds: waits that differ by less are the same


def schedule(job):
    """Return [(seconds, is it of the other kind?)] of all requests of `job`, sorted: Poisson
    arrivals at job.rate, a share of job.share of them of the other kind. The same seed gives the
    same arrivals."""
    drawn = random.Random(f"{job.seed} {job.rate} {job.share}")
    other = set(drawn.sample(range(job.asked), round(job.asked * job.share)))
    now, found = 0.0, []
    for number in range(job.asked):
        now += drawn.expovariate(job.rate)
        found.append((now, number in other))
    return found


def queue_of_one(arrivals, short, other):
    """Return the seconds that each short request of `arrivals` takes in a queue with one server,
    first come, first served: its wait and its own `short` seconds. One of the other kind takes
    `other` seconds (Lindley's recursion)."""
    free, waits = 0.0, []
    for due, is_other in arrivals:
        free = max(free, due) + (other if is_other else short)
        if not is_other:
            waits.append(free - due)
    return waits


def predicted(requests):
    """Return {figure: milliseconds} of what the short ones of `requests`, [(seconds when it was
    due, is it of the other kind?, microseconds that it took or None)], would take in a queue with
    one server; {} without a good one. The fastest of each kind tells how long the server needs
    for it; the median of the short ones that met no other client tells what the client and the
    kernel need around that."""
    needs = {kind: min((took / 1e6 for _, other, took in requests
                        if other == kind and took is not None), default=0.0)
             for kind in (False, True)}
    if not needs[False]:
        return {}
    waits = queue_of_one([(due, other) for due, other, _ in requests], *needs.values())
    took = [one / 1e6 if one is not None else None for _, other, one in requests if not other]
    alone = [one for one, wait in zip(took, waits)
             if one is not None and wait < needs[False] + TINY]
    around = statistics.median(alone or [needs[False]]) - needs[False]
    waits = sorted(1e3 * (wait + around) for wait in waits)
    return {"mean": statistics.fmean(waits), "99 % below": percentile(waits, 99),
            "longest": waits[-1]}


class Arrivals(Tool):
    """See the head of this file. Percentiles are those of the short kind."""

    name = "arrivals"
    remedy = "it comes with the collection"
    latency = ("arrivals: from the time when a request is due to the last byte, of requests that "
               "do not compute; good answers only")
    open_loop = True

    def path(self):
        return sys.executable

    def command(self, job, folder):
        """Write the plan into `folder`; return argv."""
        plan = f"{folder}/plan.json"
        host, port, path = re.fullmatch(r"http://([^:/]+):(\d+)(/.*)", job.url).groups()
        with open(plan, "w", encoding="utf-8") as out:
            json.dump({"host": host, "port": int(port), "paths": [path, job.other],
                       "timeout": job.timeout, "arrivals": schedule(job)}, out)
        return [sys.executable, str(pathlib.Path(__file__).with_name("arrive.py")), plan]

    def parse(self, text, job, folder):
        self.find(r"\A\{[^\0]*\}\s*\Z", text)
        told, arrivals = json.loads(text), schedule(job)
        good = [took for _, took in told["requests"] if took is not None]
        short = sorted(took / 1e3 for (_, took), (_, other) in zip(told["requests"], arrivals)
                       if took is not None and not other)
        late = sum(after > 1e6 * LATE for after, _ in told["requests"])
        result = Result(good=len(good), failed=job.asked - len(good), timeouts=told["timeouts"],
                        seconds=told["seconds"], p50=percentile(short, 50),
                        p99=percentile(short, 99), max=short[-1] if short else None,
                        mean=statistics.fmean(short) if short else None,
                        sent_rate=job.asked / arrivals[-1][0], lag_percent=100 * late / job.asked)
        result.queue = predicted([(due, other, took) for (due, other), (_, took)
                                  in zip(arrivals, told["requests"])])
        if told["errors"]:
            result.notes.append("errors: " + ", ".join(
                f"{count} {what}" for what, count in told["errors"].items()))
        return result
