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
    whole = [pair for pair in there if not pair[1]["hollow"]]
    if len(there) > 1:
        said.append(_fastest(experiment, whole, x, titles))
        said += _cheapest(whole, titles)
        said += _unsure(there, titles)
    said += _floor([pair for pair in all_there if pair[0] in floors], whole,
                   titles)
    tooled = [titles[name] for name, p in there
              if p["limit"] in ("load tool", "cores of the load")]
    if tooled and not experiment["open_loop"]:
        said.append(f"The cores of the load were the limit for "
                    f"{listed(tooled)}: there the CPU time a request tells "
                    "more than the rate.")
    return said


def _fastest(experiment, whole, x, titles):
    """Say who was fastest and slowest at x, of the servers that lost
    nothing there. Those whose runs overlap the best one's are as good."""
    unit = experiment["unit"]
    order = sorted((pair for pair in whole if pair[1]["rate"]["median"]),
                   key=lambda pair: -pair[1]["rate"]["median"])
    place = f"At {x:,} {experiment['x_short']}"
    if not order:
        return f"{place} nobody answered without loss."
    best = order[0][1]["rate"]
    top, (slowest, last) = best["median"], order[-1]
    equal = [titles[name] for name, p in order
             if p["rate"]["high"] >= best["low"]]
    low = last["rate"]["median"]
    if len(order) == 1:
        return (f"{place} only {equal[0]} answered without loss, "
                f"{number(top)} {unit}.")
    if len(equal) == len(order) or top / low < 1.05:
        return (f"{place} {listed(titles[name] for name, _ in order)} answer "
                f"the same, about {number(top)} {unit}.")
    times = (f"{top / low:.1f} times as many as {titles[slowest]} "
             f"({number(low)}).")
    if len(equal) == 1:
        return (f"{place} {equal[0]} answers most, {number(top)} {unit}, "
                f"{times}")
    return (f"{place} {listed(equal)} answer most, about {number(top)} "
            f"{unit}; the differences between them are within the spread. "
            f"That is {times}")


def _cheapest(whole, titles):
    """Say who takes least CPU time a request, and who most; who overlaps
    the cheapest is as cheap."""
    order = sorted(((p["values"]["cpu_us"], name, p["cpu_range"])
                    for name, p in whole if p["values"].get("cpu_us")))
    if len(order) < 2:
        return []
    least, _, (_, bound) = order[0]
    most, dear, _ = order[-1]
    equal = [titles[name] for _, name, (low, _) in order if low <= bound]
    text = (f"takes {equal[0]} with {number(least)} us" if len(equal) == 1
            else f"take {listed(equal)} with about {number(least)} us, the "
                 "same within the spread")
    if len(equal) < len(order):
        text += f", most {titles[dear]} with {number(most)} us"
    return [f"Least CPU time a request {text}."]


def _unsure(there, titles):
    """Say whose figures are not compared, and which are noisy."""
    said = []
    for what, key in (("Not compared, because requests or runs were lost",
                       "hollow"), ("Noisy there", "noisy")):
        names = [titles[name] for name, p in there if p[key]]
        if names:
            said.append(f"{what}: {listed(names)}.")
    return said


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
            _cost(experiment, points), _calls(experiment, one)]
    said += [_waiting(points), _limit(experiment, points)]
    said += [_lost(experiment, points), _missing(experiment, one),
             _noise(points)]
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
    best = next((p for p in points if p["x"] == one["best"]), last)
    top = best["rate"]["median"]
    if best["hollow"]:
        return (f"{title} answers {number(top)} {unit} at {best['x']:,} "
                f"{short}, and nowhere without loss.")
    if len(points) == 1:
        return (f"{title} answers {number(top)} {unit} at {best['x']:,} "
                f"{short}.")
    level = [p for p in points if not p["hollow"]
             and p["rate"]["high"] >= best["rate"]["low"]]
    text = f"{title} is best {_places(level, points)} {short}"
    height = f"{number(top)} {unit}" if len(level) == 1 else \
        f"about {number(top)} {unit}, the same within the spread"
    if last in level:
        return f"{text}, where the curve ends, with {height}."
    share = 100 * end / top
    kept = "still makes" if share >= 80 else "has only"
    return (f"{text} with {height}, and {kept} {share:.0f} % of that at "
            f"{last['x']:,}.")


def _places(some, points):
    """Return "at 20 and 500" or "from 100 to 5,000" for some of the points
    of a curve."""
    first, last = points.index(some[0]), points.index(some[-1])
    if 2 < len(some) == last - first + 1:
        return f"from {some[0]['x']:,} to {some[-1]['x']:,}"
    return "at " + listed(f"{p['x']:,}" for p in some)


def _cost(experiment, points):
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
    return text + (", " + listed(parts) if parts else "") + "."


def _calls(experiment, one):
    """How many system calls a request makes: they are counted at one x."""
    calls = experiment["calls"].get(f"{one['server']}/{one['variant']}", {})
    if not calls:
        return ""
    named = [(each, name) for name, each in calls.items()
             if name not in ("all", "other") and each >= 0.05]
    shown = ", ".join(f"{number(each)} {name}" for each, name
                      in sorted(named, reverse=True)[:CALLS_NAMED])
    return (f"Counted at {experiment['calls_at']:,}, a request makes "
            f"{number(calls['all'])} system calls"
            + (f" ({shown})." if shown else "."))


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
    worst = max(lossy, key=lambda p: p["values"].get("failed_percent") or 0)
    share = worst["values"].get("failed_percent")
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


def _noise(points):
    """Which points one should not rely on."""
    noisy = [p for p in points if p["noisy"]]
    if not noisy:
        return ""
    places = "everywhere" if 1 < len(points) == len(noisy) \
        else _places(noisy, points)
    said = [word for p in noisy for word in p["noisy"]]
    why = [kind for start, kind in (
        ("one run", "a single run"), ("only", "too few runs"),
        ("runs", "runs far apart"), ("foreign", "foreign load"),
        ("few", "few runs that agree where those of others do not"),
        ("core", "core slower or faster than in most of the run"),
        ("load core", "load core slower or faster than in most of the run"))
        if any(word.startswith(start) for word in said)]
    return f"Noisy {places}: {listed(why)}."


def listed(parts):
    """Return "a, b and c"."""
    parts = list(parts)
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]
