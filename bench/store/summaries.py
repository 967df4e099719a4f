"""The summary of a results folder: its files and what is known of servers,
tools and experiments, put into bench.analyse.summary, which knows no files."""

import os
import types

from bench import experiments, load, peers
from bench.analyse import summary
from bench.draw.styles import MARKERS, style
from bench.run import servers
from bench.store import rundir


def make(folder, more=()):
    """Return the summary of the results in `folder`. `more` are experiments
    in addition to the published ones and the studies.

    Raises OSError when the files of a run are not there.
    """
    rows = rundir.read_rows(os.path.join(folder, "samples.csv"))
    calls = rundir.read_rows(os.path.join(folder, "calls.csv"))
    columns = rundir.columns()
    measured = _experiments(rows, more)
    known = _servers(rows)
    typical = summary.typical_cores(rows)
    found = []
    for experiment in measured:
        mine = [row for row in rows if row["experiment"] == experiment.name]
        found.append(summary.summarise(
            experiment, mine, calls, known, [one.key for one in columns],
            typical, {name: getattr(tool, "latency", "")
                      for name, tool in load.TOOLS.items()}))
    return {"schema_version": rundir.SCHEMA_VERSION,
            "columns": [vars(column) for column in columns],
            "servers": known, "markers": MARKERS, "experiments": found,
            "unavailable": peers.unavailable()}


def _experiments(rows, more):
    """Return the experiments and studies that were measured."""
    known = {one.name: one for one in (*experiments.all_experiments(), *more)}
    variants = {}
    for row in rows:
        variants.setdefault(row["experiment"], {})[row["variant"] or ""] = 1
    found = [one for name, one in known.items() if name in variants]
    return found + [_study(name, names) for name, names in variants.items()
                    if name not in known]


def _study(name, variants):
    """Return the study called `name`. One that cannot be read any more is
    made of what its rows tell, which are the names of its variants."""
    try:
        # pylint: disable-next=import-outside-toplevel
        from bench.studies import study     # which may import what is here
        one = study.load(name)
        if {variant.name for variant in one.variants}.issuperset(variants):
            return one
    except (ImportError, ValueError, KeyError):
        pass
    one = experiments.Experiment()
    one.name = one.title = name
    one.variants = [types.SimpleNamespace(name=variant, keep_alive=None)
                    for variant in variants]
    return one


def _servers(rows):
    """Return the servers that were measured, in the order of the tables."""
    kinds = {row["server"]: row.get("kind") or "peer" for row in rows}
    found = []
    for server in servers.ARCHITECTURES:
        if server.name in kinds:
            found.append({"name": server.name, "title": server.title,
                          "kind": "architecture", "chapter": server.chapter,
                          "published_as": server.name, "note": "",
                          **style(server.name)})
    ours = {one["name"] for one in found}
    for place, name in enumerate(sorted(set(kinds) - ours)):
        try:
            one = peers.Peer(name)
        except peers.PeerError:     # a study's, or one that is gone
            one = None
        found.append({"name": name, "chapter": "",
                      "title": getattr(one, "title", name),
                      "kind": getattr(one, "kind", kinds[name]),
                      "note": getattr(one, "note", ""),
                      "published_as": getattr(one, "published_as", ""),
                      **style(name, place)})
    return found
