"""The summary of a results folder: its files and what is known of servers,
tools and experiments, put into bench.analyse.summary, which knows no files."""

import os

from bench import experiments, load, peers
from bench.analyse import summary
from bench.run import servers
from bench.store import rundir


def make(folder, more=()):
    """Return the summary of the results in `folder`. `more` are experiments
    in addition to the published ones, such as a study.

    Raises OSError when the files of a run are not there.
    """
    rows, calls = (rundir.read_rows(os.path.join(folder, name))
                   for name in ("samples.csv", "calls.csv"))
    looks = rundir.read_json(os.path.join(folder, "env.json")).get("looks", {})
    kinds = {row["server"]: row.get("kind") for row in rows}
    known = [_server(name, kinds[name]) for name in sorted(kinds, key=_place)]
    columns = rundir.columns()
    tools = {name: tool.latency for name, tool in load.TOOLS.items()}
    found = []
    for experiment in _experiments(rows, more):
        name = experiment.name
        found.append(summary.summarise(
            experiment, [row for row in rows if row["experiment"] == name],
            [row for row in calls if row["experiment"] == name], known,
            [column.key for column in columns],
            summary.median(summary.figures(rows, "gauge_ms")), tools,
            adaptive=bool(looks.get(name))))
    return {"schema_version": rundir.SCHEMA_VERSION,
            "columns": [vars(column) for column in columns],
            "servers": known, "experiments": found,
            "unavailable": peers.unavailable()}


def _experiments(rows, more):
    """Return the experiments that were measured, the published ones first.
    One that is not known any more is made of what its rows tell."""
    known = {one.name: one for one in (*experiments.all_experiments(), *more)}
    variants = {}
    for row in rows:
        variants.setdefault(row["experiment"], {})[row["variant"] or ""] = 1
    for name in set(variants) - set(known):
        known[name] = _study(name, variants[name])
    return [one for name, one in known.items() if name in variants]


def _study(name, variants):
    """Return the study called `name`, or what its variants tell of it."""
    try:
        # pylint: disable-next=import-outside-toplevel
        from bench.studies import study     # which imports what is here
        one = study.load(name)
        if {variant.name for variant in one.variants}.issuperset(variants):
            return one
    except (ImportError, ValueError):
        pass
    one = experiments.Experiment()
    one.name = one.title = name
    one.variants = [experiments.Variant(variant, keep_alive=None)
                    for variant in variants]
    return one


def _place(name):
    """Return the key that sorts servers: the seven in their order, then the
    others by name."""
    ours = [one.name for one in servers.ARCHITECTURES]
    return (ours.index(name), "") if name in ours else (len(ours), name)


def _server(name, kind):
    """Return what the summary says of a server. One that neither the
    collection nor peers/ has is a study's."""
    told = {"name": name, "title": name, "kind": kind or "peer",
            "chapter": "", "published_as": ""}
    try:
        one = servers.named(name)
        return {**told, "title": one.title, "chapter": one.chapter,
                "published_as": name}
    except KeyError:
        pass
    try:
        one = peers.Peer(name)
        return {**told, "title": one.title, "kind": one.kind,
                "published_as": one.published_as}
    except peers.PeerError:
        return told
