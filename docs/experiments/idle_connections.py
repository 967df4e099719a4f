#!/usr/bin/env python3
"""Measure what idle connections cost the busy ones, for docs/06 and docs/07.

    docs/experiments/idle_connections.py [--seconds S] [--repeat N] [--out FILE]

Some thousand clients connect, ask once and are silent from then on, as
browsers are. Beside them 10 clients of wrk ask for /hello as fast as they get
answers. poll looks at all of them each time, epoll at those who ask. The file
gets the median of each figure; by default that is where fill.py looks for it.
"""

import argparse
import json
import os
import random
import resource
import socket
import statistics
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))
from bench import load  # noqa: E402
from bench.machine import facts as machines  # noqa: E402
from bench.run import servers  # noqa: E402
from bench.meter.costs import CostMeter  # noqa: E402

SERVERS = ("poll", "epoll")
IDLE = (0, 100, 1000, 2000, 5000, 10000)
BUSY = 10
OUT = TOP / "docs" / "results" / "reference" / "idle_connections.json"
REQUEST = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"


class IdleClients:
    """Connections that have had one answer and now keep silent."""

    def __init__(self, port, number):
        self.sockets = []
        try:
            for _ in range(number):
                one = socket.create_connection(("127.0.0.1", port), 10)
                self.sockets.append(one)
                one.sendall(REQUEST)
                if not one.recv(4096).startswith(b"HTTP/1.1 200"):
                    raise RuntimeError("an idle client was not answered")
        except BaseException:
            self.close()
            raise

    def close(self):
        """Close them all."""
        for one in self.sockets:
            one.close()


def measure(name, idle, machine, seconds):
    """Return the figures of one run as a dict. Raises ServerError,
    LoadError, OSError (too few descriptors)."""
    start = servers.Start(cores=machine.server_cores,
                          extra=("--keep-alive", "3600"))
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "server")
        with servers.running(servers.named(name), start, log) as live:
            clients = IdleClients(live.port, idle)
            try:
                meter = CostMeter(live)
                job = load.Job((live.url("/hello"),), connections=BUSY,
                               seconds=seconds)
                meter.begin()
                result = load.run("wrk", job, machine.load_cores, meter.tick)
                meter.end(result)
            finally:
                clients.close()
        values = meter.finish()
    return {"rate": result.rate, "p50_ms": result.p50, "p99_ms": result.p99,
            "failed_percent": result.failed_percent,
            **{key: values[key] for key in
               ("cpu_us", "cpu_user_us", "cpu_system_us", "switches",
                "server_busy", "load_busy", "pss_mib")}}


def summary(runs):
    """Return {figure: median} of several runs, with the extremes of rate."""
    found = {name: statistics.median(run[name] for run in runs)
             for name in runs[0] if all(run[name] is not None for run in runs)}
    found["rate_min"] = min(run["rate"] for run in runs)
    found["rate_max"] = max(run["rate"] for run in runs)
    return {name: round(value, 4) for name, value in found.items()}


def main():
    parser = argparse.ArgumentParser(
        description="Measure what idle connections cost poll and epoll.")
    parser.add_argument("--seconds", type=float, default=3.0,
                        help="of load for each figure (3)")
    parser.add_argument("--repeat", type=int, default=5,
                        help="rounds; the median counts (5)")
    parser.add_argument("--out", type=Path, default=OUT,
                        help="file to write (docs/results/reference/...)")
    options = parser.parse_args()

    machine = machines.layout(frozenset({min(os.sched_getaffinity(0))}))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < max(IDLE) + 200:
        sys.exit(f"idle_connections.py: {max(IDLE) + 200} descriptors are "
                 "needed; as root: ulimit -n 20000")
    cells = [(name, idle) for name in SERVERS for idle in IDLE]
    runs = {cell: [] for cell in cells}
    for turn in range(options.repeat):
        random.shuffle(cells)
        for name, idle in cells:
            run = measure(name, idle, machine, options.seconds)
            runs[name, idle].append(run)
            print(f"{turn + 1}/{options.repeat} {name:5} {idle:6,} idle "
                  f"{run['rate']:8,.0f}/s {run['cpu_us']:7.1f} us",
                  flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    data = {"busy": BUSY, "seconds": options.seconds,
            "repeat": options.repeat, "machine": machines.facts(),
            "cells": [{"server": name, "idle": idle,
                       **summary(runs[name, idle])}
                      for name, idle in sorted(runs)]}
    options.out.write_text(json.dumps(data, indent=1) + "\n")
    print(f"written to {options.out}")


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, servers.ServerError) as error:
        sys.exit(f"idle_connections.py: {error}")
