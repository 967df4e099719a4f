"""From the rows of a run to the costs that model.py predicts with, and back from costs to a
predicted curve for each measured one.

    python3 -m tools.observe calibrate RUN    writes costs.json into the folder of a run

Only cells with at most MOST clients count. All else is prediction. Exit status: 0, 1 when a
run cannot be read, 2 for a wrong call.
"""

import os
import pathlib
import statistics
import sys

from tools.kit import TOP
from tools.model import explain, model, trivial
from tools.results import rundir

MOST = 20       # clients that ask; idle ones come in addition
# {variant, or experiment without one: page of the model}
PAGES = {"guestbook": "guestbook", "new connections": "answer", "keep-alive": "answer kept"}
# The load with idle clients, of the studies calibrate and idle-connections, and its busy ones.
IDLE, BUSY = "10 busy clients", 10


def page_of(experiment, variant):
    """Return the page that a variant of an experiment asks for, None where the model has none."""
    known = experiment in ("guestbook", "answer", "calibrate")
    return PAGES.get(variant or experiment) if known else None


def median(rows, key):
    """Return the median of a column, 0.0 without figures."""
    return statistics.median([row[key] for row in rows if row.get(key) is not None] or [0.0])


def calibrate(rows, costs):
    """Return a copy of `costs` with what rows of samples.csv say: CPU times of pages, delay of
    a wake-up, poll's scan. Of several cells of a page, the one with the most clients counts.
    Raises ValueError when no row counts."""
    cells = {}      # {(server, page, clients): [row, ...]}
    for row in rows:
        page = page_of(row["experiment"], row["variant"])
        if row["rate"] and row["cpu_us"] and row["load_busy"] and row["x"] <= MOST and page \
                and row["server"] in model.WORKERS:
            cells.setdefault((row["server"], page, row["x"]), []).append(row)
    if not cells:
        raise ValueError(f"no row has guestbook or answer with at most {MOST} clients")
    machine, servers = dict(costs["machine"]), {}
    for (server, page, _), some in sorted(cells.items()):
        rate = median(some, "rate")
        servers.setdefault(server, {})[page] = {
            "server_us": round(median(some, "cpu_us"), 3),
            "redis_us": round(1e4 * median(some, "redis_busy") / rate, 3)
            if page in model.TRIPS else 0.0,
            "load_us": round(1e4 * median(some, "load_busy") / rate, 3)}
    machine["wake_us"] = round(wake_up(cells, machine["wake_us"]), 3)
    machine["scan_us"] = round(scan(rows, machine["scan_us"]), 4)
    return {**costs, "machine": machine, "servers": servers}


def of_machine(costs, machine, what):
    """Return `costs` as those of a `machine` of env.json, with `what` they come from."""
    size = machine.get("cache_kib") or costs["machine"]["cache_kib"]
    return {**costs, "machine": {**costs["machine"], "cache_kib": size},
            "source": {"what": what, "cpu": machine["cpu"], "most_clients": MOST}}


def wake_up(cells, known):
    """Return the delay of a wake-up (us): what is left of a guestbook page of 01, whose only
    worker is always occupied, without CPU times; `known` where there is no such cell."""
    some = [rows for (server, page, clients), rows in sorted(cells.items())
            if (server, page) == ("iterative", "guestbook") and clients > 1]
    if not some:
        return known
    us = 1e6 / median(some[-1], "rate")
    redis, tool = (median(some[-1], key) / 100 for key in ("redis_busy", "load_busy"))
    left = us - median(some[-1], "cpu_us") - us * redis * (1 + min(1, tool))
    return max(0.0, left / model.TRIPS["guestbook"])


