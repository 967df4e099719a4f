#!/usr/bin/env python3
"""Measure accept_ways.c: direct, mutex, turn and queue, for docs/05.

    docs/experiments/accept_ways.py [--seconds S] [--repeat N] [--out FILE]

The server's 100 threads are bound to the first core, and in a second variant
to all cores, where the load tool (wrk, a new connection for each request) is
in their way. Ways, numbers of clients and variants are shuffled anew in each
round. The file gets the median of each figure, and the slowest and fastest
round; by default that is where fill.py looks for it.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))
from bench.run import process as child  # noqa: E402
from bench import load  # noqa: E402
from bench.machine import facts as machines  # noqa: E402

WAYS = ("direct", "mutex", "turn", "queue")
CLIENTS = (1, 10, 100, 400)
THREADS = 100
OUT = TOP / "docs" / "results" / "reference" / "accept_ways.json"
PROGRAM = TOP / "build" / "experiments" / "accept_ways"


def build():
    """Compile the program. Raises CalledProcessError."""
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Wconversion",
         "-I", TOP / "bench" / "peers" / "floors", "-pthread", "-o", PROGRAM,
         Path(__file__).with_suffix(".c")], check=True)


def measure(way, clients, server_cores, load_cores, seconds):
    """Run one way once; return its figures as a dict.

    cpu_us is microseconds of CPU a request; switches are those of the
    server, a request. Raises LoadError when nothing could be measured.
    """
    with tempfile.TemporaryFile("w+") as output:
        port = child.free_port()
        server = child.spawn([str(PROGRAM), way, str(port), str(THREADS)],
                             server_cores, output)
        try:
            time.sleep(0.2)
            job = load.Job((f"http://127.0.0.1:{port}/answer",),
                           connections=clients, seconds=seconds,
                           keep_alive=False)
            result = load.run("wrk", job, load_cores)
        finally:
            _, clean = child.stop(server)
        output.seek(0)
        printed = output.read()
    if not clean or not printed:
        raise load.LoadError(f"{way}: the server ended badly: {printed!r}")
    told = json.loads(printed)
    requests = told["requests"]
    if not requests:
        raise load.LoadError(f"{way}: no request was answered")
    return {
        "rate": result.rate,
        "failed_percent": result.failed_percent,
        "p50_ms": result.p50, "p99_ms": result.p99,
        "cpu_us": 1e6 * (told["user_s"] + told["system_s"]) / requests,
        "cpu_user_us": 1e6 * told["user_s"] / requests,
        "switches": (told["voluntary"] + told["involuntary"]) / requests,
        "switches_involuntary": told["involuntary"] / requests,
        "load_busy": 100 * result.cpu / result.wall,
    }


def summary(runs):
    """Return {figure: median} of several runs, with the extremes of rate."""
    found = {name: statistics.median(run[name] for run in runs)
             for name in runs[0] if all(run[name] is not None for run in runs)}
    found["rate_min"] = min(run["rate"] for run in runs)
    found["rate_max"] = max(run["rate"] for run in runs)
    return {name: round(value, 4) for name, value in found.items()}


def main():
    parser = argparse.ArgumentParser(
        description="Measure four ways to share a listening socket.")
    parser.add_argument("--seconds", type=float, default=3.0,
                        help="of load for each figure (3)")
    parser.add_argument("--repeat", type=int, default=5,
                        help="rounds; the median counts (5)")
    parser.add_argument("--out", type=Path, default=OUT,
                        help="file to write (docs/results/reference/...)")
    options = parser.parse_args()

    build()
    machine = machines.layout(frozenset({min(os.sched_getaffinity(0))}))
    variants = {"one core": machine.server_cores,
                "all cores": machine.all_cores}
    cells = [(variant, way, clients) for variant in variants for way in WAYS
             for clients in CLIENTS]
    runs = {cell: [] for cell in cells}
    for turn in range(options.repeat):
        random.shuffle(cells)
        for variant, way, clients in cells:
            run = measure(way, clients, variants[variant], machine.load_cores,
                          options.seconds)
            runs[variant, way, clients].append(run)
            print(f"{turn + 1}/{options.repeat} {variant:9} {way:6} "
                  f"{clients:4} clients {run['rate']:8,.0f}/s "
                  f"{run['cpu_us']:6.1f} us {run['switches']:5.2f} switches",
                  flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    data = {"threads": THREADS, "seconds": options.seconds,
            "repeat": options.repeat, "machine": machines.facts(),
            "cells": [{"variant": variant, "way": way, "clients": clients,
                       **summary(runs[variant, way, clients])}
                      for variant, way, clients in sorted(runs)]}
    options.out.write_text(json.dumps(data, indent=1) + "\n")
    print(f"written to {options.out}")


if __name__ == "__main__":
    try:
        main()
    except load.LoadError as error:
        sys.exit(f"accept_ways.py: {error}")
