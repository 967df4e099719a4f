"""Sentences about what was measured, made from the figures alone.

CPU time leads, then what one core can do, then the rate. Two servers are
compared only in the words of comparisons.py.
"""

CALLS_NAMED = 4
LOAD = ("load tool", "cores of the load")
WHOLE_CORE = 95.0       # per cent from which the server's core ended a point


def number(value):
    """Return a figure with three digits that count: 12,300, 45.6, 0.07."""
    if value is None:
        return "?"
    if abs(value) >= 1000:
        value = float(f"{value:.3g}")
    digits = 0 if abs(value) >= 100 or value == int(value) \
        else 1 if abs(value) >= 10 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits == 2 else text


def listed(parts):
    """Return "a, b and c"."""
    parts = list(parts)
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def explain(experiment, known):
    """Return {"all": {variant: [sentence, ...]}, "each": [{"server",
    "variant", "text", "chapter"}, ...]} for an experiment of the summary.
    `known` are the servers of the summary."""
    servers = {server["name"]: server for server in known}
    return {
        "all": {variant: list(together(experiment, variant, servers))
                for variant in experiment["variants"]},
        "each": [{"server": one["server"], "variant": one["variant"],
                  "chapter": servers[one["server"]]["chapter"],
                  "text": " ".join(about(experiment, one, servers))}
                 for one in experiment["curves"]],
    }


def can_do(point):
    """Return how many requests a second one whole core could answer at the
    CPU time of this point; None where that is not known."""
    cost = point["values"].get("cpu_us")
    return 1e6 / cost if cost else None


def reference_x(experiment, variant):
    """Return the x at which the servers of an experiment are compared: the
    one it asks for, or the nearest that was measured; None without any."""
    there = {p["x"] for c in experiment["curves"] if c["variant"] == variant
             for p in c["points"] if p["rate"]}
    return min(there, default=None,
               key=lambda x: (abs(x - experiment["reference"]), x))


def together(experiment, variant, servers):
    """Yield sentences that compare the servers of a variant at its
    reference_x()."""
    x = reference_x(experiment, variant)
    if x is None:
        yield "Nothing could be measured here."
        return
    there = {c["server"]: p for c in experiment["curves"]
             if c["variant"] == variant for p in c["points"]
             if p["x"] == x and p["rate"]}
    title = {name: servers[name]["title"] for name in servers}
    base = experiment["baselines"][variant]
    yield _base(experiment, there.get(base), title[base], x)
    floors = {name for name in there if servers[name]["kind"] == "floor"}
    full = {name for name, point in there.items()
            if (point["values"].get("server_busy") or 0) >= WHOLE_CORE}
    here = sorted((one for one in experiment["comparisons"]
                   if (one["variant"], one["x"]) == (variant, x)),
                  key=lambda one: one["ratio"])
    for what, metric, names in (
            ("CPU time", "cpu_us", set(there) - floors),
            ("CPU time of floors, which only make the system calls,",
             "cpu_us", floors),
            ("Rate, where both cores were fully busy,", "rate",
             full - floors if base in full else ())):
        told = [f"{one['words']} for {title[one['server']]}" for one in here
                if one["metric"] == metric and one["server"] in names]
        if told:
            yield f"{what} compared with {title[base]}: {'; '.join(told)}."
    for what, true in (
            ("The load tool was the limit, so look at the CPU time and not "
             "at the rate", lambda p: p["limit"] in LOAD),
            ("Rounds that lost requests are not compared",
             lambda p: p["hollow"]),
            ("Noisy", _noisy)):
        names = [title[name] for name, p in there.items() if true(p)]
        if names:
            yield f"{what}: {listed(names)}."
    if any(_noisy(p) != p["noisy"] for p in there.values()):
        yield "Fewer than six rounds: a first look, not a result."