def scan(rows, known):
    """Return what a descriptor takes in a turn of poll (us), from cells of poll with idle
    connections; `known` without them."""
    mine = [row for row in rows
            if row["variant"] == IDLE and row["rate"] and row["server"] == "poll"]
    least = min((row["x"] for row in mine), default=0)
    base = median([row for row in mine if row["x"] == least], "cpu_us")
    # The busy clients that are not at the load tool share a turn.
    found = [(row["cpu_us"] - base) / row["x"] * max(1.0, BUSY - row["load_busy"] / 100)
             for row in mine if row["x"] >= 1000]
    return max(0.0, statistics.median(found)) if found else known


def completed(costs, known):
    """Return `costs` with the servers and pages that only `known` has; their times are
    multiplied by the median ratio of those that both have."""
    ratio = statistics.median([
        cost["server_us"] / known["servers"][server][page]["server_us"]
        for server, pages in costs["servers"].items() for page, cost in pages.items()
        if page in known["servers"].get(server, ())] or [1.0])
    servers = dict(costs["servers"])
    for server, pages in known["servers"].items():
        mine = servers.get(server, {})
        servers[server] = {page: mine.get(page) or {key: us * ratio for key, us in cost.items()}
                           for page, cost in pages.items()}
    return {**costs, "servers": servers}


def row_of(experiment, curve, point):
    """Return a point of a summary as a row: what all its rounds say together."""
    return {**point["values"], "experiment": experiment["name"], "variant": curve["variant"],
            "server": curve["server"], "x": point["x"], "rate": point["rate"]["middle"]}


def rows_of(summary):
    """Return the points of a summary as rows."""
    return [row_of(experiment, curve, point) for experiment in summary["experiments"]
            for curve in experiment["curves"] for point in curve["points"] if point["rate"]]


def predict(summary, known):
    """Put the model's rate into each point of a summary, as "predicted", the most that is possible,
    as "bound", and sentences about wrong ones next to those of each curve. The costs `known` count
    where the run itself does not tell; a run without cells of few clients gets no prediction."""
    try:
        costs = calibrate(rows_of(summary), known)
    except ValueError:
        return
    # A kept connection that is closed needs the costs of a new one, which a run may lack.
    whole = completed(costs, known)
    titles = {one["name"]: one["title"] for one in summary["servers"]}
    for experiment in summary["experiments"]:
        for curve, said in zip(experiment["curves"], experiment["sentences"]["each"]):
            server, page = curve["server"], page_of(experiment["name"], curve["variant"])
            if page not in costs["servers"].get(server, ()):
                continue
            wrong = {}      # {what the model lacks: [cell, ...]}
            for point in curve["points"]:
                if not point["rate"]:
                    continue
                row = row_of(experiment, curve, point)
                setting = model.Setting(server, page, row["x"])
                answer = model.solve(whole, setting)
                point["predicted"] = answer.rate
                point["bound"] = trivial.bound(whole, setting)
                text = explain.lacks(setting, answer, row)
                if text:
                    wrong.setdefault(text, []).append(
                        f"{answer.rate / row['rate']:.2f} at {row['x']:,}")
            said["text"] = " ".join([said["text"], *(
                f"{titles[server]}: predicted rate / measured rate is {', '.join(cells)}. "
                f"The model lacks this: {text}." for text, cells in wrong.items())]).strip()


def main(words):
    """Write the costs that a run tells into its folder; return the exit status."""
    if len(words) != 1 or words[0].startswith("-"):
        print("python3 -m tools.observe calibrate RUN   a run of make study NAME=calibrate, or "
              "of make compare FULL=1", file=sys.stderr)
        return 2
    folder = pathlib.Path(words[0])
    try:
        costs = calibrate(rundir.read_rows(folder / "samples.csv"), model.load())
        machine = rundir.read_json(folder / "env.json")["machine"]
        rundir.write_json(folder / "costs.json", of_machine(
            costs, machine, os.path.relpath(folder, TOP)))
        print(folder / "costs.json")
    except (OSError, ValueError) as error:
        print(f"calibrate: {error}", file=sys.stderr)
        return 1
    return 0
