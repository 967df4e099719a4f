#!/usr/bin/env python3
"""Where the microseconds of a request go, for each of the seven.

    make bench-where                           all, medians of REPEAT
    make bench-where SERVERS=epoll REPEAT=1 SECONDS=1

For each load: a timed pass (CPU time in user code and in the kernel, context
switches, page faults), then a pass in which the system calls are counted by
name, and one under callgrind for user instructions. The floors, which make the
same system calls and do nothing between them, take part in the first two.

Writes docs/results/cost/where.json, from which docs/performance.md is filled.
"""

import os
import random
import statistics
import sys
import tempfile

from bench.studies import committed
from bench.studies import cost
from bench import load
from bench.meter import cpu as meter
from bench.run import servers
from bench.meter import syscalls
from bench.meter.costs import CostMeter
from bench.run.redis import RedisServer

from bench.meter import instructions

# A pool that serves one client at a time warms up one worker after the other,
# which would be counted as a cost of the requests.
ONE_WORKER = {"preforking": ["--workers", "1"],
              "prethreaded": ["--threads", "1"]}
LOADS = {       # scenario of cost.py: its floors
    "keep-alive-100": cost.KEPT_FLOORS,
    "one-shot-100": cost.FLOORS,
    "guestbook": (),
    "file-10k": (),
}
FIGURES = ("cpu_us", "cpu_user_us", "cpu_system_us", "switches",
           "switches_involuntary", "faults")


def put_load(live, scenario, seconds, tick=None):
    """Put a scenario's load on a server; return the load.Result."""
    job = load.Job(urls=(live.url(scenario.path),), seconds=seconds,
                   connections=scenario.connections,
                   keep_alive=scenario.keep_alive)
    result = load.run("wrk", job, cost.LOAD_CORES, tick)
    if not result.good:
        raise load.LoadError(f"{scenario.name} {live.server.name}: no request "
                             f"was answered ({load.last_line(result.output)})")
    return result


def running(name, scenario, root, redis):
    """Run a server for a scenario: the context manager of servers.py."""
    server = cost.known(name)
    return servers.running(server, cost.start_for(scenario, server, root,
                                                  redis),
                           os.path.join(root, f"{name}.log"))


def timed(name, scenario, root, redis, seconds):
    """Return {figure: a request's share} of one timed run."""
    with running(name, scenario, root, redis) as live, \
            meter.of_tree(live.pid) as cpu:
        costs = CostMeter(live, cpu=cpu)
        costs.begin()
        costs.end(put_load(live, scenario, seconds, costs.tick))
    values = costs.finish()
    return {figure: values.get(figure) for figure in FIGURES}


def counted(name, scenario, root, redis):
    """Return {system call: times a request} of one run of a second."""
    with running(name, scenario, root, redis) as live:
        return syscalls.count(
            syscalls.counter(), live, cost.LOAD_CORES,
            lambda: put_load(live, scenario, 1).good)


def instructions_of(server, scenario, root, redis):
    """Return user instructions per request of a server, counted by callgrind;
    None where they cannot be counted."""
    options = ["--root", root] if scenario.path in ("/10k", "/1m") else []
    options += ONE_WORKER.get(server, [])
    if scenario.redis:
        options += ["--redis", redis.address]
    few, many = (160, 960) if scenario.path != "/1m" else (20, 60)
    if server == "forking":         # valgrind takes long to fork
        few, many = 20, 70
    talk = instructions.Talk(scenario.path, scenario.keep_alive,
                             16 if scenario.script else 1)
    try:
        return round(instructions.per_request(
            os.path.join(servers.TOP, server), options, talk, few, many))
    except RuntimeError as error:
        print(f"not counted: {error}", flush=True)
        return None


def medians(runs):
    """Return {figure: median}; None where no run could tell."""
    found = {}
    for figure in FIGURES:
        values = [run[figure] for run in runs if run[figure] is not None]
        found[figure] = statistics.median(values) if values else None
    return found


def main():
    parser = committed.parser(__doc__, "where.json")
    parser.add_argument("--servers", default=os.environ.get("SERVERS", ""))
    options = parser.parse_args()
    chosen = [word for word in options.servers.split(",") if word] or cost.ALL
    scenarios = {one.name: one for one in cost.SCENARIOS}
    cells = [(name, server) for name, floors in LOADS.items()
             for server in (*floors, *chosen)]
    for _, server in cells:
        problem = cost.usable(server)
        if problem:
            sys.exit(f"where.py: {problem}")

    runs = {cell: [] for cell in cells}
    table = {}
    with tempfile.TemporaryDirectory(prefix="bench-where-") as folder, \
            RedisServer(cost.LOAD_CORES) as redis:
        root = cost.site_with_files(folder)
        for number in range(options.repeat):
            for name, server in random.sample(cells, len(cells)):
                run = timed(server, scenarios[name], root, redis,
                            options.seconds)
                runs[name, server].append(run)
                print(f"{number + 1}/{options.repeat} {name:16} {server:20} "
                      f"{run['cpu_us']:8.2f} us", flush=True)
        for name, server in cells:
            calls = counted(server, scenarios[name], root, redis)
            row = {**medians(runs[name, server]), "calls": calls}
            if server in cost.ALL:
                row["instructions"] = instructions_of(
                    server, scenarios[name], root, redis)
            table.setdefault(name, {})[server] = row
            print(f"{name:16} {server:20} {calls['all']:6.2f} calls "
                  f"{row.get('instructions', '')} instructions", flush=True)

    committed.write(options, "make bench-where",
                    counter=syscalls.counter().name, where=table)


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, servers.ServerError,
            syscalls.SyscallError) as error:
        sys.exit(f"where.py: {error}")
