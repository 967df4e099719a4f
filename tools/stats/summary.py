"""From the rows of samples.csv to figures of cells, comparisons and sentences.

The result is what summary.json holds; tables, charts and the report are made from it, and from
what env.json says of the run.
"""

import collections
import statistics

from tools.stats import stats
from tools.stats.bottleneck import BUSY, LOAD
from tools.stats.comparisons import CLOSED, OPEN, comparisons
from tools.stats.sentences import explain
from tools.stats.steady import TIMES, steadied

NOISY_FOREIGN = 10.0        # per cent of the server's core
FOREIGN_LOAD = "foreign load"       # why a cell with more is noisy
TIGHT = 0.05                # how far the ends of a cell's interval may be from its middle
LEADS = ("cpu_us", "rate", "answered")  # figures that can decide whether a cell is noisy
MIDDLES = (*TIMES, "rate")  # columns summed up by stats.middle(), the others by a median
PERCENTILES = ("p50_ms", "p99_ms", "max_ms")
BURST = 10                  # requests a client: with fewer, a point is a burst
AGREES = (0.9, 1.1)         # the mean of a load tool / the one that is expected
# Of the time measured. Costs and rates of a tight cell are known to 5 %. Before the last load
# tool has begun less load arrives; this may add a fifth of that.
SKEW = 0.01


def figures(rows, key):
    """Return the figures of a column, of those rows that have one."""
    return [row[key] for row in rows if row.get(key) is not None]


def median(values):
    """Return the median, None of no values."""
    return statistics.median(values) if values else None


def counted(rows):
    """Return [{"variant", "server", "x", "figure", "median"}] of rows of counted.csv."""
    seen = {}
    for row in rows:
        key = tuple((name, "" if row[name] is None else row[name])
                    for name in ("variant", "server", "x", "figure"))
        seen.setdefault(key, []).append(row["value"])
    return [dict(key, median=statistics.median(values)) for key, values in seen.items()]


def hosts(rows, runs):
    """Return (one dict for each host of a fleet and role: what it did; [sentences]) for `rows` of
    hosts.csv and `runs` of samples.csv, of the same experiment and variant."""
    told = []
    for host, role in dict.fromkeys((row["host"], row["role"]) for row in rows):
        mine = [row for row in rows if (row["host"], row["role"]) == (host, role)]
        told.append({"host": host, "role": role, **{
            key: median(figures(mine, key)) for key in ("busy", "cores_busy", "rate", "begin_ms")}})
    skews = [(run["skew_ms"], 1000 * run["seconds"]) for run in runs
             if run.get("skew_ms") is not None and run["seconds"]]
    if not any(skew for skew, _ in skews):      # a single load tool
        return told, []
    said = [f"The load tools of a run began {statistics.median(skew for skew, _ in skews):.1f} ms "
            f"apart, {max(skews)[0]:.1f} ms at most; clocks are compared by round trips."]
    late = sum(skew > SKEW * whole for skew, whole in skews)
    if late:
        said.append(f"In {late} of {len(skews)} runs that was more than {100 * SKEW:.0f} % of the "
                    "time measured, so their rates are too low by up to that much.")
    return told, said


def noise(values, medians):
    """Return in words why the middle of a cell's `values` is not to be relied on, [] if it is.
    `medians` are those of all its columns."""
    known = stats.middle(values)
    low, high = stats.interval(values) or (known, known)
    return [why for why, true in (
        ("fewer than six rounds", len(values) < stats.LOOKS[0]),
        ("rounds scatter", max(high - known, known - low) > TIGHT * known),
        (FOREIGN_LOAD, (medians.get("foreign") or 0) > NOISY_FOREIGN)) if true]


def doubt(rows, clients):
    """Return why the percentiles of a point of a closed loop are not to be read; "" where the
    mean of the load tool is the expected one, or there is none.

    Each client always waits for one answer, so clients = rate * mean wait (Little's law). Where
    the tool's own mean says something else, its percentiles describe other waits. The end of a
    run cuts off one wait of each client, on average in the middle, and the tool leaves these
    out: its mean is expected to be lower by clients / (2 * answers). Where each client asks
    once, fewer and fewer of them wait, and the law says nothing."""
    known = [row for row in rows if row.get("mean_ms") and row["rate"]]
    shares = [row["mean_ms"] / 1000 * row["rate"] / clients / (1 - clients / (2 * row["requests"]))
              for row in known if row["requests"] > clients]
    if not shares:
        return "the run ended before each client had an answer" if any(
            row["requests"] < clients for row in known) else ""
    share = statistics.median(shares)
    if AGREES[0] <= share <= AGREES[1]:
        return ""
    cause = "the waits that the end of the run cut off were longer than others"
    if any(row["status"] == "lossy" for row in rows):
        cause = "requests were lost"
    elif share > 1:
        cause = "it counts more than its clients can have waited"
    elif any(row.get("limit") in LOAD or (row.get("load_cores_busy") or 0) >= BUSY for row in rows):
        cause = "the tool is busy and does not count the time until it sends"
    return f"the mean of {rows[0]['tool']} is {share:.2f} of what its clients waited: {cause}"