def _base(experiment, point, title, x):
    """Say what a request costs the baseline at x."""
    place = f"At {x:,} {experiment['x_short']}"
    if point is None:
        return f"{place} {title} has no figure, so nothing is compared."
    cost = ""
    if can_do(point):
        cost = (f" a request costs {title} "
                f"{number(point['values']['cpu_us'])} us of CPU time, so one "
                f"core can do {number(can_do(point))} a second;")
    return (f"{place}{cost} {title} answers "
            f"{number(point['rate']['median'])} {experiment['unit']}.")


def _noisy(point):
    """Return why a point is noisy, but for too few rounds: that is said once
    for all."""
    return [word for word in point["noisy"] if not word.startswith("only ")]


def about(experiment, one, servers):
    """Yield sentences about one curve."""
    title, short = servers[one["server"]]["title"], experiment["x_short"]
    points = [p for p in one["points"] if p["rate"]]
    missing = [p for p in one["points"] if not p["rate"]]
    why = "; ".join(dict.fromkeys(n for p in missing for n in p["notes"]))
    if not points:
        yield f"{title} has no figure: {why}."
        return
    near = min(points, key=lambda p: abs(p["x"] - experiment["reference"]))
    if can_do(near):
        yield _cost(experiment, near, title)
    yield from _calls(experiment, one)
    yield from _course(experiment, points, near, title)
    last = points[-1]
    if last["limit"] not in (None, "none"):
        yield f"Its limit at {last['x']:,}: {last['limit']} " \
              f"({last['evidence']})."
    worst = max((p for p in points if p["hollow"]), default=None,
                key=lambda p: p["values"].get("failed_percent") or 0)
    if worst:
        share = worst["values"].get("failed_percent")
        told = [f"{number(share)} % of the requests were lost"] * bool(share)
        yield (f"At {worst['x']:,} {short}: "
               + "; ".join([*told, *worst["notes"]]) + ".")
    if missing:
        places = listed(f"{p['x']:,}" for p in missing)
        yield f"Not measured at {places} {short}: {why}."


def _cost(experiment, point, title):
    """What a request costs, and what one core can do."""
    values = point["values"]
    parts = [f"{number(values[key])} {what}" for key, what in (
        ("switches", "context switches"), ("faults", "page faults"))
        if (values.get(key) or 0) >= 0.01]
    return (f"At {point['x']:,} {experiment['x_short']} a request costs "
            f"{title} {number(values['cpu_us'])} us of CPU time "
            f"({number(values.get('cpu_user_us'))} user, "
            f"{number(values.get('cpu_system_us'))} system)"
            + "".join(f", {part}" for part in parts)
            + f". One core can do {number(can_do(point))} a second.")


def _calls(experiment, one):
    """How many system calls a request makes: they are counted at one x."""
    calls = experiment["calls"].get(f"{one['server']}/{one['variant']}", {})
    named = sorted(((each, name) for name, each in calls.items()
                    if name not in ("all", "other") and each >= 0.05),
                   reverse=True)[:CALLS_NAMED]
    shown = ", ".join(f"{number(each)} {name}" for each, name in named)
    if calls:
        yield (f"Counted at {experiment['calls_at']:,}, a request makes "
               f"{number(calls['all'])} system calls"
               + (f" ({shown})." if shown else "."))


def _course(experiment, points, near, title):
    """The rates at both ends of the curve and at the reference; of an open
    loop, up to where everything was answered."""
    short, lossy = experiment["x_short"], [p["x"] for p in points
                                           if p["hollow"]]
    whole = [p["x"] for p in points if not lossy or p["x"] < lossy[0]]
    if not experiment["open_loop"]:
        chosen = {p["x"]: p for p in (points[0], near, points[-1])}
        yield "Rates: " + listed(
            f"{number(p['rate']['median'])} {experiment['unit']} at {x:,}"
            for x, p in sorted(chosen.items())) + f" {short}."
    elif whole:
        yield f"{title} answers all requests up to {whole[-1]:,} {short}."
