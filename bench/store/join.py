"""Join runs into one: a published grid takes hours, and can be made in pieces.

    python3 -m bench join FOLDER RUN...     RUN: folders that `make compare` left

Writes samples.csv, calls.csv, env.json and summary.json to FOLDER, as if all
had been one run. env.json is that of the first, and lists all under `joined`,
with the experiments whose samples it gave. Runs of different machines or
commits are refused; so are two that measured the same cell. Below
docs/results, where figures are committed, so are runs of changed sources, and
those of which more than a tenth of the cells is noisy.
"""

import csv
import json
import os
import shutil
import sys

from bench import experiments
from bench.run.servers import TOP
from bench.store import rundir
from bench.store import summaries

CELL = ("experiment", "variant", "server", "x", "repeat")
CALL = ("experiment", "variant", "server", "call")
COMMITTED = os.path.join(TOP, "docs", "results")
NOISY = 0.1             # of the cells, at most, where they are committed


class JoinError(Exception):
    """The runs are not parts of one, or not fit to be committed; the text
    says why."""


def join(folder, runs):
    """Write the joined run to `folder`; return its number of samples.

    Raises JoinError, and OSError when the files of a run are not there.
    """
    committed = os.path.abspath(folder).startswith(COMMITTED + os.sep)
    environments = [_environment(run) for run in runs]
    first = environments[0]
    for run, env in zip(runs, environments):
        if env["machine"] != first["machine"]:
            raise JoinError(f"{run} was measured on another machine, or with "
                            "other limits")
        if _commit(env) != _commit(first):
            raise JoinError(f"{run} was measured at another commit")
        if committed:
            check_fit(env, summaries.make(run))
    parts = [rundir.read_rows(os.path.join(run, "samples.csv"))
             for run in runs]
    rows = [row for part in parts for row in part]
    seen = [tuple(row[key] for key in CELL) for row in rows]
    if len(set(seen)) < len(seen):
        twice = next(cell for cell in seen if seen.count(cell) > 1)
        raise JoinError("measured in two runs: "
                        + " ".join(str(part) for part in twice if part))
    calls = {tuple(row[key] for key in CALL): row for run in runs
             for row in rundir.read_rows(os.path.join(run, "calls.csv"))}

    os.makedirs(folder, exist_ok=True)
    write_rows(os.path.join(folder, "samples.csv"), rows)
    write_rows(os.path.join(folder, "calls.csv"), list(calls.values()))
    rundir.write_json(os.path.join(folder, "env.json"), {
        **first, "joined": [
            {"experiments": list(dict.fromkeys(row["experiment"]
                                               for row in part)),
             **{key: env.get(key) for key in
                ("started", "source", "settings", "seed", "looks", "network",
                 "preflight", "harness_overhead_percent")}}
            for part, env in zip(parts, environments)]})
    rundir.write_json(os.path.join(folder, "summary.json"),
                      summaries.make(folder))
    return len(rows)


def _environment(run):
    with open(os.path.join(run, "env.json"), encoding="utf-8") as file:
        return json.load(file)


def _commit(env):
    return env.get("source", {}).get("commit")


def check_fit(env, summary):
    """Raise JoinError unless a run may be committed: its sources are those of
    a commit, and few of its cells are noisy."""
    if env.get("source", {}).get("changed", True):
        raise JoinError("measured with changes that are in no commit")
    points = [one for experiment in summary["experiments"]
              for curve in experiment["curves"] for one in curve["points"]
              if one["rate"]]
    noisy = sum(bool(one["noisy"]) for one in points)
    if noisy > NOISY * len(points):
        raise JoinError(f"{noisy} of {len(points)} cells are noisy; at most "
                        f"{100 * NOISY:.0f} % may be: measure again on a "
                        "quiet machine")


def commit(run, summary, label=""):
    """Copy a run to docs/results, as COMMIT=1 asks for; return a sentence.
    `label` is the name of a study. Raises JoinError."""
    check_fit(_environment(run), summary)
    folder = os.path.join(COMMITTED, "studies", label) if label \
        else os.path.join(COMMITTED, "reference")
    shown = os.path.relpath(folder)
    there = {one["name"] for one in summary["experiments"]}
    if not label and not there.issuperset(experiments.ORDER):
        return (f"This is a part of the reference. With the others it becomes "
                f"one:  python3 -m bench join {shown} {os.path.relpath(run)} "
                "...")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(run):
        if name.endswith((".csv", ".json")):
            shutil.copy(os.path.join(run, name), folder)
    return f"Ready to be committed: {shown}/"


def write_rows(path, rows):
    """Write dicts as CSV; the columns are those of all of them."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: rundir.as_text(value)
                             for key, value in row.items()})


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
