#!/usr/bin/env python3
"""What one request costs the server: CPU microseconds, beside the floors.

    make bench-cost                        all, interleaved, medians of REPEAT
    make bench-cost SCENARIOS=keep-alive-100,idle REPEAT=3 SECONDS=2

Requests per second say little when the load tool is the bottleneck. The CPU
time of the server divided by the requests that it answered does not depend on
who was waiting for whom. Server on one core, load and Redis on the other. The
floors (bench/peers/floors) make the same system calls and do nothing between
them, so what a server costs above its floor is what it does itself.

Writes results/<UTC time>-cost/cost.json and cost.csv, and prints a table.
"""

import argparse
import csv
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace

from bench.run import process as child
from bench import load
from bench.machine import facts as machine
from bench.meter import cpu as meter
from bench import peers
from bench.meter import procfs
from bench.run import servers
from bench import config as settings
from bench.run.redis import RedisServer

TOP = servers.TOP
SERVER_CORES = frozenset(settings.cores(os.environ.get("SERVER_CPUS") or "0"))
LOAD_CORES = frozenset(os.sched_getaffinity(0)) - SERVER_CORES or SERVER_CORES
EVENT = ("poll", "epoll")
BLOCKING = ("iterative", "preforking", "prethreaded")
ALL = ("iterative", "forking", "preforking", "threaded", "prethreaded",
       "poll", "epoll")
PEERS = ("nginx", "lighttpd", "h2o", "haproxy", "libmicrohttpd", "libevent",
         "hyper", "go", "node")
FLOORS = tuple(f"floor-{name}" for name in ALL)
KEPT_FLOORS = tuple(f"floor-{name}-kept" for name in EVENT)
STATIC_PEERS = ("nginx", "nginx-ofc", "lighttpd", "h2o")
IDLE_CONNECTIONS = 15000


@dataclass(frozen=True)
class Scenario:
    """One load, put on each of `names`; `base` is what ratios are taken of."""

    name: str
    path: str
    names: tuple
    base: str
    connections: int = 100
    keep_alive: bool = True
    script: str = None          # for wrk
    redis: bool = False
    extra: dict = field(default_factory=dict)   # options by server name


SCENARIOS = [
    Scenario("keep-alive-100", "/answer", KEPT_FLOORS + ALL + PEERS,
             "floor-epoll-kept"),
    Scenario("keep-alive-1000", "/answer", KEPT_FLOORS + EVENT + PEERS,
             "floor-epoll-kept", connections=1000),
    Scenario("one-shot-100", "/answer", FLOORS + ALL + PEERS, "floor-epoll",
             keep_alive=False),
    Scenario("pipelined-16", "/answer", EVENT + ("prethreaded", "nginx", "h2o"),
             "epoll", script=os.path.join(TOP, "bench", "pipeline.lua")),
    Scenario("file-10k", "/10k", EVENT + ("prethreaded",) + STATIC_PEERS,
             "epoll"),
    Scenario("file-1m", "/1m", EVENT + ("prethreaded",) + STATIC_PEERS,
             "epoll", connections=20),
    Scenario("guestbook", "/guestbook", ALL, "epoll", keep_alive=False,
             redis=True),
    Scenario("guestbook-pipelined", "/guestbook", ALL, "epoll",
             keep_alive=False, redis=True,
             extra={name: ("--pipeline",) for name in ALL}),
]


def known(name):
    """Return the server or peer `name`; a Server stays what it is."""
    if isinstance(name, servers.Server):
        return name
    try:
        return servers.named(name)
    except KeyError:
        return peers.Peer(name)


def used(pid):
    """Return the CPU seconds of a process tree so far."""
    return sum(procfs.cpu_time(procfs.tree(pid)))


def site_with_files(folder):
    """Make a root folder with the project's site and the files to fetch."""
    public = os.path.join(folder, "public")
    os.mkdir(public)
    os.symlink(os.path.join(TOP, "templates"),
               os.path.join(folder, "templates"))
    for name, size in (("10k", 10 * 1024), ("1m", 1024 * 1024)):
        with open(os.path.join(public, name), "wb") as file:
            file.write(random.Random(size).randbytes(size))
    return folder


