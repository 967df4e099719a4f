"""From the rows of samples.csv to medians, spreads and best points.

The result is what summary.json holds; tables, pictures, sentences and the
report are made from it alone.
"""

import collections
import math
import os
import statistics

from bench import experiments
from bench import peers
from bench.store import rundir as results
from bench.run import servers
from bench.analyse.sentences import explain
from bench.draw.styles import MARKERS, style

# A median is called noisy when few of its runs gave a figure, when those do not
# say well enough where it is, when they agree but are too few to be believed
# beside all the others that do not, when something else used the server's core,
# or when that core, or the load tool's, was slower or faster during its runs
# than in most of the run (see core_gauge.py). agree.py takes the same cells for
# noisy. A machine that is equally slow from beginning to end makes no noise
# *within* the run.
FEW_RUNS = 3
SURE_RUNS = 5               # of fewer, interval() is less sure than it says
NOISY_WIDTH = 10.0          # of interval(), per cent of the median
INTERVAL_SURE = 0.9         # how often it holds the median of endless runs
NOISY_FOREIGN = 10.0        # per cent of the core
NOISY_SPEED = 30.0          # per cent more or less time for the same work;
                            # looked at for some milliseconds a run, so
                            # small differences are often those of the moment
GAUGES = {"gauge_ms": "core", "load_gauge_ms": "load core"}

# Why a run has no figure, when that tells nothing about the server.
NOT_TRIED = ("not possible", "no time")


def spread(values):
    """Return (largest - smallest) / median in per cent; None for a single
    value, and without a median to divide by."""
    middle = statistics.median(values)
    if len(values) < 2 or not middle:
        return None
    return 100 * (max(values) - min(values)) / middle


def interval(values):
    """Return (low, high): between which of the values the median of endless
    runs lies, nine times in ten. Each value lies above that median or below
    it like a tossed coin, however the values are distributed; so it is known
    how rarely all but `cut` of n lie on one side. Of four values and fewer it
    is the smallest and the largest, and less sure: three times in four, of
    three. Unlike spread(), it becomes narrower the more runs there are."""
    ordered, n = sorted(values), len(values)
    cut, outside = 0, 2 / 2 ** n        # all n on one side
    while 2 * (cut + 1) < n:
        outside += 2 * math.comb(n, cut + 1) / 2 ** n
        if outside > 1 - INTERVAL_SURE:
            break
        cut += 1
    return ordered[cut], ordered[n - 1 - cut]


def width(rates):
    """Return how wide interval() is, in per cent of the median (of a median
    of nothing, with runs that gave something: 100)."""
    low, high = interval(rates)
    middle = statistics.median(rates)
    if not middle:
        return 100.0 if high > low else 0.0
    return 100 * (high - low) / middle


def typical_cores(rows):
    """Return {gauge: its median milliseconds of all rows}, of those gauges
    that any row has."""
    seen = {gauge: [row[gauge] for row in rows if row.get(gauge)]
            for gauge in GAUGES}
    return {gauge: statistics.median(times)
            for gauge, times in seen.items() if times}


def noise(rates, runs, values, typical):
    """Return in words why a median is not to be relied on, [] if it is.

    `rates` are the figures that its `runs` (a number) gave, `values` the
    medians of the other columns, `typical` as typical_cores() returns it.
    """
    few = f"only {len(rates)} of {runs} runs" if len(rates) < runs \
        else "one run" if runs == 1 else f"only {runs} runs"
    speeds = {gauge: 100 * (values[gauge] / usual - 1)
              for gauge, usual in (typical or {}).items() if values.get(gauge)}
    return [why for why, there in (
        (few, len(rates) < FEW_RUNS),
        ("runs far apart", width(rates) > NOISY_WIDTH),
        ("foreign load", (values.get("foreign") or 0) > NOISY_FOREIGN),
        *((f"{GAUGES[gauge]} {abs(percent):.0f} % "
           f"{'slower' if percent > 0 else 'faster'}",
           abs(percent) > NOISY_SPEED)
          for gauge, percent in speeds.items())) if there]


def remarks(rows):
    """Return what the rows of a point say, each sentence once, with how
    often where not all say it. A run without a figure says at least that."""
    said = collections.Counter(
        row["note"] or row["status"] for row in rows
        if row["note"] or row.get("rate") is None)
    return [text if count == len(rows) else
            f"{text} ({count} of {len(rows)} runs)"
            for text, count in said.items()]


def median_run(measured, middle):
    """Return the row whose rate is the median, of two the slower one."""
    return min(measured,
               key=lambda row: (abs(row["rate"] - middle), row["rate"]))


def point(rows, typical=None):
    """Return a point of a curve from the rows of its repeats, of a run with
    these typical_cores().

    `rate` is None where no run gave a figure; then `notes` says why. `runs`
    of the `planned` ones gave one. The point is `hollow` when a run lost
    something, or broke. What makes it `noisy` is listed there, in words.
    `limit` and `evidence` are those of the run whose rate is the median.
    """
    measured = [row for row in rows if row.get("rate") is not None]
    one = {"x": rows[0]["x"], "runs": len(measured), "planned": len(rows),
           "notes": remarks(rows),
           "statuses": sorted({row["status"] for row in rows}),
           "hollow": any(row["status"] not in ("ok", *NOT_TRIED)
                         for row in rows),
           "rate": None, "values": {}, "noisy": []}
    if not measured:
        return one
    rates = [row["rate"] for row in measured]
    middle = statistics.median(rates)
    one["rate"] = {"median": middle, "low": min(rates), "high": max(rates)}
    one["spread"], one["width"] = spread(rates), width(rates)
    for column in results.columns():
        known = _known(measured, column.key)
        one["values"][column.key] = statistics.median(known) if known \
            else None
    costs = _known(measured, "cpu_us")
    one["cpu_range"] = [min(costs), max(costs)] if costs else None
    one["noisy"] = noise(rates, len(rows), one["values"], typical)
    run = median_run(measured, middle)
    one["limit"], one["evidence"] = run.get("limit"), run.get("evidence")
    return one


