"""The summary of a results folder: its files and what is known of servers, tools and experiments,
put into stats.summary, which knows no files."""

import os

from tools.bench import experiments, load, peers
from tools.bench.studies import study
from tools.kit import TOP
from tools.kit.servers import ARCHITECTURES
from tools.model import calibrate, model
from tools.results import rundir
from tools.stats import summary

EXACT_FOLDER = os.path.join(TOP, "docs", "results", "exact")
EXACT = {                   # {key of an experiment: the file of what the exact machine counted}
    "exact": os.path.join(EXACT_FOLDER, "exact.json"),
    "deferred": os.path.join(EXACT_FOLDER, "deferred", "exact.json")}


def read(folder):
    """Return the summary of the results in `folder`: its summary.json; a new one, if that is of an
    older version, and of results that are committed, which are rows only. Raises OSError and
    ValueError."""
    path = os.path.join(folder, "summary.json")
    stored = rundir.read_json(path) if os.path.exists(path) else {}
    return stored if stored.get("schema_version") == rundir.SCHEMA_VERSION else make(folder)


def make(folder, more=()):
    """Return the summary of the results in `folder`. `more` are experiments in addition to
    the published ones, such as a study. Raises OSError when the files of a run are not
    there, and ValueError for a study that is not there any more."""
    rows = rundir.read_rows(os.path.join(folder, "samples.csv"))
    calls = rundir.rows_of(folder, "calls.csv")
    env = rundir.read_json(os.path.join(folder, "env.json"))
    names = dict.fromkeys(row["experiment"] for row in rows)
    known = {one.name: one for one in (*experiments.all_experiments(), *more)}
    measured = [one for one in known.values() if one.name in names] \
        + [study.load(name) for name in names if name not in known]
    shown = _servers({row["server"]: row["kind"] for row in rows})
    made = {
        "schema_version": rundir.SCHEMA_VERSION,
        "columns": [{"key": key, "unit": "", **column}
                    for key, column in rundir.FIGURES.items()], "servers": shown,
        "experiments": [summary.summarise(
            one, [row for row in rows if row["experiment"] == one.name],
            [row for row in calls if row["experiment"] == (one.of or one).name], shown,
            keys=[*rundir.FIGURES],
            tools={name: tool.latency for name, tool in load.TOOLS.items()},
            # Looks are recorded only where they decided about further rounds, and so about the
            # error of each look: with a fixed number of rounds there are none.
            adaptive=bool(env.get("looks", {}).get(one.name)),
            drawn=one.name in env.get("drawn", ())) for one in measured],
        "unavailable": peers.unavailable()}
    _exact(made["experiments"], measured)
    counted = rundir.rows_of(folder, "counted.csv")
    if counted:
        for one in made["experiments"]:
            one["counted"] = summary.counted(
                row for row in counted if row["experiment"] == one["name"])
    parts = rundir.rows_of(folder, "hosts.csv")
    if parts:
        for one in made["experiments"]:
            one["hosts"] = {variant: summary.hosts(*(
                [row for row in some if row["experiment"] == one["name"]
                 and (row["variant"] or "") == variant] for some in (parts, rows)))
                            for variant in one["variants"]}
    calibrate.predict(made, model.load())
    return made


def _exact(experiments, measured):
    """Put the instructions of a request, which the exact machine has counted, into the summaries
    of `experiments`, each of one that was `measured`: "exact" is {"source": commit, variant:
    {server: {"user", "kernel"}}}, and "deferred" the same of servers with deferred accept. Nothing
    where no request of it was counted."""
    for key, path in EXACT.items():
        counted = rundir.read_json(path) if rundir.stored(path) else {}
        for one, experiment in zip(experiments, measured):
            cells = {variant.name: {
                server.partition("+")[0]: {kind: cells[variant.exact][kind]
                                           for kind in ("user", "kernel")}
                for server, cells in counted.items() if variant.exact in cells}
                    for variant in experiment.variants if variant.exact}
            if any(cells.values()):
                one[key] = {"source": counted["machine"]["source"], **cells}


def _servers(kinds):
    """Return what is said of the servers {name: kind}: the seven in order, then others by name."""
    ours = {one.name: f"docs/tutorial/{one.folder}.md" for one in ARCHITECTURES
            if one.name in kinds}
    others = peers.found()
    return [{"name": name, "kind": kinds[name],
             "title": others.get(name, {}).get("title", name), "chapter": ours.get(name, "")}
            for name in [*ours, *sorted(kinds.keys() - ours)]]
