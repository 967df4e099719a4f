"""From the rows of samples.csv to medians, comparisons and sentences.

The result is what summary.json holds; tables, pictures and the report are made
from it alone. Min-max ranges are there to be drawn, and decide nothing.
"""

import collections
import statistics

from bench.analyse import latency, stats
from bench.analyse.comparisons import comparisons
from bench.analyse.sentences import explain

# A cell is noisy when its median is not known to 5 %, when other programs used
# the server's core, or when that core, or the load tool's, was slower or
# faster than in most of the run. A machine that is equally slow from beginning
# to end makes no noise *within* the run.
ROUNDS = stats.LOOKS[0]     # fewer give no interval
NOISY_FOREIGN = 10.0        # per cent of the core
NOISY_SPEED = 30.0          # per cent more or less time for the same work; it
                            # is gauged for milliseconds, so that small
                            # differences mean little
GAUGES = {"gauge_ms": "core", "load_gauge_ms": "load core"}

# Why a run has no figure, when that tells nothing about the server.
NOT_TRIED = ("not possible", "no time")
# What names a row, or is no measurement; the other columns have a median.
NAMES = ("experiment", "variant", "server", "kind", "x", "repeat", "order",
         "started", "status", "tool", "workers", "limit", "evidence", "note",
         "raw", "descriptor_limit")


def typical_cores(rows):
    """Return {gauge: its median milliseconds of all rows}, of those gauges
    that any row has."""
    seen = {gauge: _known(rows, gauge) for gauge in GAUGES}
    return {gauge: statistics.median(times)
            for gauge, times in seen.items() if any(times)}


def leading(rows):
    """Return the figures by which a cell is judged: its CPU times, or its
    rates where these are not known."""
    return _known(rows, "cpu_us") or _known(rows, "rate")


def noise(figures, values, typical):
    """Return in words why a median is not to be relied on, [] if it is.

    figures     leading() of the cell
    values      the medians of its columns
    typical     as typical_cores() returns it
    """
    why = []
    if len(figures) < ROUNDS:
        why.append("one round" if len(figures) == 1
                   else f"only {len(figures)} rounds")
    elif not stats.tight(figures):
        why.append("rounds scatter")
    if (values.get("foreign") or 0) > NOISY_FOREIGN:
        why.append("foreign load")
    for gauge, usual in (typical or {}).items():
        percent = 100 * (values[gauge] / usual - 1) if values.get(gauge) else 0
        if abs(percent) > NOISY_SPEED:
            why.append(f"{GAUGES[gauge]} {abs(percent):.0f} % "
                       + ("slower" if percent > 0 else "faster"))
    return why


def remarks(rows):
    """Return what the rows of a point say, each sentence once, with how
    often where not all say it. A run without a figure says at least that."""
    said = collections.Counter(
        row["note"] or row["status"] for row in rows
        if row["note"] or row.get("rate") is None)
    return [text if count == len(rows) else
            f"{text} ({count} of {len(rows)} runs)"
            for text, count in said.items()]


def point(rows, typical=None, keys=(), open_loop=False, keep_alive=None):
    """Return a point of a curve from the rows of its rounds.

    typical     typical_cores() of the run
    keys        columns that `values` has in any case
    open_loop, keep_alive   as the experiment and its variant have them

    `rate` is None where no run gave a figure; then `notes` says why. `runs`
    of the `planned` ones gave one. The point is `hollow` when a run lost
    something, or broke. `tight` says whether its median is known to 5 %; what
    makes it `noisy` is listed there, in words. `waited_ms` is how long a
    client waited by Little's law, `little` and `flag` are those of
    latency.judge(); percentiles of a flagged point are None. `limit` and
    `evidence` are those of the run whose rate is the median.
    """
    measured = [row for row in rows if row.get("rate") is not None]
    one = {"x": rows[0]["x"], "runs": len(measured), "planned": len(rows),
           "notes": remarks(rows),
           "statuses": sorted({row["status"] for row in rows}),
           "hollow": any(row["status"] not in ("ok", *NOT_TRIED)
                         for row in rows),
           "rate": None, "values": {}, "noisy": [], "tight": False,
           "little": None, "flag": "", "waited_ms": None}
    if not measured:
        return one
    rates = [row["rate"] for row in measured]
    middle = statistics.median(rates)
    one["rate"] = {"median": middle, "low": min(rates), "high": max(rates)}
    for key in dict.fromkeys((*keys, *(key for row in measured for key in row
                                       if key not in NAMES))):
        known = _known(measured, key)
        one["values"][key] = statistics.median(known) if known else None
    costs = _known(measured, "cpu_us")
    one["cpu_range"] = [min(costs), max(costs)] if costs else None
    one["tight"] = stats.tight(leading(measured))
    one["noisy"] = noise(leading(measured), one["values"], typical)
    if not open_loop:
        one["waited_ms"] = 1000 * one["x"] / middle if middle else None
        one["little"], one["flag"] = latency.judge(measured, keep_alive)
    if one["flag"]:
        one["values"].update(dict.fromkeys(latency.PERCENTILES))
    run = min(measured, key=lambda row: (abs(row["rate"] - middle),
                                         row["rate"]))
    one["limit"], one["evidence"] = run.get("limit"), run.get("evidence")
    return one


