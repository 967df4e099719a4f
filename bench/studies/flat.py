#!/usr/bin/env python3
"""Does the curve stay flat: the rate with very many clients over the best one.

    make bench-flat                            all, medians of REPEAT

The reference run ends each cell after 20,000 requests, as the article did.
With 15,000 clients three quarters of these are the first of their client: ab
opens 15,000 connections before it asks, and the curve shows that as well. Here
a cell has four requests for each client at least, so that most of it is the
middle of a run; with connections that are kept many more, as TCP acknowledges
the first sixteen answers of each in packets of their own. Cells are shuffled,
and each round has all of them.

All is measured in a network of its own (own_network.py), so that some curves
can have accept and SYN queues for all their clients: "-long-queue". The others
have the 4,096 of the reference run.

Writes docs/results/cost/flat.json, from which docs/performance.md is filled.
"""

import os
import statistics
import sys
import tempfile
from dataclasses import dataclass

from bench.studies import committed
from bench.studies import cost
from bench import load
from bench.meter import cpu as meter
from bench.run import netns as own_network
from bench.meter import procfs, sockets
from bench.run import servers
from bench.experiments import addresses
from bench.run.redis import RedisServer

REQUESTS = 20000        # of a cell, or
FOR_EACH = 4            # so many for each client, if that is more
QUEUE = servers.Start().backlog
LONG_QUEUE = 20000
CLIENTS_A_SECOND = 1000     # of a cell with kept connections, at most

# What is told of a run for each answer, beside its rate.
EACH = ("us", "tool_us", "cookies", "segments", "late_acks")


@dataclass(frozen=True)
class Curve:
    """What one server is asked for, and by how many clients."""

    server: str
    path: str
    clients: tuple
    keep_alive: bool = False
    queue: int = QUEUE      # clients that may wait to be accepted

    def __str__(self):
        return f"{self.server} {self.name}"

    @property
    def name(self):
        """What is asked for, and how."""
        return (self.path[1:] + ("-keep-alive" if self.keep_alive else "")
                + ("-long-queue" if self.queue > QUEUE else ""))


CLIENTS = (20, 100, 500, 1000, 5000, 15000)
MANY = (100, 1000, 5000, 15000)
CURVES = (Curve("epoll", "/guestbook", CLIENTS),
          Curve("epoll", "/guestbook", MANY, queue=LONG_QUEUE),
          Curve("prethreaded", "/guestbook", CLIENTS),
          Curve("prethreaded", "/guestbook", MANY, queue=LONG_QUEUE),
          Curve("forking", "/guestbook", (20, 1000)),
          # As many new connections, and hardly anything to do for one, nor
          # for Redis: what is left is how ab bends, and the kernel with its
          # SYN cookies.
          Curve("epoll", "/answer", CLIENTS),
          Curve("epoll", "/answer", MANY, queue=LONG_QUEUE),
          Curve("epoll", "/answer", CLIENTS, keep_alive=True),
          # The same from a loop that parses nothing: what is left to the
          # kernel, the caches and wrk.
          Curve("floor-epoll-kept", "/answer", CLIENTS, keep_alive=True))


def job_for(curve, clients, live, seconds):
    """Return the tool and what it shall do: ab a number of requests on new
    connections, wrk as many as it can on those that it keeps."""
    if curve.keep_alive:
        return "wrk", load.Job((live.url(curve.path),), connections=clients,
                               seconds=max(seconds,
                                           clients / CLIENTS_A_SECOND))
    return "ab", load.Job(addresses(live, curve.path, clients),
                          connections=clients, keep_alive=False, seconds=60,
                          requests=max(REQUESTS, FOR_EACH * clients))