def start_for(scenario, server, root, redis):
    """Return how to start `server` for `scenario`."""
    extra = scenario.extra.get(server.name, ())
    if scenario.path in ("/10k", "/1m") and server.kind == "architecture":
        extra += ("--root", root)
    return servers.Start(cores=SERVER_CORES, extra=extra,
                         redis=redis.address if scenario.redis else "none",
                         public=os.path.join(root, "public"))


def measure(scenario, name, root, redis, seconds, cores=SERVER_CORES):
    """Put the load on one server (its name, or a Server) once. Returns a row:
    CPU microseconds per request, user and system apart, requests a second,
    failures."""
    server = known(name)
    log = os.path.join(root, f"{server.name}.log")
    start = replace(start_for(scenario, server, root, redis), cores=cores)
    with servers.running(server, start, log) as live, \
            meter.of_tree(live.pid) as cpu:
        job = load.Job(urls=(live.url(scenario.path),), seconds=seconds,
                       connections=scenario.connections,
                       keep_alive=scenario.keep_alive, script=scenario.script)
        before = cpu.read()
        result = load.run("wrk", job, LOAD_CORES)
        procfs.settle(live.pid)
        used = cpu.read() - before
    if not result.good:
        raise load.LoadError(f"{server.name}: no request was answered")
    each = 1e6 / result.good
    return {"scenario": scenario.name, "server": server.name,
            "us": used.total * each, "user_us": used.user * each,
            "system_us": used.system * each,
            "rps": result.rate, "good": result.good, "failed": result.failed}


IDLE_CLIENT = r"""
import resource, socket, sys
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
kept = []
for _ in range(count):
    s = socket.create_connection((host, port), 30)
    s.sendall(b"GET /answer HTTP/1.1\r\nHost: localhost\r\n\r\n")
    if not s.recv(4096).startswith(b"HTTP/1.1 200"):
        sys.exit("no answer")
    kept.append(s)
print("open", flush=True)
sys.stdin.read()
"""


