#!/usr/bin/env python3
"""What the way to Redis costs: TCP or a Unix socket, one command or three.

    make bench-redis-ways                      all, medians of REPEAT

A guestbook page sends Redis three commands. One at a time, each sent when the
previous reply has arrived, they are three round trips; with --pipeline they are
one. TCP to 127.0.0.1 passes through all of the kernel's network code, a Unix
socket only through a queue. Nothing else differs. Each page is a new connection.

Writes docs/results/cost/store.json, from which docs/performance.md is filled.
"""

import subprocess
import sys
import tempfile

from bench.studies import committed
from bench.studies import cost
from bench import load
from bench.studies import redis_limit
from bench.run import servers
from bench.run.redis import RedisServer

WAYS = {    # what it is called: over a unix socket?, options
    "TCP": (False, ()), "unix": (True, ()),
    "TCP, at once": (False, ("--pipeline",)),
    "unix, at once": (True, ("--pipeline",)),
}


def run_all(repeat, seconds, folder):
    """Measure every server each way, in rounds, shuffled; return
    {server: {way: rows}}."""
    def once(name, way):
        unix, extra = WAYS[way]
        with RedisServer(cost.LOAD_CORES) as redis:
            return redis_limit.served(folder, name, False, redis, seconds,
                                      unix=unix, extra=extra)

    found = committed.in_rounds(
        [(name, way) for name in cost.ALL for way in WAYS], repeat, once,
        lambda row: f"{row['pages']:7.0f} pages/s {row['server_us']:6.1f} us, "
                    f"Redis {row['us']:5.1f} us")
    return {name: {way: found[name, way] for way in WAYS}
            for name in cost.ALL}


def main():
    options = committed.parser(__doc__, "store.json",
                               seconds=1.0).parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-redis-ways-") as folder:
        found = run_all(options.repeat, options.seconds, folder)
    committed.write(options, "make bench-redis-ways", servers={
        name: {way: committed.medians(rows) for way, rows in ways.items()}
        for name, ways in found.items()})


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, servers.ServerError,
            subprocess.CalledProcessError) as error:
        sys.exit(f"redis_ways.py: {error}")