def mark_lucky(points):
    """Mark those points of an experiment as noisy, too, whose few runs agree
    though those of most points do not: on such a machine, and with three runs
    each, some do by chance, and the next run will show it."""
    widths = [one["width"] for one in points if one["runs"] > 1]
    if not widths or statistics.median(widths) <= NOISY_WIDTH:
        return
    for one in points:
        if 1 < one["runs"] < SURE_RUNS and not one["noisy"]:
            one["noisy"].append("few runs, where others are far apart")


def _known(rows, key):
    """Return the figures of a column, of those rows that have one."""
    return [row[key] for row in rows
            if isinstance(row.get(key), (int, float))]


def lost_all(one):
    """Return whether a point has no height: nothing was answered, or every
    run broke. Charts show it hollow, at their bottom edge."""
    return not one["rate"]["median"] if one["rate"] else one["hollow"]


def curve(name, variant, rows, typical=None):
    """Return the curve of a server in a variant: its points by x, and its
    best point among those that lost nothing, if there is one. `typical` as
    for point()."""
    by_x = {}
    for row in rows:
        by_x.setdefault(row["x"], []).append(row)
    points = [point(by_x[x], typical) for x in sorted(by_x)]
    figures = [p for p in points if p["rate"] and p["rate"]["median"] > 0]
    whole = [p for p in figures if not p["hollow"]] or figures
    best = max(whole, key=lambda p: p["rate"]["median"], default=None)
    return {"server": name, "variant": variant, "points": points,
            "best": best["x"] if best else None}


def make(folder):
    """Return the summary of the results in `folder`.

    Raises OSError when the files of a run are not there.
    """
    rows = results.read_rows(os.path.join(folder, "samples.csv"))
    calls = results.read_rows(os.path.join(folder, "calls.csv"))
    summary = {
        "schema_version": results.SCHEMA_VERSION,
        "columns": [vars(column) for column in results.columns()],
        "servers": _servers(rows), "markers": MARKERS, "experiments": [],
        "unavailable": peers.unavailable(),
    }
    typical = typical_cores(rows)
    for experiment in experiments.all_experiments():
        mine = [row for row in rows if row["experiment"] == experiment.name]
        if mine:
            summary["experiments"].append(_experiment(
                experiment, mine, calls, summary["servers"], typical))
    return summary


def _servers(rows):
    """Return the servers that were measured, in the order of the tables."""
    seen = list(dict.fromkeys(row["server"] for row in rows))
    found = []
    for server in servers.ARCHITECTURES:
        if server.name in seen:
            found.append({"name": server.name, "title": server.title,
                          "kind": "architecture", "chapter": server.chapter,
                          "published_as": server.name, "note": "",
                          **style(server.name)})
    ours = {one["name"] for one in found}
    for place, name in enumerate(sorted(set(seen) - ours)):
        try:
            peer = peers.Peer(name)
            about = {"title": peer.title, "kind": peer.kind,
                     "note": peer.note, "published_as": peer.published_as}
        except peers.PeerError:     # results may outlive a peer
            about = {"title": name, "kind": "peer", "note": "",
                     "published_as": ""}
        found.append({"name": name, "chapter": "", **about,
                      **style(name, place)})
    return found


def _experiment(experiment, rows, calls, known, typical):
    """Return the part of the summary for one experiment."""
    curves = []
    for variant in experiment.variants:
        for server in known:
            mine = [row for row in rows if row["server"] == server["name"]
                    and (row["variant"] or "") == variant.name]
            if mine:
                curves.append(curve(server["name"], variant.name, mine,
                                    typical))
    mark_lucky([p for one in curves for p in one["points"]])
    counted = {}
    for row in calls:
        if row["experiment"] == experiment.name:
            key = f"{row['server']}/{row['variant'] or ''}"
            counted.setdefault(key, {})[row["call"]] = row["per_request"]
    published = experiment.published
    one = {
        "name": experiment.name, "title": experiment.title,
        "question": experiment.question, "path": experiment.path,
        "unit": experiment.unit, "x_title": experiment.x_title,
        "x_short": experiment.x_short, "reference": experiment.reference,
        "calls_at": experiment.calls_at,
        "tool": rows[0]["tool"], "open_loop": experiment.open_loop,
        "variants": [v.name for v in experiment.variants
                     if any(c["variant"] == v.name for c in curves)],
        "curves": curves, "calls": counted,
        "published": None if published is None else {
            "where": published.where, "notes": list(published.notes),
            "best": published.best,
            "series": {name: sorted(points.items())
                       for name, points in published.series.items()},
            "rough": {name: list(x) for name, x in published.rough.items()},
        },
    }
    one["sentences"] = explain(one, known)
    return one


def reference_x(experiment, variant):
    """Return the x at which the servers of an experiment are set side by
    side: the one it asks for, or the nearest that was measured."""
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
