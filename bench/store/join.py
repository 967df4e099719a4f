#!/usr/bin/env python3
"""Join runs into one: a published grid takes hours, and can be made in pieces.

    bench/join.py FOLDER RUN...      RUN: folders that `make compare` left

Writes samples.csv, calls.csv, env.json and summary.json to FOLDER, as if all
had been one run. env.json is that of the first, and lists all under `joined`,
with the experiments whose samples it gave.
Runs of different machines are refused; so are two that measured the same cell.
"""

import csv
import json
import os
import sys

from bench.store import rundir as results
from bench.analyse import summary

CELL = ("experiment", "variant", "server", "x", "repeat")
CALL = ("experiment", "variant", "server", "call")


class JoinError(Exception):
    """The runs are not parts of one; the text says why."""


def join(folder, runs):
    """Write the joined run to `folder`; return its number of samples.

    Raises JoinError, and OSError when the files of a run are not there.
    """
    environments = []
    for run in runs:
        with open(os.path.join(run, "env.json"), encoding="utf-8") as file:
            environments.append(json.load(file))
    first = environments[0]
    for run, env in zip(runs, environments):
        if env["machine"] != first["machine"]:
            raise JoinError(f"{run} was measured on another machine, or with "
                            "other limits")
    parts = [results.read_rows(os.path.join(run, "samples.csv"))
             for run in runs]
    rows = [row for part in parts for row in part]
    cells = [tuple(row[key] for key in CELL) for row in rows]
    if len(set(cells)) < len(cells):
        twice = next(cell for cell in cells if cells.count(cell) > 1)
        raise JoinError("measured in two runs: "
                        + " ".join(str(part) for part in twice if part))
    calls = {tuple(row[key] for key in CALL): row for run in runs
             for row in results.read_rows(os.path.join(run, "calls.csv"))}

    os.makedirs(folder, exist_ok=True)
    write_rows(os.path.join(folder, "samples.csv"), rows)
    write_rows(os.path.join(folder, "calls.csv"), list(calls.values()))
    results.write_json(os.path.join(folder, "env.json"), {
        **first, "joined": [
            {"experiments": list(dict.fromkeys(row["experiment"]
                                               for row in part)),
             **{key: env.get(key) for key in
                ("started", "source", "settings", "seed", "preflight",
                 "harness_overhead_percent")}}
            for part, env in zip(parts, environments)]})
    results.write_json(os.path.join(folder, "summary.json"),
                       summary.make(folder))
    return len(rows)


def write_rows(path, rows):
    """Write dicts as CSV; the columns are those of all of them."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: results.as_text(value)
                             for key, value in row.items()})


def main():
    """Do what the head of this file says; return the exit status."""
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        count = join(sys.argv[1], sys.argv[2:])
    except (JoinError, OSError) as error:
        print(f"join: {error}", file=sys.stderr)
        return 1
    print(f"{sys.argv[1]}: {count} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
