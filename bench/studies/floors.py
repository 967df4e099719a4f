#!/usr/bin/env python3
"""How far each design is above its floor: CPU microseconds for a request.

    make floors                                six rounds of all seven
    make floors ROUNDS=12 SERVERS=epoll,poll SECONDS=1

A floor (bench/peers/floors) makes the system calls of its server and does no
work between them, so the ratio of the two is what HTTP costs, and how well the
server is written. A ratio below 1 is a defect of the floor: find it, with
`python3 -m bench check-floors` for the calls.

/answer is asked for by 100 clients of wrk, on a new connection for each
request; 06 and 07 also on connections that are kept. The server has one core,
the load another. A round measures every design once, in random order: a server
and its floor one after the other, so that a machine that is slower for a while
is slower for both. The ratio is the median of the rounds' ratios. Its interval
lies between order statistics: it contains the true median in 95 of 100 cases,
whatever the distribution. That takes six rounds.

Where the load tool is the bottleneck, the floor is idle more often than the
server, and an event loop that is idle gets fewer clients from one epoll_wait.
Its cost for a request then contains more of these calls than the server's does.

Writes results/<UTC time>-floors/floors.json, and nothing else.
"""

import argparse
import math
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.studies import committed
from bench.studies import cost
from bench import load
from bench import peers
from bench.run import servers

NEW, KEPT = "new connections", "kept connections"
SCENARIOS = {NEW: "one-shot-100", KEPT: "keep-alive-100"}
FEWEST = 6              # rounds that give an interval of 95 %


def pairs(chosen):
    """Return [(design, load, floor)], of the servers `chosen` or of all."""
    found = []
    for name in chosen or cost.ALL:
        name = servers.named(name).name
        found.append((name, NEW, f"floor-{name}"))
        if name in cost.EVENT:
            found.append((name, KEPT, f"floor-{name}-kept"))
    return found


def interval(values):
    """Return (low, high), between which the median of what `values` are a
    sample of lies with 95 %; None with too few of them."""
    ordered, n = sorted(values), len(values)
    outside = 0.0       # that the median is below the value at `place`
    for place in range(n):
        outside += math.comb(n, place) / 2 ** n
        if outside > 0.025:
            return (ordered[place - 1], ordered[n - place]) if place else None
    return None


def compare(server, floor):
    """Return what rounds of a server and of its floor say; both are rows of
    cost.measure(), a round each."""
    ratios = [a["us"] / b["us"] for a, b in zip(server, floor)]
    found = interval(ratios)
    return {"rounds": len(ratios), "ratio": statistics.median(ratios),
            "low": found[0] if found else None,
            "high": found[1] if found else None, "ratios": ratios,
            **{name: {key: statistics.median(row[key] for row in rows)
                      for key in ("us", "user_us", "system_us")}
               for name, rows in (("server", server), ("floor", floor))},
            "failed": sum(row["failed"] for row in (*server, *floor))}


def sentence(row):
    """Return a line of the table."""
    if row["low"] is None:
        sure = f"no interval of so few rounds ({row['rounds']})"
    elif row["high"] < 1:
        sure = f"{row['low']:.2f} to {row['high']:.2f}: BELOW ITS FLOOR"
    else:
        sure = f"{row['low']:.2f} to {row['high']:.2f}"
    lost = f"  {row['failed']} requests failed" if row["failed"] else ""
    return (f"{row['design']:12} {row['load']:17} "
            f"{row['server']['us']:8.2f} {row['floor']['us']:8.2f} "
            f"{row['ratio']:6.2f}   {sure}{lost}")


def measure_all(wanted, rounds, seconds, folder):
    """Return the rows of `wanted`, see pairs()."""
    scenarios = {one.name: one for one in cost.SCENARIOS}

    def both(design, told, floor):
        scenario = scenarios[SCENARIOS[told]]
        rows = {name: cost.measure(scenario, name, folder, None, seconds)
                for name in random.sample((design, floor), 2)}
        return rows[design], rows[floor]

    found = committed.in_rounds(
        wanted, rounds, both,
        lambda rows: " / ".join(f"{row['us']:.2f} us" for row in rows))
    return [{"design": design, "load": told,
             **compare(*zip(*found[design, told, floor]))}
            for design, told, floor in wanted]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    env = os.environ.get
    parser.add_argument("--servers", default=env("SERVERS") or "")
    parser.add_argument("--rounds", dest="repeat", type=int,
                        default=int(env("ROUNDS") or FEWEST))
    parser.add_argument("--seconds", type=float,
                        default=float(env("SECONDS") or 2))
    parser.add_argument("--out", type=Path, default=Path(
        servers.TOP, "results",
        time.strftime("%Y%m%dT%H%M%SZ-floors", time.gmtime()), "floors.json"))
    options = parser.parse_args()
    try:
        wanted = pairs(options.servers.replace(",", " ").split())
    except KeyError as error:
        parser.error(f"there is no server {error}")
    servers.raise_descriptor_limit()
    for name in {name for design, _, floor in wanted
                 for name in (design, floor)}:
        why = cost.usable(name)
        if why:
            sys.exit(f"floors.py: {name}: {why}")
    with tempfile.TemporaryDirectory(prefix="bench-floors-") as folder:
        rows = measure_all(wanted, options.repeat, options.seconds, folder)
    print(f"\n{'':30} CPU us for a request\n{'':30} {'server':>8} {'floor':>8} "
          f"{'ratio':>6}   95 % interval of the ratio")
    for row in rows:
        print(sentence(row))
    committed.write(options, "make floors", floors=rows)


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, peers.PeerError, servers.ServerError) as error:
        sys.exit(f"floors.py: {error}")
