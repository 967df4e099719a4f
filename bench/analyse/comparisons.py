"""Each server compared with a baseline, round by round.

Only rounds in which both answered every request count: what a lost request
would have cost is not known.
"""

import dataclasses

from bench.analyse import stats

METRICS = {
    # figure: (word for more of it, word for less of it)
    "cpu_us": ("dearer", "cheaper"),
    "rate": ("faster", "slower"),
}


def by_round(rows, metric):
    """Return {(variant, x): {server: {round: figure}}} of the rows that have
    a figure and lost nothing."""
    found = {}
    for row in rows:
        figure = row.get(metric)
        if row.get("status") == "ok" and isinstance(figure, (int, float)):
            place = found.setdefault((row["variant"] or "", row["x"]), {})
            place.setdefault(row["server"], {})[row["repeat"]] = figure
    return found


def comparisons(rows, baseline_of):
    """Return how each server compares with its baseline, as a list of dicts.

    rows            of one experiment
    baseline_of     function: name of a variant -> name of a server
    result          "variant", "x", "server", "base"; "metric": one of METRICS;
                    "rounds": how many both have; "ratio": the median of
                    server / base; "low", "high": its interval, None with fewer
                    than six rounds; "above": rounds with a ratio above 1;
                    "verdict": see stats.Comparison; "words": what is printed
    """
    found = []
    for metric, (more, less) in METRICS.items():
        for (variant, x), servers in by_round(rows, metric).items():
            base = baseline_of(variant)
            for server, figures in servers.items():
                one = stats.compare(figures, servers.get(base, {}))
                if one and server != base:
                    found.append({
                        "variant": variant, "x": x, "server": server,
                        "base": base, "metric": metric,
                        **dataclasses.asdict(one),
                        "words": stats.said(one, more, less)})
    return sorted(found, key=lambda one: (
        one["variant"], one["x"], one["server"], one["metric"]))


def unsettled(rows, keys, baseline_of):
    """Return those of `keys` that need more rounds.

    keys    (variant, server, x) that the last round measured
    result  those whose CPU time compared with the baseline is not settled,
            and the baselines of these. A server that shares no whole round
            with its baseline is left out: more rounds would not help.
    """
    opened = {(one["variant"], one["server"], one["x"])
              for one in comparisons(rows, baseline_of)
              if one["metric"] == "cpu_us"
              and one["verdict"] in (stats.UNKNOWN, stats.FEW)} & set(keys)
    needed = {(variant, baseline_of(variant), x) for variant, _, x in opened}
    return [key for key in keys if key in opened or key in needed]
