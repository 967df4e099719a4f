#!/usr/bin/env python3
"""Measure wake_up.c, for docs/01: what a wait costs on an idle core.

    docs/experiments/wake_up.py [--rounds N] [--repeat N] [--out FILE]

Each way is measured once in each turn, in an order by chance. The file gets
the median of the turns' medians, and the smallest and largest of these; by
default that is where fill.py looks for it. Needs two cores.

What an idle core does is up to the system: a guest may be told to look around
before it halts (machine.HALT_POLL). Where it is, the figures are kept under
"look around", else under "halt"; measure both, and the file has both.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))
from bench.machine import facts as machines  # noqa: E402

WAYS = [(kind, way) for kind in ("tcp", "unix") for way in ("sleep", "look")]
OUT = TOP / "docs" / "results" / "reference" / "wake_up.json"
PROGRAM = TOP / "build" / "experiments" / "wake_up"


def build():
    """Compile the program. Raises CalledProcessError."""
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Wconversion",
         "-o", PROGRAM, Path(__file__).with_suffix(".c")], check=True)


def measure(kind, way, cores, rounds):
    """Return {"median_us", "p99_us"} of a round trip. Raises
    CalledProcessError, and TimeoutExpired after a minute."""
    done = subprocess.run(
        [PROGRAM, kind, way, *map(str, cores), str(rounds)], check=True,
        timeout=60, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def before(path):
    """Return the tables that the file holds, if it is of this machine."""
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    if data["machine"] != machines.facts():
        return {}
    return {idle: data[idle] for idle in ("halt", "look around")
            if idle in data}


def main():
    """Do what the head of this file says; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Measure what sleeping and waking add to a round trip.")
    parser.add_argument("--rounds", type=int, default=20000,
                        help="round trips for each figure (20000)")
    parser.add_argument("--repeat", type=int, default=9,
                        help="turns; the median counts (9)")
    parser.add_argument("--out", type=Path, default=OUT,
                        help="file to write (docs/results/reference/...)")
    options = parser.parse_args()

    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("wake_up.py: this needs two cores; there is one",
              file=sys.stderr)
        return 1
    build()
    runs = {way: [] for way in WAYS}
    for turn in range(options.repeat):
        for way in random.sample(WAYS, len(WAYS)):
            run = measure(*way, cores, options.rounds)
            runs[way].append(run)
            print(f"{turn + 1}/{options.repeat} {way[0]:4} {way[1]:5} "
                  f"{run['median_us']:7.2f} us", flush=True)
    around_us = (machines.halt_poll_ns() or 0) / 1000
    table = {"around_us": around_us, "rounds": options.rounds,
             "repeat": options.repeat}
    for (kind, way), found in runs.items():
        medians = [run["median_us"] for run in found]
        table.setdefault(kind, {})[way] = {
            "us": round(statistics.median(medians), 2),
            "least": round(min(medians), 2), "most": round(max(medians), 2)}
    data = {**before(options.out), "machine": machines.facts(),
            "look around" if around_us else "halt": table}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(data, indent=1) + "\n")
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