def idle_memory(name, root, count, clients=1, workers=None):
    """Open `count` connections, a request on each, and leave them idle.
    Returns a row with the bytes of user-space memory (PSS) per connection,
    what the server had before subtracted."""
    server = known(name)
    extra = ("--keep-alive", "600") if server.kind == "architecture" else ()
    start = servers.Start(cores=SERVER_CORES, extra=extra, workers=workers)
    def pss(pid):
        return sum(procfs.proportional_memory(one.pid)
                   for one in procfs.tree(pid))
    with servers.running(server, start, os.path.join(root, "idle.log")) as live:
        with socket.create_connection(("127.0.0.1", live.port), 5) as one:
            one.sendall(b"GET /answer HTTP/1.1\r\nHost: localhost\r\n\r\n")
            one.recv(4096)
        before = pss(live.pid)
        crowd = [subprocess.Popen(
            [sys.executable, "-c", IDLE_CLIENT, f"127.0.0.{2 + i}"
             if start.host == "0.0.0.0" else "127.0.0.1", str(live.port),
             str(count // clients)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) for i in range(clients)]
        try:
            if any(one.stdout.readline().strip() != b"open" for one in crowd):
                raise load.LoadError("not all idle connections were opened")
            after = pss(live.pid)
        finally:
            for one in crowd:
                one.stdin.close()
                one.wait()
    return {"scenario": f"idle-{count}", "server": name,
            "bytes": (after - before) / count, "connections": count}


def plan(wanted, repeat):
    """Return [(scenario, name)] in an order that spreads what drifts: each
    round has every cell once, shuffled."""
    cells = []
    shuffle = random.Random(1)
    for _ in range(repeat):
        turn = [(scenario, name) for scenario in wanted
                for name in scenario.names]
        shuffle.shuffle(turn)
        cells += turn
    return cells


def usable(name):
    """Build a peer; return why it cannot take part, or ""."""
    server = known(name)
    if server.problem():
        return server.problem()
    if server.kind != "architecture":
        try:
            server.build()
        except peers.PeerError as error:
            return str(error)
    return ""


def summarize(rows, wanted):
    """Return {scenario: {server: {"us", "ratio", "min", "max", ...}}}."""
    table = {}
    for scenario in wanted:
        own = [row for row in rows if row["scenario"] == scenario.name]
        lines = {}
        for name in dict.fromkeys(row["server"] for row in own):
            values = [row["us"] for row in own if row["server"] == name]
            rates = [row["rps"] for row in own if row["server"] == name]
            lines[name] = {
                "us": statistics.median(values), "min": min(values),
                "max": max(values), "runs": len(values),
                "rps": statistics.median(rates),
                "failed": sum(row["failed"] for row in own
                              if row["server"] == name)}
        base = lines.get(scenario.base, {}).get("us")
        for line in lines.values():
            line["ratio"] = line["us"] / base if base else None
        table[scenario.name] = lines
    return table


def show(table, idle):
    """Print the tables."""
    for scenario, lines in table.items():
        print(f"\n{scenario}: CPU microseconds of the server per request")
        for name, line in sorted(lines.items(), key=lambda item: item[1]["us"]):
            ratio = f"{line['ratio']:6.3f}" if line["ratio"] else "     -"
            print(f"  {name:20} {line['us']:9.2f}  x {ratio}  "
                  f"({line['min']:.2f} to {line['max']:.2f})  "
                  f"{line['rps']:10.0f} req/s  {line['failed']} failed")
    if idle:
        print("\nidle: bytes of user-space memory per idle connection")
        for row in idle:
            print(f"  {row['server']:20} {row['bytes']:9.0f}  "
                  f"({row['connections']} connections)")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    env = os.environ.get
    parser.add_argument("--scenarios", default=env("SCENARIOS", ""))
    parser.add_argument("--servers", default=env("SERVERS", ""))
    parser.add_argument("--repeat", type=int, default=int(env("REPEAT") or 5))
    parser.add_argument("--seconds", type=float,
                        default=float(env("SECONDS") or 2))
    parser.add_argument("--out", default=env("OUT", ""))
    options = parser.parse_args()
    chosen = [word for word in options.scenarios.split(",") if word]
    only = [word for word in options.servers.split(",") if word]
    wanted = [s for s in SCENARIOS if not chosen or s.name in chosen]
    servers.raise_descriptor_limit()

    missing = {}
    for name in sorted({name for s in wanted for name in s.names}):
        why = usable(name)
        if why:
            missing[name] = why
            print(f"left out: {name}: {why}")
    cells = [(s, name) for s, name in plan(wanted, options.repeat)
             if name not in missing
             and (not only or name in only or name == s.base)]
    out = options.out or os.path.join(
        TOP, "results", time.strftime("%Y%m%dT%H%M%SZ-cost", time.gmtime()))
    os.makedirs(out, exist_ok=True)

    rows, idle, errors = [], [], []
    with tempfile.TemporaryDirectory(prefix="bench-cost-") as folder, \
            RedisServer(LOAD_CORES) as redis:
        root = site_with_files(folder)
        began = time.monotonic()
        for number, (scenario, name) in enumerate(cells):
            if number:
                left = (time.monotonic() - began) / number * (len(cells) - number)
                print(f"\r{number}/{len(cells)}  {left:4.0f} s left  "
                      f"{scenario.name} {name}".ljust(70), end="",
                      file=sys.stderr, flush=True)
            try:
                rows.append(measure(scenario, name, root, redis,
                                    options.seconds))
            except (load.LoadError, servers.ServerError) as error:
                errors.append(f"{scenario.name} {name}: {error}")
        print(file=sys.stderr)
        if not chosen or "idle" in chosen:
            for name in EVENT + tuple(n for n in ("nginx", "go")
                                      if n not in missing):
                try:
                    idle.append(idle_memory(name, root, IDLE_CONNECTIONS))
                except (load.LoadError, servers.ServerError) as error:
                    errors.append(f"idle {name}: {error}")
    table = summarize(rows, wanted)
    show(table, idle)
    for error in errors:
        print("failed:", error)
    with open(os.path.join(out, "cost.json"), "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "machine": machine.facts(),
                   "command": "make bench-cost", "repeat": options.repeat,
                   "seconds": options.seconds, "left_out": missing,
                   "errors": errors, "cost": table, "idle": idle}, file,
                  indent=1)
        file.write("\n")
    with open(os.path.join(out, "cost.csv"), "w", encoding="utf-8",
              newline="") as file:
        writer = csv.DictWriter(file, ["scenario", "server", "us", "user_us",
                                       "system_us", "rps", "good", "failed"])
        writer.writeheader()
        writer.writerows(rows)
    print(f"\nwritten to {os.path.relpath(out, TOP)}/")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
