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
    beside the published ones, such as a study.

    Raises OSError when the files of a run are not there.
    """
    rows = rundir.read_rows(os.path.join(folder, "samples.csv"))
    calls = rundir.read_rows(os.path.join(folder, "calls.csv"))
    columns = rundir.columns()
    known = _servers(rows, more)
    typical = summary.typical_cores(rows)
    found = []
    for experiment in _experiments(rows, more):
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
    """Return the experiments that were measured. Of one that is there no
    more, the rows tell what they can."""
    known = {one.name: one for one in (*experiments.all_experiments(), *more)}
    seen = {row["experiment"]: row for row in rows}
    found = [one for name, one in known.items() if name in seen]
    for name in seen:
        if name not in known:
            one = experiments.Experiment()
            one.name = one.title = name
            one.variants = [
                types.SimpleNamespace(name=variant, keep_alive=None)
                for variant in dict.fromkeys(
                    row["variant"] or "" for row in rows
                    if row["experiment"] == name)]
            found.append(one)
    return found


def _servers(rows, more):
    """Return the servers that were measured, in the order of the tables."""
    kinds = {row["server"]: row.get("kind") or "peer" for row in rows}
    own = {one.name: one for experiment in more
           for one in getattr(experiment, "servers", ())}
    found = []
    for server in servers.ARCHITECTURES:
        if server.name in kinds:
            found.append({"name": server.name, "title": server.title,
                          "kind": "architecture", "chapter": server.chapter,
                          "published_as": server.name, "note": "",
                          **style(server.name)})
    ours = {one["name"] for one in found}
    for place, name in enumerate(sorted(set(kinds) - ours)):
        one = own.get(name)
        try:
            one = one or peers.Peer(name)
        except peers.PeerError:     # results may outlive a peer
            pass
        found.append({"name": name, "chapter": "",
                      "title": getattr(one, "title", name),
                      "kind": getattr(one, "kind", kinds[name]),
                      "note": getattr(one, "note", ""),
                      "published_as": getattr(one, "published_as", ""),
                      **style(name, place)})
    return found