def _known(rows, key):
    """Return the figures of a column, of those rows that have one."""
    return [row[key] for row in rows
            if isinstance(row.get(key), (int, float))]


def lost_all(one):
    """Return whether a point has no height: nothing was answered, or every
    run broke. Charts show it hollow, at their bottom edge."""
    return not one["rate"]["median"] if one["rate"] else one["hollow"]


def curve(name, variant, rows, typical=None, **more):
    """Return the curve of a server in a variant: its points by x, and its
    best point among those that lost nothing, if there is one. The rest as for
    point()."""
    by_x = {}
    for row in rows:
        by_x.setdefault(row["x"], []).append(row)
    points = [point(by_x[x], typical, **more) for x in sorted(by_x)]
    figures = [p for p in points if p["rate"] and p["rate"]["median"] > 0]
    whole = [p for p in figures if not p["hollow"]] or figures
    best = max(whole, key=lambda p: p["rate"]["median"], default=None)
    return {"server": name, "variant": variant, "points": points,
            "best": best["x"] if best else None}


def make(folder, experiments=()):
    """Return the summary of the results in `folder`: see store/summaries.py,
    which reads what this module must not know."""
    from bench.store import summaries   # pylint: disable=import-outside-toplevel
    return summaries.make(folder, experiments)


def summarise(experiment, rows, calls, known, keys=(), typical=None,
              definitions=None):
    """Return the part of the summary for one experiment.

    experiment  what was measured (bench.experiments.Experiment, or a study)
    rows        its rows of samples.csv
    calls       rows of calls.csv
    known       [{"name", "title", "kind", "chapter"}]: all servers in order
    keys, typical   as for point()
    definitions {tool: what its latency is, in a sentence}
    """
    curves = []
    for variant in experiment.variants:
        for server in known:
            mine = [row for row in rows if row["server"] == server["name"]
                    and (row["variant"] or "") == variant.name]
            if mine:
                curves.append(curve(server["name"], variant.name, mine,
                                    typical, keys=keys,
                                    open_loop=experiment.open_loop,
                                    keep_alive=variant.keep_alive))
    counted = {}
    for row in calls:
        if row["experiment"] == experiment.name:
            key = f"{row['server']}/{row['variant'] or ''}"
            counted.setdefault(key, {})[row["call"]] = row["per_request"]
    bases = baselines(experiment, curves)
    one = {key: getattr(experiment, key) for key in (
        "name", "title", "question", "path", "unit", "x_title", "x_short",
        "reference", "calls_at", "open_loop")}
    one.update(
        tool=rows[0]["tool"],
        latency={tool: (definitions or {}).get(tool, "")
                 for tool in dict.fromkeys(row["tool"] for row in rows)},
        variants=list(bases), baselines=bases, curves=curves, calls=counted,
        comparisons=comparisons(rows, bases.get),
        published=_published(experiment.published))
    one["sentences"] = explain(one, known)
    return one


def baselines(experiment, curves):
    """Return {variant: the server that the others are compared with}: the
    one that the variant or the experiment names, else the first one. Variants
    without a curve are left out."""
    found = {}
    for variant in experiment.variants:
        there = [one["server"] for one in curves
                 if one["variant"] == variant.name]
        wanted = getattr(variant, "baseline", "") \
            or getattr(experiment, "baseline", "epoll")
        if there:
            found[variant.name] = wanted if wanted in there else there[0]
    return found


def _published(published):
    """Return the published figures as JSON has them, None without any."""
    return published and {
        "where": published.where, "notes": list(published.notes),
        "best": published.best,
        "series": {name: sorted(points.items())
                   for name, points in published.series.items()},
        "rough": {name: list(x) for name, x in published.rough.items()},
    }


def reference_x(experiment, variant):
    """Return the x at which the servers of an experiment are compared: the
    one it asks for, or the nearest that was measured; None without any."""
    there = {p["x"] for c in experiment["curves"] if c["variant"] == variant
             for p in c["points"] if p["rate"]}
    wanted = experiment["reference"]
    return min(there, key=lambda x: (abs(x - wanted), x), default=None)


def point_at(one_curve, x):
    """Return the point of a curve at `x`, or None."""
    for one in one_curve["points"]:
        if one["x"] == x:
            return one
    return None
