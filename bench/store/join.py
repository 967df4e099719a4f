"""Join runs into one: a published grid takes hours, and can be made in pieces.

    python3 -m bench join FOLDER RUN...     RUN: folders of `make compare`

Writes samples.csv, calls.csv, env.json and summary.json to FOLDER, as if all
had been one run. env.json is that of the first, and lists all under `joined`.
Runs of different machines or commits are refused; so are two that measured the
same cell. Below docs/results, where figures are committed, so are runs of
changed sources, and those of which more than a tenth of the cells is noisy.
"""

import collections
import os
import shutil
import sys

from bench import experiments
from bench.run.servers import TOP
from bench.store import rundir, summaries

CELL = ("experiment", "variant", "server", "x", "repeat")
COMMITTED = os.path.join(TOP, "docs", "results")
NOISY = 0.1             # of the cells, at most, where they are committed


def committed():
    """Return the committed run's folder: the reference, or one too noisy to become it."""
    reference = os.path.join(COMMITTED, "reference")
    return reference if os.path.isdir(reference) else os.path.join(COMMITTED, "provisional")


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
        if os.path.abspath(folder).startswith(COMMITTED + os.sep):
            check_fit(env, summaries.make(run))
    samples, calls = ([row for run in runs for row in rundir.read_rows(os.path.join(run, name))]
                      for name in ("samples.csv", "calls.csv"))
    cells = collections.Counter(" ".join(str(row[key] or "") for key in CELL)
                                for row in samples)
    [(cell, count)] = cells.most_common(1)
    if count > 1:
        raise JoinError(f"measured in two runs: {cell}")
    os.makedirs(folder, exist_ok=True)
    rundir.write_rows(os.path.join(folder, "samples.csv"), samples, list(samples[0]))
    rundir.write_rows(os.path.join(folder, "calls.csv"), calls, rundir.CALLS)
    rundir.write_json(os.path.join(folder, "env.json"), {
        **first,
        "looks": {name: seen for env in envs for name, seen in env.get("looks", {}).items()
                  if seen},
        "joined": [{key: env[key] for key in ("started", "source", "settings", "seed",
                                              "preflight")} for env in envs]})
    rundir.write_json(os.path.join(folder, "summary.json"), summaries.make(folder))
    return len(samples)


def check_fit(env, summary):
    """Raise JoinError unless a run may be committed: its sources are those of
    a commit, and few of its cells are noisy."""
    if env["source"].get("changed", True):
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
    check_fit(rundir.read_json(os.path.join(run, "env.json")), summary)
    folder = os.path.join(COMMITTED, *(("studies", label) if label else ("reference",)))
    shown = os.path.relpath(folder)
    there = {one["name"] for one in summary["experiments"]}
    if not label and not there.issuperset(experiments.ORDER):
        return ("This is a part of the reference. With the others it becomes one:  python3 -m "
                f"bench join {shown} {os.path.relpath(run)} ...")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(run):
        if name.endswith((".csv", ".json")):
            shutil.copy(os.path.join(run, name), folder)
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
