"""A machine, rows, summaries and a results folder for tests."""

import os

from tools.bench import experiments
from tools.bench.machine.facts import Machine
from tools.kit import wait
from tools.model import model
from tools.report import join
from tools.results import rundir
from tools.stats import summary

MACHINE = Machine(frozenset({0}), frozenset({1}), frozenset({0, 1}), 20000)     # two cores
KNOWN = {one.name: one for one in experiments.all_experiments()}
KEYS = ("cpu_us", "cpu_user_us", "foreign", "failed_percent", "server_busy", "load_busy",
        "p50_ms", "p99_ms", "max_ms")


def wait_until(true):
    """Wait until `true()` is; on the slowest machine that takes less than 240 seconds."""
    assert wait.until(true, 240)


def row(rate=10000.0, x=100, **more):
    """Return a row as samples.csv has them, of epoll in the experiment answer."""
    return {"experiment": "answer", "variant": "keep-alive", "server": "epoll",
            "kind": "architecture", "x": x, "repeat": 1, "status": "ok", "note": "", "tool": "ab",
            "rate": rate, "requests": 10**6, "limit": "server core", "evidence": f"{rate}", **more}


def summed_up(rows):
    """Return the summary of a run of the experiment answer with these rows."""
    known = [{"name": name, "title": name.title(), "chapter": ""} for name in model.WORKERS]
    calls = [{"server": "epoll", "variant": "keep-alive", "call": call, "per_request": each}
             for call, each in (("all", 4.0), ("read", 3.0), ("accept4", 1.0))]
    return {"servers": known, "columns": [{"key": "server_busy", "title": "busy", "unit": "%"}],
            "experiments": [summary.summarise(
                KNOWN["answer"], rows, calls, known, keys=KEYS,
                tools={"ab": "ab: from connect"}, adaptive=True)]}


def first_rounds(rows, count=3):
    """Return {(experiment, round): a new number from 1 on} of the first `count` rounds of each
    experiment in which most servers took part: a committed run is joined of parts, and some have
    few servers."""
    there = {}
    for row in rows:
        there.setdefault((row["experiment"], row["repeat"]), set()).add(row["server"])
    found = {}
    for name in {experiment for experiment, _ in there}:
        most = max(len(some) for (one, _), some in there.items() if one == name)
        best = sorted(at for at, some in there.items() if at[0] == name and len(some) == most)
        found.update({at: number for number, at in enumerate(best[:count], 1)})
    return found


def folder(out, names=tuple(model.WORKERS)):
    """Make a results folder below `out`, with the first three rounds that the committed run has of
    these servers together; return its path."""
    made = rundir.Folder(str(out)).path
    for table in ("samples.csv", "calls.csv"):
        rows = [one for one in rundir.read_rows(os.path.join(join.REFERENCE, table))
                if one["server"] in names]
        if "repeat" in rows[0]:
            kept = first_rounds(rows)
            rows = [{**one, "repeat": kept[one["experiment"], one["repeat"]]} for one in rows
                    if (one["experiment"], one["repeat"]) in kept]
        rundir.write_rows(os.path.join(made, table), rows, list(rows[0]))
    env = rundir.read_json(os.path.join(join.REFERENCE, "env.json"))
    rundir.write_json(os.path.join(made, "env.json"), env | {
        "complete": True, "source": {"commit": "a", "changed": False}, "looks": {},
        "machine": env["machine"] | {"cpu": "A <made-up> CPU"}, "left_out": [], "problems": [],
        "preflight": [{"what": "load average", "value": "9.0", "ok": False,
                       "remedy": "wait </script> a little"}]})
    return made
