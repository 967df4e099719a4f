"""Each server compared with a baseline, in the rounds in which both answered every request:
what a lost request would have cost is not known.

Rates are compared where the server's core was the limit of both. Elsewhere they are rates of the
load tool or of Redis, and no verdict on a server.
"""

import operator

from tools.stats import stats
from tools.stats.bottleneck import core_was_limit

# {figure: (word for more of it, word for less of it)}
METRICS = {"cpu_us": ("more expensive", "cheaper"), "rate": ("faster", "slower"),
           "p50_ms": ("longer", "shorter"), "p99_ms": ("longer", "shorter")}
# In a closed loop a client that waits longer asks less often: its response times are its rate
# once more. From an open loop they are a figure of their own.
CLOSED, OPEN = ("cpu_us", "rate"), tuple(METRICS)


def by_round(rows, metric):
    """Return {(variant, x): {server: {round: figure}}} of rows with a figure and no loss."""
    found = {}
    for row in rows:
        if row["status"] == "ok" and row.get(metric) is not None:
            cell = found.setdefault((row["variant"] or "", row["x"]), {})
            cell.setdefault(row["server"], {})[row["repeat"]] = row[metric]
    return found


def compared(figures, uncorrected, server, base, adaptive):
    """Return what stats.compare() says of two servers, None when they share no round. `figures`
    is {server: {round: figure}} of one load, `uncorrected` the same before steadied(): a correction
    makes no verdict that what was measured speaks against."""
    one, plain = (stats.compare(some.get(server, {}), some.get(base, {}), adaptive)
                  for some in (figures, uncorrected))
    if one and one["verdict"] in (stats.MORE, stats.LESS) \
            and (one["ratio"] > 1) != (plain["ratio"] > 1):
        one["verdict"] = stats.UNKNOWN
    return one


def comparisons(rows, baseline_of, adaptive=True, metrics=CLOSED, uncorrected=None):
    """Return how each server compares with its baseline, as a list of {"variant", "x", "server",
    "base", "metric": one of METRICS, "words": what is printed, and what stats.compare() says}.

    rows            of one experiment, after steadied()
    uncorrected     the same before it; None if they are
    baseline_of     function: name of a variant -> name of a server
    adaptive        as for stats.compare()
    metrics         some of METRICS
    """
    found = []
    for metric in metrics:
        more, less = METRICS[metric]
        both = [by_round(filter(core_was_limit, some) if metric == "rate" else some, metric)
                for some in (rows, rows if uncorrected is None else uncorrected)]
        for (variant, x), servers in both[0].items():
            base = baseline_of(variant)
            for server in servers:
                one = compared(servers, both[1][variant, x], server, base, adaptive)
                if one and server != base:
                    found.append({"variant": variant, "x": x, "server": server, "base": base,
                                  "metric": metric, **one, "words": stats.said(one, more, less)})
    return sorted(found, key=operator.itemgetter("variant", "x", "server", "metric"))


def unsettled(rows, keys, baseline_of, uncorrected):
    """Return those of `keys`, (variant, server, x) of cells that can have more rounds, that need
    them: their CPU time compared with the baseline is not settled, or they are the baseline of
    such a one. A server that shares no whole round with its baseline is left out: more rounds
    would not help. `rows` and `uncorrected` are those of comparisons()."""
    needed = set()
    for one in comparisons(rows, baseline_of, metrics=("cpu_us",), uncorrected=uncorrected):
        key = one["variant"], one["server"], one["x"]
        if key in keys and one["verdict"] in (stats.UNKNOWN, stats.FEW):
            needed |= {key, (one["variant"], one["base"], one["x"])}
    return [key for key in keys if key in needed]
