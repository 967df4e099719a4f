#!/usr/bin/env python3
"""Is Redis the limit? What a guestbook page costs Redis, and what the server.

    make bench-redis                           all, medians of REPEAT

A page is three commands. redis-benchmark sends each of them as fast as Redis
takes them, with so many in a pipeline: Redis alone on its core serves
1 / (1/a + 1/b + 1/c) pages a second at the rates a, b, c. Beside it stand 06
and 07, which send what several clients ask for in one write (a page's commands
one after the other, or with --pipeline all three at once): what Redis uses for
a page of theirs, and what the server itself uses. The dearer of the two is the
limit, wherever each has a core of its own.

Writes docs/results/cost/redis.json, from which docs/performance.md is filled.
"""

import os
import re
import subprocess
import sys
import tempfile
from functools import partial

from bench.studies import committed
from bench.studies import cost
from bench import load
from bench.meter import cpu as meter
from bench.meter import procfs
from bench.run import servers
from bench.run.redis import RedisServer

COMMANDS = (("LRANGE", "guestbook_remarks", "-100", "-1"),
            ("INCR", "visitor_count"), ("GET", "visitor_count"))
PIPELINES = (1, 3, 16, 64)  # commands in a write of redis-benchmark
CLIENTS = 50                # of redis-benchmark, and of a server
LOADS = {"new connections": (False, ()), "kept connections": (True, ()),
         "kept connections, --pipeline": (True, ("--pipeline",))}


def rate_of(words, pipeline, redis, seconds):
    """Return how many of one command Redis carries out in a second, and its
    CPU microseconds for each."""
    number = int(seconds * (20_000 if pipeline == 1 else 100_000))
    before = cost.used(redis.pid)
    done = subprocess.run(
        ["taskset", "-c", ",".join(map(str, sorted(cost.SERVER_CORES))),
         "redis-benchmark", "-p", str(redis.port), "-c", str(CLIENTS),
         "-P", str(pipeline), "-n", str(number), "-q", *words],
        capture_output=True, text=True, check=True)
    used = cost.used(redis.pid) - before
    found = re.findall(r"([\d.]+) requests per second", done.stdout)
    if not found:
        raise load.LoadError("no report from redis-benchmark")
    return float(found[-1]), 1e6 * used / number


def alone(pipeline, redis, seconds):
    """Return a row: pages a second that Redis alone could serve."""
    rates, costs = zip(*(rate_of(words, pipeline, redis, seconds)
                         for words in COMMANDS))
    return {"pages": 1 / sum(1 / rate for rate in rates), "us": sum(costs)}


def served(folder, name, keep_alive, redis, seconds, unix=False, extra=()):
    """Return a row: pages a second that a server with the options `extra`
    served, and the CPU microseconds of Redis and of the server for each."""
    start = servers.Start(cores=cost.SERVER_CORES, extra=extra,
                          redis=redis.unix if unix else redis.address)
    with servers.running(servers.named(name), start,
                         os.path.join(folder, "redis.log")) as live, \
            meter.of_tree(live.pid) as cpu:
        job = load.Job((live.url("/guestbook"),), connections=CLIENTS,
                       seconds=seconds, keep_alive=keep_alive)
        before = cpu.read().total, cost.used(redis.pid)
        result = load.run("wrk", job, cost.LOAD_CORES)
        procfs.settle(live.pid)
        after = cpu.read().total, cost.used(redis.pid)
    if not result.good or result.failed:
        raise load.LoadError(f"{name}: {result.good} pages, {result.failed} "
                             "failed")
    server, redis_own = (1e6 * (b - a) / result.good
                         for a, b in zip(before, after))
    return {"pages": result.rate, "us": redis_own, "server_us": server}


def main():
    options = committed.parser(__doc__, "redis.json").parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-redis-") as folder:
        ways = {**{f"redis-benchmark, {pipeline} in a pipeline":
                   partial(alone, pipeline) for pipeline in PIPELINES},
                **{f"{name}, {told}": partial(served, folder, name, kept,
                                              extra=extra)
                   for name in cost.EVENT
                   for told, (kept, extra) in LOADS.items()}}
        runs = {way: [] for way in ways}
        for number in range(options.repeat):
            for way, measure in ways.items():
                with RedisServer(cost.LOAD_CORES) as redis:
                    row = measure(redis, options.seconds)
                runs[way].append(row)
                print(f"{number + 1}/{options.repeat} {way:36} "
                      + "  ".join(f"{key} {value:.1f}"
                                  for key, value in row.items()), flush=True)
    committed.write(options, "make bench-redis", ways={
        way: committed.medians(rows) for way, rows in runs.items()})


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, servers.ServerError,
            subprocess.CalledProcessError) as error:
        sys.exit(f"redis_limit.py: {error}")