def measure(curve, clients, redis, folder, seconds):
    """Return a run: its rate (answers a second), "lost" (requests without
    one), and for each answer: "us" and "tool_us", CPU microseconds of the
    server and of the load tool; "cookies", SYN cookies (the kernel sends them
    while the SYN queue is full); "segments", TCP segments of both sides, and
    of Redis; "late_acks", those that TCP sent because 40 ms were over."""
    start = servers.Start(cores=cost.SERVER_CORES, redis=redis.address,
                          host="0.0.0.0", backlog=curve.queue)
    with servers.running(cost.known(curve.server), start,
                         os.path.join(folder, "flat.log")) as live, \
            meter.of_tree(live.pid) as cpu:
        tool, job = job_for(curve, clients, live, seconds)
        before, sent = cpu.read(), counters()
        result = load.run(tool, job, cost.LOAD_CORES)
        procfs.settle(live.pid)
        seconds_used = (cpu.read() - before).total
    if not result.good:
        raise load.LoadError(f"{curve.server} answered nothing")
    return {"rate": result.rate, "us": 1e6 * seconds_used / result.good,
            "tool_us": 1e6 * result.cpu / result.good,
            "lost": result.failed + (result.unfinished or 0),
            **{name: (after - sent[name]) / result.good
               for name, after in counters().items()}}


def counters():
    """Return what the kernel has counted in this network so far."""
    tcp = sockets.tcp_counters()
    return {"cookies": tcp.get("SyncookiesSent", 0),
            "segments": sockets.segments_sent(),
            "late_acks": tcp.get("DelayedACKs", 0)}


def summarize(curve, runs):
    """Return one curve: medians, the number of clients at its best, and the
    rate at each number over that one in the same round (of these the median:
    a machine that is slower for a while is so for a round)."""
    rates = {clients: statistics.median(run["rate"] for run in cell)
             for clients, cell in runs.items()}
    best = max(rates, key=rates.get)
    return {"curve": curve.name, "server": curve.server, "best": best,
            "points": {str(clients): {
                "rate": rates[clients],
                "share": statistics.median(
                    run["rate"] / base["rate"]
                    for run, base in zip(cell, runs[best])),
                **{name: statistics.median(run[name] for run in cell)
                   for name in EACH},
                "min": min(run["rate"] for run in cell),
                "max": max(run["rate"] for run in cell),
                "lost": sum(run["lost"] for run in cell)}
                for clients, cell in runs.items()}}


def run_all(repeat, seconds, folder):
    """Measure all cells `repeat` times; return {curve: {clients: runs}}."""
    def once(curve, clients):
        with RedisServer(cost.LOAD_CORES) as redis:
            return measure(curve, clients, redis, folder, seconds)

    found = committed.in_rounds(
        [(curve, clients) for curve in CURVES for clients in curve.clients],
        repeat, once, lambda run: f"{run['rate']:8.0f}/s {run['us']:6.1f} us "
                                  f"{run['lost']:3} lost")
    return {curve: {clients: found[curve, clients]
                    for clients in curve.clients} for curve in CURVES}


def main():
    options = committed.parser(__doc__, "flat.json").parse_args()
    try:
        own_network.enter(LONG_QUEUE)
    except OSError as error:
        sys.exit(f"flat.py: no network of its own ({error}), in which queues "
                 "can be as long as the clients are many: run it as root (or "
                 "allow user namespaces; older kernels hide net.core.somaxconn "
                 "in them)")
    servers.raise_descriptor_limit()
    for name in dict.fromkeys(curve.server for curve in CURVES):
        why = cost.usable(name)
        if why:
            sys.exit(f"flat.py: {name}: {why}")
    with tempfile.TemporaryDirectory(prefix="bench-flat-") as folder:
        found = run_all(options.repeat, options.seconds, folder)
    curves = [summarize(curve, runs) for curve, runs in found.items()]
    for one in curves:
        for clients, point in one["points"].items():
            print(f"{one['curve']:20} {one['server']:12} {clients:>6} clients "
                  f"{point['rate']:8.0f}/s  {point['share']:.2f} of its best  "
                  f"{point['us']:7.1f} us  "
                  f"{point['lost']} lost")
    committed.write(options, "make bench-flat", curves=curves)


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, servers.ServerError) as error:
        sys.exit(f"flat.py: {error}")
