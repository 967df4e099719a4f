"""Sentences about what was measured: CPU time leads, then what one core can do, then the rate.
Two servers are compared only in the words of comparisons.py."""

from tools.stats.bottleneck import core_was_limit
from tools.stats.stats import LOOKS

CALLS_NAMED = 4         # of the system calls a request, the most frequent


def number(value):
    """Return a figure with three digits that count: 12,300, 45.6, 0.07."""
    if value is None:
        return "?"
    if abs(value) >= 1000:
        value = float(f"{value:.3g}")
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits == 2 else text


def explain(experiment, known):
    """Return {"all": {variant: [sentence, ...]}, "each": [{"server", "variant", "text", "chapter"},
    ...]} for an experiment of the summary. `known` are the servers of the summary."""
    servers = {server["name"]: server for server in known}
    return {"all": {variant: list(together(experiment, variant, servers))
                    for variant in experiment["variants"]},
            "each": [{"server": one["server"], "variant": one["variant"],
                      "chapter": servers[one["server"]]["chapter"],
                      "text": " ".join(about(experiment, one, servers))}
                     for one in experiment["curves"]]}


def reference_x(experiment, variant):
    """Return the x at which the servers of an experiment are compared: the one it asks for, or
    the nearest that was measured; None without any."""
    there = {p["x"] for c in experiment["curves"] if c["variant"] == variant
             for p in c["points"] if p["rate"]}
    return min(there, default=None, key=lambda x: (abs(x - experiment["reference"]), x))


def points_at(experiment, variant, x):
    """Return {server: point} of those that have a figure at `x`."""
    return {c["server"]: p for c in experiment["curves"]
            if c["variant"] == variant for p in c["points"] if p["x"] == x and p["rate"]}


def together(experiment, variant, servers):
    """Yield sentences that compare the servers of a variant at its reference_x()."""
    x = reference_x(experiment, variant)
    if x is None:
        yield "Nothing could be measured here."
        return
    there = points_at(experiment, variant, x)
    title = {name: server["title"] for name, server in servers.items()}
    base = experiment["baselines"][variant]
    place = f"At {x:,} {experiment['x_short']}"
    if base in there and not there[base]["lost"]:
        cost = there[base]["values"].get("cpu_us")
        limit = f"so one core can do {number(cost and 1e6 / cost)} a second; {title[base]} " \
            if core_was_limit(there[base]["values"]) else "and the server "
        yield (f"{place}, a request costs {title[base]} {number(cost)} us of CPU time, {limit}"
               f"answers {number(there[base]['rate']['middle'])} {experiment['unit']}.")
    else:
        yield f"{place} {title[base]} has no figure without a loss."
    for what, metric in (("CPU time", "cpu_us"),
                         ("Rate, where the server's core was fully busy for both,", "rate")):
        told = [f"{one['words']} for {title[one['server']]}"
                for one in sorted(experiment["comparisons"], key=lambda one: one["ratio"])
                if (one["variant"], one["x"]) == (variant, x)
                and one["metric"] == metric and one["server"] in there]
        if told:
            yield f"{what} compared with {title[base]}: {'; '.join(told)}."
    if experiment["drawn"]:
        yield "Too few rounds to compare costs here: they are compared at an equal rate, above."
    elif any(point["runs"] < LOOKS[0] for point in there.values()):
        yield f"Fewer than {LOOKS[0]} rounds: a first look, not a result."


def about(experiment, one, servers):
    """Yield sentences about one curve: what the tables do not say."""
    title = servers[one["server"]]["title"]
    calls = experiment["calls"].get(f"{one['server']}/{one['variant']}", {})
    named = sorted(((each, name) for name, each in calls.items()
                    if name != "all" and each >= 0.05), reverse=True)[:CALLS_NAMED]
    if named:
        yield (f"{title}: counted at {experiment['calls_at']}, a request makes "
               f"{number(calls['all'])} system calls ("
               + ", ".join(f"{number(each)} {name}" for each, name in named) + ").")
    lost = {}       # {what is said: [x, ...]}
    for point in one["points"]:
        if point["lost"] or not point["rate"]:
            share = point["values"].get("failed_percent")
            said = [f"{number(share)} % of the requests were lost"] if share else []
            lost.setdefault("; ".join([*said, *point["notes"]]) or "lost runs",
                            []).append(f"{point['x']:,}")
    for said, places in lost.items():
        yield f"{title} at {', '.join(places)} {experiment['x_short']}: {said}."
