#!/usr/bin/env python3
"""Several event loops on one port: who gets the clients, and what it costs.

    make bench-reuseport                       all, medians of REPEAT

`./epoll --workers N` gives each loop a listening socket of its own
(SO_REUSEPORT), and the kernel chooses one by a hash of the addresses.

Spread: keep-alive connections are held open, and each loop's descriptors are
counted. "calm" opens them one after the other; "burst" is wrk, which opens all
of them at once and then keeps the loops busy. Cost: CPU microseconds per
request with one and with two loops, on one core (nothing but the second loop
is different), and on two of which the load has a part.

Writes docs/results/cost/reuseport.json, from which docs/performance.md is
filled.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

from bench.studies import committed
from bench.studies import cost
from bench import load
from bench.meter import procfs
from bench.run import servers

LOOPS = 2
CONNECTIONS = (1000, 10000)
QUEUE = "a queue for each loop"
WAYS = {"one loop": 1, QUEUE: LOOPS}
COST_LOADS = ("keep-alive-100", "one-shot-100")
CORES = {"one core": cost.SERVER_CORES,
         "two cores": cost.SERVER_CORES | cost.LOAD_CORES}


class Counter:
    """Counts how many clients each loop of a running server has."""

    def __init__(self, live):
        self.pids = [one.pid for one in procfs.tree(live.pid)
                     if one.pid != live.pid]
        if len(self.pids) != LOOPS:
            raise servers.ServerError(f"{len(self.pids)} loops run, not "
                                      f"{LOOPS}")
        self.before = [procfs.open_descriptors(pid) for pid in self.pids]

    def clients(self):
        """Return the clients of each loop."""
        return [procfs.open_descriptors(pid) - before
                for pid, before in zip(self.pids, self.before)]


def calm(live, count):
    """Open `count` connections one after the other, ask once on each, keep
    them; return how many each loop got."""
    counter = Counter(live)
    crowd = subprocess.Popen(
        [sys.executable, "-c", cost.IDLE_CLIENT, "127.0.0.1", str(live.port),
         str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if crowd.stdout.readline().strip() != b"open":
            raise load.LoadError("not all connections were opened")
        return counter.clients()
    finally:
        crowd.stdin.close()
        crowd.wait()


def burst(live, count):
    """Let wrk open `count` connections at once and use them; return how many
    each loop had when there were most."""
    counter, seen = Counter(live), []

    def tick():
        now = counter.clients()
        seen.append((sum(now), now))
        return time.monotonic() + 0.25

    job = load.Job(urls=(live.url("/answer"),), connections=count, seconds=3)
    load.run("wrk", job, cost.LOAD_CORES, tick)
    return max(seen)[1]


def spread(arrive, count, root):
    """Return the clients of each loop after `count` have arrived."""
    start = servers.Start(cores=CORES["two cores"], workers=LOOPS,
                          extra=("--keep-alive", "600"))
    with servers.running(servers.named("epoll"), start,
                         os.path.join(root, "spread.log")) as live:
        clients = arrive(live, count)
    if sum(clients) < 0.98 * count:
        raise load.LoadError(f"of {count} clients only {sum(clients)} were "
                             "connected at once")
    return clients


def far(clients):
    """Return how far the loop that is farthest off is from the mean, in per
    cent of the mean."""
    mean = sum(clients) / len(clients)
    return 100 * max(abs(one - mean) for one in clients) / mean


def measure_spread(root, repeat):
    """Return the cells of the spread, each with the median of its rounds."""
    cells = []
    for arrive in (calm, burst):
        for count in CONNECTIONS:
            runs = [spread(arrive, count, root) for _ in range(repeat)]
            offs = [far(run) for run in runs]
            cells.append({"queue": QUEUE, "arrival": arrive.__name__,
                          "connections": count, "clients": runs,
                          "off": statistics.median(offs),
                          "off_max": max(offs)})
            print(f"{arrive.__name__:6} {count:6} {runs}", flush=True)
    return cells


def measure_cost(root, repeat, seconds):
    """Return the cells of the cost; `ratio` is that of a round's figure to
    the one with a single loop in the same round, of these the median."""
    scenarios = {one.name: one for one in cost.SCENARIOS}

    def once(name, cores, way):
        scenario = replace(scenarios[name],
                           extra={"epoll": ("--workers", str(WAYS[way]))})
        return cost.measure(scenario, "epoll", root, None, seconds,
                            CORES[cores])

    cells = [(name, cores, way) for name in COST_LOADS for cores in CORES
             for way in WAYS]
    found = committed.in_rounds(cells, repeat, once,
                                lambda row: f"{row['us']:8.2f} us")
    runs = {cell: [row["us"] for row in rows] for cell, rows in found.items()}
    return [{"scenario": name, "cores": cores, "way": way,
             "us": statistics.median(runs[name, cores, way]),
             "ratio": statistics.median(
                 mine / base for mine, base in
                 zip(runs[name, cores, way], runs[name, cores, "one loop"]))}
            for name, cores, way in cells]


def main():
    options = committed.parser(__doc__, "reuseport.json").parse_args()
    servers.raise_descriptor_limit()
    with tempfile.TemporaryDirectory(prefix="bench-reuseport-") as root:
        found = {"spread": measure_spread(root, options.repeat),
                 "cost": measure_cost(root, options.repeat, options.seconds)}
    committed.write(options, "make bench-reuseport", loops=LOOPS, **found)


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, servers.ServerError) as error:
        sys.exit(f"reuseport.py: {error}")