def remarks(rows):
    """Return what the rows of a point say, each sentence once, with how often where not all say
    it. A run without a figure says at least that."""
    said = collections.Counter(
        row["note"] or row["status"] for row in rows if row["note"] or row["rate"] is None)
    return [text + (f" ({count} of {len(rows)} runs)" if count < len(rows) else "")
            for text, count in said.items()]


def point(rows, keys, clients=None, leads="cpu_us"):
    """Return a point of a curve from the rows of its rounds.

    keys        the columns of which `values` has the medians; of MIDDLES the middles. Of CPU
                time that is after steadied(), if the rows are many enough for it
    clients     how many wait for an answer; None in an open loop
    leads       of LEADS; "answered": the per cent of requests that were

    Of its `planned` rows, `runs` have a figure; `rate` is None if none has; `notes`
    says why, and `disturbed` with which words if a run had no figure: other programs used its
    cores, or no sample fell into its load. It is `lost` when
    a run lost something or broke, or all were disturbed. `noisy` lists in words why the figure that
    `leads` is not known well; without a CPU time, its rate. `intervals` are those of CPU time, rate
    and percentiles, None with fewer than six rounds. `waited_ms` is clients / rate; percentiles are
    None where `flag` says why, see doubt(). A `burst` has fewer than BURST requests a client."""
    measured = [row for row in rows if row["rate"] is not None]
    harmless = ("ok", "not possible", "not opened", *(["disturbed"] if measured else []))
    one = {"x": rows[0]["x"], "runs": len(measured), "planned": len(rows),
           "notes": remarks(rows),
           "disturbed": next((row["note"].partition(";")[0] for row in rows
                              if row["status"] == "disturbed"), ""),
           "lost": any(row["status"] not in harmless for row in rows),
           "rate": None, "values": {}, "noisy": [], "flag": "", "waited_ms": None, "burst": False}
    if not measured:
        return one
    rates, costs = figures(measured, "rate"), figures(measured, "cpu_us")
    judged = {"cpu_us": costs or rates, "rate": rates, "answered": [
        100 - lost for lost in figures(measured, "failed_percent")]}[leads]
    middle = stats.middle(rates)
    values = {key: (stats.middle if key in MIDDLES else median)(figures(measured, key))
              for key in keys}
    if clients:
        one["waited_ms"] = 1000 * clients / middle if middle else None
        one["flag"] = doubt(measured, clients)
        requests = figures(measured, "requests")
        one["burst"] = bool(requests) and median(requests) < BURST * clients
    if one["flag"]:
        values.update(dict.fromkeys(PERCENTILES))
    # What limited it: of the run whose rate is nearest to the middle.
    run = min(measured, key=lambda row: (abs(row["rate"] - middle), row["rate"]))
    return {**one, "values": values,
            "rate": {"middle": middle, "low": min(rates), "high": max(rates)},
            "intervals": {"rate": stats.interval(rates), "cpu_us": stats.interval(costs),
                          **{key: stats.interval(figures(measured, key)) for key in PERCENTILES}},
            "noisy": noise(judged, values),
            "limit": run.get("limit"), "evidence": run.get("evidence")}


def summarise(experiment, rows, calls, known, *, keys, tools, adaptive, drawn=False):
    """Return the part of the summary for one experiment.

    experiment  what was measured (bench.experiments.Experiment, or a study)
    rows, calls its rows of samples.csv and calls.csv
    known       [{"name", "title", "kind", "chapter"}]: all servers in order
    keys        as for point()
    tools       {name of a load tool: what its latency is, in a sentence}
    adaptive    as for stats.compare()
    drawn       whether its points are only drawn: costs are compared at an equal rate
    """
    steady, exponents = steadied(rows)
    cells = {}      # {(variant, server): {x: [row, ...]}}
    for row in steady:
        by_x = cells.setdefault((row["variant"] or "", row["server"]), {})
        by_x.setdefault(row["x"], []).append(row)
    curves, bases = [], {}
    for variant in experiment.variants:
        there = [one["name"] for one in known if (variant.name, one["name"]) in cells]
        if there:
            bases[variant.name] = experiment.baseline_of(variant, there)
        for server in there:
            curves.append({"server": server, "variant": variant.name, "points": [
                point(some, keys, None if experiment.open_loop else variant.busy or x,
                      experiment.leads)
                for x, some in sorted(cells[variant.name, server].items())]})
    counted = {}
    for row in calls:
        counted.setdefault(f"{row['server']}/{row['variant'] or ''}",
                           {})[row["call"]] = row["per_request"]
    one = {key: getattr(experiment, key) for key in (
        "name", "title", "question", "unit", "x_title", "x_short", "reference",
        "open_loop")}
    compared = [each for each in comparisons(
        steady, bases.get, adaptive, OPEN if experiment.open_loop else CLOSED, rows)
                if not drawn or each["verdict"] != stats.FEW]
    one.update(
        of=experiment.of and experiment.of.name,
        calls_at=f"{experiment.calls_at:,} {(experiment.of or experiment).x_short}",
        latency={row["tool"]: tools.get(row["tool"], "") for row in rows},
        steadied=exponents, variants=list(bases), baselines=bases, curves=curves, calls=counted,
        comparisons=compared, drawn=drawn,
        published=experiment.published and vars(experiment.published))
    one["sentences"] = explain(one, known)
    return one
