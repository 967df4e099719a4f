"""From the rows of samples.csv to medians, comparisons and sentences.

The result is what summary.json holds; tables, pictures and the report are made
from it alone. Min-max ranges are there to be drawn, and decide nothing.
"""

import collections
import statistics

from bench.analyse import latency, stats
from bench.analyse.comparisons import comparisons
from bench.analyse.sentences import explain, reference_x     # noqa: F401

ROUNDS = stats.LOOKS[0]     # fewer give no interval
NOISY_FOREIGN = 10.0        # per cent of the core
NOISY_SPEED = 30.0          # per cent more or less time for the same work
GAUGES = {"gauge_ms": "core", "load_gauge_ms": "load core"}
# Why a run has no figure, when that tells nothing about the server.
NOT_TRIED = ("not possible", "no time")
NOT_MEASURED = ("x", "repeat", "order", "workers", "descriptor_limit")


def _known(rows, key):
    """Return the figures of a column, of those rows that have one."""
    return [row[key] for row in rows
            if isinstance(row.get(key), (int, float))]


def typical_cores(rows):
    """Return {gauge: its median milliseconds of all rows}, of those gauges
    that any row has."""
    seen = {gauge: _known(rows, gauge) for gauge in GAUGES}
    return {gauge: statistics.median(times)
            for gauge, times in seen.items() if any(times)}


def noise(figures, values, typical):
    """Return in words why the median of `figures` is not to be relied on, []
    if it is: it is not known to 5 %, other programs used the server's core, or
    a core was slower or faster than in most of the run. `values` are the
    medians of all columns, `typical` is what typical_cores() returns.
    """
    why = []
    if len(figures) < ROUNDS:
        why.append(f"only {len(figures)} round" + "s" * (len(figures) != 1))
    elif not stats.tight(figures):
        why.append("rounds scatter")
    if (values.get("foreign") or 0) > NOISY_FOREIGN:
        why.append("foreign load")
    for gauge, usual in typical.items():
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


def point(rows, typical=None, keys=(), open_loop=False, clients=0,
          keep_alive=None):
    """Return a point of a curve from the rows of its rounds.

    typical     typical_cores() of the run
    keys        columns that `values`, the medians, has in any case
    open_loop, keep_alive   as the experiment and its variant have them
    clients     how many ask, 0: x; the others of a closed loop are idle

    `rate` is None where none of the `planned` runs gave a figure, as `runs`
    of them did; `notes` says why. It is `hollow` when a run lost something or
    broke, `tight` when its CPU time (without one its rate) is known to 5 %.
    `noisy` lists in words what makes it so. `intervals` hold the medians of
    CPU time and rate, None with fewer than six rounds. `waited_ms` is
    clients / rate; percentiles are None where the `flag` of latency.judge()
    says why.
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
    rates, costs = _known(measured, "rate"), _known(measured, "cpu_us")
    middle = statistics.median(rates)
    one["rate"] = {"median": middle, "low": min(rates), "high": max(rates)}
    one["intervals"] = {"rate": stats.interval(rates),
                        "cpu_us": stats.interval(costs)}
    one["values"] = dict.fromkeys(keys)
    for key in dict.fromkeys(key for row in measured for key in row):
        known = _known(measured, key)
        if known and key not in NOT_MEASURED:
            one["values"][key] = statistics.median(known)
    one["tight"] = stats.tight(costs or rates)
    one["noisy"] = noise(costs or rates, one["values"], typical or {})
    if not open_loop:
        clients = clients or one["x"]
        one["waited_ms"] = 1000 * clients / middle if middle else None
        one["little"], one["flag"] = latency.judge(measured, clients,
                                                   keep_alive)
    if one["flag"]:
        one["values"].update(dict.fromkeys(latency.PERCENTILES))
    # What limited it: of the run whose rate is the median.
    run = min(measured, key=lambda row: (abs(row["rate"] - middle),
                                         row["rate"]))
    return {**one, "limit": run.get("limit"), "evidence": run.get("evidence")}


def lost_all(one):
    """Return whether a point has no height: nothing was answered, or every
    run broke. Charts show it hollow, at their bottom edge."""
    return not one["rate"]["median"] if one["rate"] else one["hollow"]


def curve(name, variant, rows, typical=None, **more):
    """Return the curve of a server in a variant: its points by x, and the x
    of the `best` rate without losses, or None. The rest as for point()."""
    by_x = {}
    for row in rows:
        by_x.setdefault(row["x"], []).append(row)
    points = [point(by_x[x], typical, **more) for x in sorted(by_x)]
    figures = [p for p in points if p["rate"] and p["rate"]["median"] > 0]
    best = max([p for p in figures if not p["hollow"]] or figures,
               key=lambda p: p["rate"]["median"], default={"x": None})
    return {"server": name, "variant": variant, "points": points,
            "best": best["x"]}


def make(folder, experiments=()):
    """Return the summary of the results in `folder`: see store/summaries.py,
    which reads what this module does not know. Raises OSError."""
    # pylint: disable-next=import-outside-toplevel
    from bench.store import summaries
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
        for server in (one["name"] for one in known):
            mine = [row for row in rows if row["server"] == server
                    and (row["variant"] or "") == variant.name]
            if mine:
                curves.append(curve(
                    server, variant.name, mine, typical, keys=keys,
                    open_loop=experiment.open_loop,
                    clients=getattr(variant, "busy", 0),
                    keep_alive=variant.keep_alive))
    counted = {}
    for row in calls:
        if row["experiment"] == experiment.name:
            key = f"{row['server']}/{row['variant'] or ''}"
            counted.setdefault(key, {})[row["call"]] = row["per_request"]
    bases = baselines(experiment, curves)
    published = experiment.published
    one = {key: getattr(experiment, key) for key in (
        "name", "title", "question", "path", "unit", "x_title", "x_short",
        "reference", "calls_at", "open_loop")}
    one.update(
        tool=rows[0]["tool"],
        latency={row["tool"]: (definitions or {}).get(row["tool"], "")
                 for row in rows},
        variants=list(bases), baselines=bases, curves=curves, calls=counted,
        comparisons=comparisons(rows, bases.get),
        published=published and {
            "where": published.where, "notes": list(published.notes),
            "best": published.best,
            "series": {name: sorted(points.items())
                       for name, points in published.series.items()},
            "rough": {name: list(x) for name, x in published.rough.items()}})
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


def point_at(one_curve, x):
    """Return the point of a curve at `x`, or None."""
    return next((p for p in one_curve["points"] if p["x"] == x), None)
