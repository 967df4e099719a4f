"""Sentences about each curve, made from the measured figures alone."""

CALLS_NAMED = 4


def number(value):
    """Return a figure with three digits that count: 12,300, 45.6, 0.07."""
    if value is None:
        return "?"
    if abs(value) >= 1000:
        digits = len(str(int(abs(value)))) - 3
        return f"{round(value, -digits):,.0f}"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}".rstrip("0").rstrip(".")


def explain(experiment, known):
    """Return {"all": {variant: [sentence, ...]}, "each": [{"server",
    "variant", "text", "chapter"}, ...]} for an experiment of the summary."""
    chapters = {server["name"]: server["chapter"] for server in known}
    titles = {server["name"]: server["title"] for server in known}
    floors = {s["name"] for s in known if s["kind"] == "floor"}
    return {
        "all": {variant: together(experiment, variant, titles, floors)
                for variant in experiment["variants"]},
        "each": [{"server": one["server"], "variant": one["variant"],
                  "chapter": chapters[one["server"]],
                  "text": about(experiment, one, titles[one["server"]])}
                 for one in experiment["curves"]],
    }


def figures(one):
    """Return the points of a curve that have a figure."""
    return [p for p in one["points"] if p["rate"]]


def together(experiment, variant, titles, floors):
    """Return sentences that set the servers of a variant side by side.
    Those in `floors` do less work, so they are no rivals."""
    curves = [c for c in experiment["curves"] if c["variant"] == variant]
    shared = None
    for one in curves:
        xs = {p["x"] for p in figures(one)}
        shared = xs if shared is None else (shared & xs or shared)
    if not shared:
        return ["Nothing could be measured here."]
    wanted = experiment["reference"]
    x = min(shared, key=lambda each: abs(each - wanted))
    all_there = [(c["server"], p) for c in curves for p in figures(c)
                 if p["x"] == x]
    there = [pair for pair in all_there if pair[0] not in floors]
    said = []
    if len(there) > 1:
        said.append(_fastest(experiment, there, x, titles))
        said += _cheapest(there, titles)
    said += _floor([pair for pair in all_there if pair[0] in floors], there,
                   titles)
    tooled = [titles[name] for name, p in there
              if p["limit"] in ("load tool", "cores of the load")]
    if tooled and not experiment["open_loop"]:
        said.append(f"The cores of the load were the limit for "
                    f"{listed(tooled)}: there the CPU time a request tells "
                    "more than the rate.")
    return said


def _fastest(experiment, there, x, titles):
    """Say who was fastest and slowest at x."""
    order = sorted(there, key=lambda pair: -pair[1]["rate"]["median"])
    (first, best), (last, worst) = order[0], order[-1]
    top, low = best["rate"]["median"], worst["rate"]["median"]
    place = f"At {x:,} {experiment['x_short']}"
    if not top:
        return f"{place} nobody answered in time."
    if low and top / low < 1.05:
        return (f"{place} all answer the same, about {number(top)} "
                f"{experiment['unit']}.")
    times = f", {top / low:.1f} times as many" if low else ""
    return (f"{place} {titles[first]} answers most, {number(top)} "
            f"{experiment['unit']}{times} as {titles[last]} "
            f"({number(low)}).")


def _cheapest(there, titles):
    """Say who takes least CPU time a request, and who most."""
    known = [(p["values"]["cpu_us"], name) for name, p in there
             if p["values"].get("cpu_us")]
    if len(known) < 2:
        return []
    (least, cheap), (most, dear) = min(known), max(known)
    return [f"Least CPU time a request takes {titles[cheap]} with "
            f"{number(least)} us, most {titles[dear]} with {number(most)} us."]


def _floor(floors, there, titles):
    """Say what a request costs at least, and how far the best is from it."""
    costs = [(p["values"]["cpu_us"], name) for name, p in floors
             if p["values"].get("cpu_us")]
    ours = [(p["values"]["cpu_us"], name) for name, p in there
            if p["values"].get("cpu_us")]
    if not costs or not ours:
        return []
    (floor, name), (least, cheap) = min(costs), min(ours)
    return [f"Who does nothing but the system calls ({titles[name]}) needs "
            f"{number(floor)} us: {titles[cheap]} takes "
            f"{least / floor:.2f} times that."]


def about(experiment, one, title):
    """Return what there is to say about one curve."""
    points = figures(one)
    if not points:
        why = [note for p in one["points"] for note in p["notes"]]
        return f"{title} has no figure: {'; '.join(dict.fromkeys(why))}."
    said = [_course(experiment, one, points, title),
            _cost(experiment, one, points)]
    said += [_waiting(points), _limit(experiment, points)]
    said += [_lost(experiment, points), _missing(experiment, one),
             _noise(experiment, points)]
    return " ".join(sentence for sentence in said if sentence)


