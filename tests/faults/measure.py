"""What the promises of docs/reference/promises.md cost in time, measured.

    make reliability            all seven; writes results/reliability.json
    python -m tests.faults.measure SERVERS...

The tests of this folder say whether a promise is kept, with a margin for busy
machines. This says by how much, once, on a quiet one. Seconds unless named
otherwise.
"""

import json
import os
import signal
import statistics
import sys
import time

from tests.support.client import build
from tests.support.site import Site
from tests.support.crowd import Crowd
from tests.support.faulty_redis import CUT, DELAY, FaultyRedis
from tests.support.load import Load
from tests.support.private_redis import PrivateRedis
from tests.support.scenarios import (away, crowd, few_descriptors, exactly_once, recovery,
                                     replacement, slow_clients)
from tests.support.servers import FOLDERS, TOP, Server, serving
from tools.kit.servers import LOOP, POOL, SEQUENTIAL, WORKER_EACH

OUT = TOP / "results" / "reliability.json"
PLACES = 4
BOUND = serving(PLACES, SEQUENTIAL, WORKER_EACH, POOL, LOOP)
TIMEOUT = 2.0               # --request-timeout where clients are slow
SLOW = 2000                 # clients that drip a byte a second
SILENT = 500
DESCRIPTORS = 64
CROWD = 500
BUSY = 200                  # clients that are served when the server is stopped


class Bench:
    """Starts servers of one kind, one at a time."""

    def __init__(self, name, site):
        self.name = name
        self.site = site
        self.server = None

    def start(self, *options, redis="none", **settings):
        """Start it in place of the last one; return it."""
        self.end()
        self.server = Server(TOP / self.name, "-p", 0, "--root",
                             self.site.root, "--redis", redis, *options,
                             **settings)
        return self.server

    def end(self):
        """End the one that runs."""
        if self.server:
            self.server.end()
        self.server = None


def slow(bench):
    """A normal client among slow ones, as many as the model has places for."""
    if bench.name not in ("poll", "epoll"):
        places = 1 if bench.name == "iterative" else PLACES
        server = bench.start(*BOUND[bench.name], "--request-timeout", TIMEOUT)
        return {"slow_clients": places,
                "slow_wait": slow_clients(server, places)}
    server = bench.start("--request-timeout", 6)
    drip = Crowd(server.address, SLOW, 1.0)
    try:
        drip.wait_until_ready()
        load = Load(server, 1)
        load.wait_for_answers(500)
        load.stop()
        figures = drip.finish()
    finally:
        drip.end()
    assert figures["refused"] == SLOW and figures["reset"] == 0
    assert load.faults == []
    return {"slow_clients": SLOW,
            "slow_wait": statistics.quantiles(load.latencies, n=100)[-1]}


def silent(bench):
    """A normal client behind 500 that are connected and silent."""
    server = bench.start(*BOUND[bench.name])
    connections = [server.connect() for _ in range(SILENT)]
    began = time.monotonic()
    assert server.request("/answer").body == b"42"
    took = time.monotonic() - began
    for connection in connections:
        connection.close()
    return {"silent_wait": took}


def dead_worker(bench):
    """Until there is another in its place."""
    if bench.name not in ("preforking", "epoll"):
        return {}
    server = bench.start("--workers", PLACES)
    return {"replaced": max(replacement(server) for _ in range(5))}


def redis(bench):
    """Away, frozen, cutting its replies, slow; and back."""
    instance = PrivateRedis()
    proxy = None
    try:
        server = bench.start(redis=instance.address)
        recovery(server)
        instance.stop()
        found = {"redis_away": away(server)}
        instance.start()
        found["redis_back"] = recovery(server)
        instance.freeze()
        found["redis_frozen"] = away(server, 1)
        instance.thaw()
        found["redis_thawed"] = recovery(server)
        proxy = FaultyRedis(instance.port)
        sound = proxy.mode
        server = bench.start(redis=proxy.address)
        recovery(server)
        proxy.mode = CUT
        found["redis_cut"] = away(server)
        proxy.mode = sound
        recovery(server)
        proxy.mode, proxy.seconds = DELAY, 1.5
        found["redis_slow"] = away(server, 1)
        return found
    finally:
        if proxy:
            proxy.close()
        instance.close()


def remarks(bench):
    """Redis killed and restarted five times under eight guests."""
    instance = PrivateRedis("--appendonly", "yes", "--appendfsync", "always")
    try:
        server = bench.start(redis=instance.address)
        recovery(server)
        thanked, refused, lost, twice = exactly_once(server, instance)
        return {"thanked": thanked, "refused": refused, "lost": lost,
                "twice": twice}
    finally:
        instance.close()


def few(bench):
    """500 clients together, where there are 64 descriptors."""
    server = bench.start(preexec_fn=few_descriptors)
    began = time.monotonic()
    with crowd(server, build("/hello", fields=[("Connection", "close")]),
               CROWD) as connections:
        for connection in connections:
            assert connection.read_response().body == b"Hello, World!"
    return {"few_descriptors": time.monotonic() - began}


def stop(bench):
    """SIGTERM under 200 clients."""
    server = bench.start("--drain-timeout", 30)
    load = Load(server, BUSY, ["/answer", "/hello", "/"])
    load.wait_for_answers(3 * BUSY)
    began = time.monotonic()
    server.send_signal(signal.SIGTERM)
    requests, _ = server.finish()
    took = time.monotonic() - began
    load.stop()
    return {"stop": took, "stop_served": requests,
            "stop_answered": load.answered, "stop_broken": len(load.faults)}


def main():
    """Return the exit status."""
    names = sys.argv[1:] or list(FOLDERS)
    found = json.loads(OUT.read_text()) if OUT.is_file() else {}
    found = {"schema_version": 1, "servers": found.get("servers", {}),
             "settings": {"places": PLACES, "request_timeout": TIMEOUT,
                          "slow": SLOW, "silent": SILENT, "crowd": CROWD,
                          "descriptors": DESCRIPTORS, "busy": BUSY,
                          "cores": len(os.sched_getaffinity(0))}}
    for name in names:
        row = found["servers"][name] = {}
        site = Site()
        bench = Bench(name, site)
        try:
            for scenario in (slow, silent, dead_worker, redis, remarks, few,
                             stop):
                print(f"{name}: {scenario.__doc__.splitlines()[0]}",
                      flush=True)
                row.update(scenario(bench))
        finally:
            bench.end()
            site.remove()
        print(f"  {row}")
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
