"""Join runs into one: a published grid takes hours, and can be made in pieces.

    python3 -m tools.bench join FOLDER RUN...     RUN: folders of `make compare`

Writes the rows that were measured and env.json to FOLDER, as if all had been one run; `python3 -m
tools.bench report FOLDER` makes summary, charts and report from them. env.json is that of the
first, with the looks and the lengthened cells of all, and lists all under `joined`. A load that was
measured again has more rounds: those of the next run follow. Runs of different machines or commits
are refused, and one with AWAKE=1 together with one without. Below docs/results, where figures are
committed and CSV files are compressed, so are changed sources, and a whole of which more than a
tenth of the cells is noisy.
"""

import collections
import os
import pathlib
import sys

from tools.bench import experiments
from tools.kit import TOP, scratch
from tools.report import summaries
from tools.results import rundir

LOAD = ("experiment", "variant", "x")
CELL = ("variant", "server", "x")       # what names a cell in `lengthened`, see bench.run.session
CALL = ("experiment", "variant", "server", "call")
COMMITTED = os.path.join(TOP, "docs", "results")
REFERENCE = os.path.join(COMMITTED, "reference")
AWAKE = f"{REFERENCE}-awake"        # the same with AWAKE=1
NOISY = 0.1             # of the cells, at most, where they are committed


class JoinError(Exception):
    """The runs are not parts of one, or not fit to be committed; the text says why."""


def join(folder, runs):
    """Write the joined run to `folder`; return its number of samples. Raises JoinError, and
    OSError when the files of a run are not there."""
    envs = [rundir.read_json(os.path.join(run, "env.json")) for run in runs]
    first = envs[0]
    for run, env in zip(runs, envs):
        if env["machine"] != first["machine"]:
            raise JoinError(f"{run} was measured on another machine, or with other limits")
        if env["source"].get("commit") != first["source"].get("commit"):
            raise JoinError(f"{run} was measured at another commit")
        if env["settings"].get("awake", False) != first["settings"].get("awake", False):
            raise JoinError(f"{run} was measured with AWAKE=1, or the first was, and not both")
    if len({(env["started"], env["seed"]) for env in envs}) < len(envs):
        raise JoinError("one of the runs is named twice")
    samples, calls, counted = [], {}, []
    rounds = {}             # {LOAD of a row: rounds so far}
    for run in runs:
        before = dict(rounds)
        for row in rundir.read_rows(os.path.join(run, "samples.csv")):
            load = tuple(row[key] for key in LOAD)
            row["repeat"] += before.get(load, 0)
            rounds[load] = max(rounds.get(load, 0), row["repeat"])
            samples.append(row)
        for row in rundir.rows_of(run, "calls.csv"):
            calls[tuple(row[key] for key in CALL)] = row
        for row in rundir.rows_of(run, "counted.csv"):
            row["repeat"] += before.get(tuple(row[key] for key in LOAD), 0)
            counted.append(row)
    with scratch.folder("join") as new:
        rundir.write_rows(os.path.join(new, "samples.csv"), samples, list(samples[0]))
        rundir.write_rows(os.path.join(new, "calls.csv"), calls.values(), rundir.CALLS)
        if counted:
            rundir.write_rows(os.path.join(new, "counted.csv"), counted, rundir.COUNTED)
        rundir.write_json(os.path.join(new, "env.json"), {
            **first, **looked_at(envs, samples),
            "joined": [{key: part[key] for key in ("started", "source", "settings", "seed",
                                                   "preflight")}
                       for env in envs for part in env.get("joined", [env])]})
        committed = os.path.abspath(folder).startswith(COMMITTED + os.sep)
        if committed:
            check_fit(envs, summaries.make(new))
        rundir.copy(new, folder, compressed=committed)
    pathlib.Path(folder, "summary.json").unlink(missing_ok=True)    # that of another run
    return len(samples)


def looked_at(envs, samples):
    """Return {"looks": {experiment: [rounds after which one of the runs was looked at]},
    "lengthened": {experiment: {cell: its rounds in all}}, of those that got more than were planned
    in one of the runs}. `samples` are the rows of all."""
    looks, lengthened = {}, {}
    rounds = collections.Counter(
        (row["experiment"], " ".join(map(str, filter(None, map(row.get, CELL)))))
        for row in samples)
    for env in envs:
        for name, seen in env.get("looks", {}).items():
            if seen:
                looks[name] = sorted({*looks.get(name, ()), *seen})
        for name, some in env.get("lengthened", {}).items():
            lengthened.setdefault(name, {}).update((cell, rounds[name, cell]) for cell in some)
    return {"looks": looks, "lengthened": lengthened}


def check_fit(envs, summary):
    """Raise JoinError unless a run, or one joined of several, may be committed."""
    if any(env["source"].get("changed", True) for env in envs):
        raise JoinError("measured with changes that are in no commit")
    noisy = noisy_cells(summary)
    if sum(noisy) > NOISY * len(noisy):
        raise JoinError(f"{sum(noisy)} of {len(noisy)} cells are noisy; at most "
                        f"{100 * NOISY:.0f} % may be: measure again on a quiet machine")


def noisy_cells(summary):
    """Return whether it is noisy for each cell of a summary that has a rate."""
    return [bool(one["noisy"]) for experiment in summary["experiments"]
            for curve in experiment["curves"] for one in curve["points"] if one["rate"]]


def commit(run, summary, label=""):
    """Copy a run to docs/results, as COMMIT=1 asks for; return a sentence.
    `label` is the name of a study. Raises JoinError."""
    env = rundir.read_json(os.path.join(run, "env.json"))
    check_fit([env], summary)
    folder = os.path.join(COMMITTED, "studies", label) if label else (
        AWAKE if env["settings"].get("awake") else REFERENCE)
    shown = os.path.relpath(folder)
    there = {one["name"] for one in summary["experiments"]}
    if not label and not there.issuperset(experiments.ORDER):
        return ("This is a part of the reference. With the others it becomes one:  python3 -m "
                f"tools.bench join {shown} {os.path.relpath(run)} ...")
    rundir.copy(run, folder, compressed=True)
    return f"Ready to be committed: {shown}/"


def main(words):
    """Do what the head of this file says; return the exit status."""
    if len(words) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        count = join(words[0], words[1:])
    except (JoinError, OSError) as error:
        print(f"join: {error}", file=sys.stderr)
        return 1
    print(f"{words[0]}: {count} samples")
    return 0