def _course(experiment, one, points, title):
    """How the curve runs: its best point, and what is left at the end."""
    unit, short = experiment["unit"], experiment["x_short"]
    last = points[-1]
    end = last["rate"]["median"]
    if experiment["open_loop"]:
        whole = [p for p in points if not p["hollow"]]
        if whole and whole[-1] is last:
            return (f"{title} answers all that was demanded, up to "
                    f"{last['x']:,} requests/s.")
        kept = f"everything up to {whole[-1]['x']:,}" if whole else \
            "not even the lowest rate without loss"
        return (f"{title} answers {kept}; of {last['x']:,} requests/s it "
                f"answers {number(end)}.")
    best = next(p for p in points if p["x"] == one["best"]) \
        if one["best"] is not None else last
    top = best["rate"]["median"]
    if len(points) == 1:
        return (f"{title} answers {number(top)} {unit} at {best['x']:,} "
                f"{short}.")
    if best is last:
        return (f"{title} is best where the curve ends, with {number(top)} "
                f"{unit} at {best['x']:,} {short}.")
    share = 100 * end / top if top else 0
    kept = "still makes" if share >= 80 else "has only"
    return (f"{title} is best at {best['x']:,} {short} with {number(top)} "
            f"{unit} and {kept} {share:.0f} % of that at {last['x']:,}.")


def _cost(experiment, one, points):
    """What a request costs, at the point nearest to the reference."""
    p = min(points, key=lambda each: abs(each["x"] - experiment["reference"]))
    values = p["values"]
    if values.get("cpu_us") is None:
        return ""
    text = (f"At {p['x']:,} a request costs it {number(values['cpu_us'])} us "
            f"of CPU ({number(values['cpu_user_us'])} user, "
            f"{number(values['cpu_system_us'])} system)")
    parts = []
    if values.get("switches") is not None:
        parts.append(f"{number(values['switches'])} context switches")
    if (values.get("faults") or 0) >= 1:
        parts.append(f"{number(values['faults'])} page faults")
    calls = experiment["calls"].get(f"{one['server']}/{one['variant']}", {})
    if calls:
        named = [(each, name) for name, each in calls.items()
                 if name not in ("all", "other") and each >= 0.05]
        shown = ", ".join(f"{number(each)} {name}" for each, name
                          in sorted(named, reverse=True)[:CALLS_NAMED])
        parts.append(f"{number(calls['all'])} system calls"
                     + (f" ({shown})" if shown else ""))
    return text + (", " + listed(parts) if parts else "") + "."


def _waiting(points):
    """Where the clients waited, when most of them did in one place."""
    p = points[-1]
    queue = p["values"].get("accept_queue") or 0
    if p["x"] >= 20 and queue >= 0.5 * min(p["x"], 4096):
        return (f"At {p['x']:,} as many as {queue:,.0f} connections waited "
                "in the accept queue.")
    return ""


def _limit(experiment, points):
    """Which limit was met, and by what one sees it."""
    p = points[-1]
    if not p.get("limit") or p["limit"] == "none":
        return ""
    if p["limit"] == "waiting":
        return (f"At {p['x']:,} {experiment['x_short']} nothing was at its "
                f"limit: it waited ({p['evidence']}).")
    return f"Its limit at {p['x']:,}: {p['limit']} ({p['evidence']})."


def _lost(experiment, points):
    """What was lost, at the worst point."""
    lossy = [p for p in points if p["hollow"]]
    if not lossy:
        return ""
    worst = max(lossy, key=lambda p: p["values"]["failed_percent"])
    share = worst["values"]["failed_percent"]
    notes = "; ".join(worst["notes"])
    if share:
        return (f"At {worst['x']:,} {experiment['x_short']} "
                f"{number(share)} % of the requests were lost"
                + (f" ({notes})." if notes else "."))
    return f"At {worst['x']:,}: {notes}." if notes else ""


def _missing(experiment, one):
    """Which points there are not, and why."""
    missing = [p for p in one["points"] if not p["rate"]]
    if not missing:
        return ""
    places = listed([f"{p['x']:,}" for p in missing])
    why = "; ".join(dict.fromkeys(n for p in missing for n in p["notes"]))
    return f"Not measured at {places} {experiment['x_short']}: {why}."


def _noise(experiment, points):
    """Which points one should not rely on."""
    noisy = [p for p in points if p["noisy"] and p["runs"] > 1]
    if not noisy:
        return ""
    places = listed(f"{p['x']:,}" for p in noisy)
    said = [word for p in noisy for word in p["noisy"]]
    why = [kind for start, kind in (
        ("runs", "runs far apart"), ("foreign", "foreign load"),
        ("core", "core slower than at its best"),
        ("load core", "load core slower than at its best"))
        if any(word.startswith(start) for word in said)]
    return f"Noisy at {places}: {listed(why)}."


def listed(parts):
    """Return "a, b and c"."""
    parts = list(parts)
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]
