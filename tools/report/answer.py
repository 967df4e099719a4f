"""The last screen of a run: what it found, what it did not, and where the rest is.

It has at most LINES lines of NARROW columns, and in a larger terminal as many as that has. Without
a terminal, it has 100 columns and no limit of lines.
"""

import textwrap

from tools.report import table
from tools.results.rundir import NOT_MEASURED
from tools.stats.sentences import number, points_at, reference_x
from tools.stats.stats import EQUAL, FEW, LESS, MORE, UNKNOWN
from tools.stats.summary import FOREIGN_LOAD

LINES = 23          # of a terminal of 24: the prompt needs one
NARROW = 80
LABEL = 15          # characters before the first column
SLOT = 6            # of a column, at least
UNDECIDED = (UNKNOWN, FEW)  # verdicts that more rounds may settle
LOST = "lost"
# The rows of an experiment, in their order.
ROWS = INSTRUCTIONS, DEFERRED, COST, TIME = "instructions", "deferred", "cost", "time"
# The rows that a screen has: the first of these choices for which it has room.
FITS = ROWS, (INSTRUCTIONS, COST, TIME), (COST, TIME), (COST,)
HEAD = "CPU time of a request; most, least: compared with the first server of a sentence"


def lines(summary, env, end, wide=NARROW, high=LINES):
    """Return the lines of the last screen, at most `high`. `env` is that of the run, `end` are the
    lines that stand below all others, none of which is left out: path, and what to do next. What
    has no room is left out: first what was counted with deferred accept, then all that was
    counted, then response times, then the last experiments."""
    wide, high = max(NARROW, wide), max(LINES, high)
    shown = columns([one["name"] for one in summary["servers"]], wide)
    parts = [(one, variant) for one in leading(summary) for variant in one["variants"]]
    head = [HEAD, fitted("", {name: name for name in shown}, shown)]
    made = [(sentence(one, variant, wide), rows(one, variant, shown)) for one, variant in parts]
    foot = [*filter(None, (unsettled(summary), disturbed(summary, wide),
                           left_out(summary, env, shown, wide))), *end]
    room = high - len(head) - len(foot)
    for kinds in FITS:
        body = [[said, *(its[kind] for kind in kinds if kind in its)] for said, its in made]
        if len(sum(body, [])) <= room:
            break
    rest = []
    while body and len(sum(body, rest)) > room:
        body.pop()
        rest = [f"{len(parts) - len(body)} more are in {table.FILE}."]
    return head + sum(body, []) + rest + foot


def leading(summary):
    """Return the experiments that the screen shows: all but those that are only drawn, because
    costs were compared at an equal rate."""
    return [one for one in summary["experiments"] if not one["drawn"]]


def columns(names, wide):
    """Return those of the servers that have a column in a line of `wide` characters."""
    shown, used = [], LABEL
    for name in names:
        used += 1 + max(SLOT, len(name))
        if used > wide:
            break
        shown.append(name)
    return shown


def fitted(label, cells, shown):
    """Return a line with a column for each server in `shown`: what `cells` has for it."""
    return label.ljust(LABEL) + "".join(
        " " + cells.get(name, "").rjust(max(SLOT, len(name))) for name in shown)


def sentence(experiment, variant, wide):
    """Return what is said of a variant, in one line: the cost of the baseline, then the most and
    the least expensive ones, and those that cost the same, as far as they fit."""
    name = ", ".join(filter(None, (experiment["title"], variant)))
    x = reference_x(experiment, variant)
    base = experiment["baselines"][variant]
    point = points_at(experiment, variant, x).get(base)
    if point is None or point["lost"]:
        return whole(f"{name}: {reason(experiment, variant, base)}", wide)
    place = name if experiment["of"] else f"{name}, {x:,}"      # at an equal rate, the title has x
    said = [f"{place}: {base} {number(point['values'].get('cpu_us'))} us"]
    known = [one for one in experiment["comparisons"] if one["metric"] == "cpu_us"
             and (one["variant"], one["x"]) == (variant, x)]
    for verdict, choose, word in ((MORE, max, "most"), (LESS, min, "least")):
        some = [one for one in known if one["verdict"] == verdict]
        if some:
            one = choose(some, key=lambda one: one["ratio"])
            said.append(f"{word} {one['server']} x{one['ratio']:.2f} "
                        f"({one['low']:.2f} to {one['high']:.2f})")
    same = [one["server"] for one in known if one["verdict"] == EQUAL]
    if same:
        said.append(f"the same within 5 %: {', '.join(same)}")
    while len("; ".join(said)) >= wide - 1 and len(said) > 1:       # its end is a "."
        said.pop()
    return whole("; ".join(said) + ".", wide)


def reason(experiment, variant, server):
    """Return why a server has no figure: the first of the notes of its points."""
    notes = [note for one in experiment["curves"]
             if (one["server"], one["variant"]) == (server, variant)
             for point in one["points"] for note in point["notes"]]
    found = next((note for note in notes if note.startswith(NOT_MEASURED)), None)
    return found or f"{NOT_MEASURED}{server} lost requests or runs"


def rows(experiment, variant, shown):
    """Return {one of ROWS: a line of figures}: instructions a request, of user and kernel, if the
    exact machine has counted them, and those with deferred accept, likewise; CPU microseconds (the
    middle of all rounds after steadied(), so no figure of samples.csv: see stats.summary.point()),
    "?" after one whose comparison with the baseline is open; of an open loop, the milliseconds
    within which 99 % of the answers came. LOST instead of a figure that stands on a lost run, "-"
    for a server that takes no part."""
    x = reference_x(experiment, variant)
    there = points_at(experiment, variant, x)
    undecided = {one["server"] for one in experiment["comparisons"]
                 if (one["metric"], one["variant"], one["x"]) == ("cpu_us", variant, x)
                 and one["verdict"] in UNDECIDED}
    lost = {one["server"]: LOST for one in experiment["curves"] if one["variant"] == variant
            for point in one["points"] if point["x"] == x and point["lost"]}
    none = dict.fromkeys(shown, "-")
    costs = {name: number(point["values"].get("cpu_us")) + ("?" if name in undecided else "")
             for name, point in there.items()}
    times = {name: number(point["values"].get("p99_ms")) for name, point in there.items()}
    made = {}
    for kind, key, label in ((INSTRUCTIONS, "exact", "  instructions"),
                             (DEFERRED, "deferred", "  defer-accept")):
        spent = {name: f"{number((one['user'] + one['kernel']) / 1000)}k"
                 for name, one in experiment.get(key, {}).get(variant, {}).items() if name in there}
        if spent:
            made[kind] = fitted(label, {**none, **spent}, shown)
    made[COST] = fitted("  CPU us", {**none, **costs, **lost}, shown)
    if any(point["values"].get("p99_ms") for point in there.values()) and experiment["open_loop"]:
        made[TIME] = fitted("  99 % ms", {**none, **times, **lost}, shown)
    return made


def unsettled(summary):
    """Return how many comparisons are not settled, in one line; "" when all are. Those at the
    points that the rows show are the ones that rows() marks, unless it has no column for the server
    or the run was lost."""
    count = {True: [0, 0], False: [0, 0]}       # {in a row: [open ones, all]}
    rows_of = [one["name"] for one in leading(summary)]
    for experiment in summary["experiments"]:
        for one in experiment["comparisons"]:
            if one["metric"] == "cpu_us":
                here = count[experiment["name"] in rows_of
                             and one["x"] == reference_x(experiment, one["variant"])]
                here[0] += one["verdict"] in UNDECIDED
                here[1] += 1
    said = [f"{some} of {total}{where}" for (some, total), where in
            ((count[True], ", marked ?"), (count[False], " at loads without a row here")) if some]
    return f"Not settled: {'; '.join(said)}." if said else ""


def disturbed(summary, wide):
    """Return that other programs used the cores, in one line; "" when none did."""
    points = [point for one in summary["experiments"] for curve in one["curves"]
              for point in curve["points"]]
    why, count = "other programs used the cores", 0
    for point in points:
        count += bool(point["disturbed"] or FOREIGN_LOAD in point["noisy"])
        why = point["disturbed"].removeprefix(NOT_MEASURED) or why
    if not count:
        return ""
    return whole(f"Disturbed or noisy, {count} of {len(points)} cells: {why}.", wide)


def left_out(summary, env, shown, wide):
    """Return what the run did not measure or the screen does not show, in one line."""
    said = [*env.get("left_to_full", ()), *env.get("left_out", ()), *env.get("problems", ())]
    hidden = len(summary["servers"]) - len(shown)
    if hidden:
        said.append(f"{hidden} servers have no column here")
    if not said:
        return ""
    more = f" (and {len(said) - 1} more: {table.FILE})" if len(said) > 1 else ""
    return whole(f"Left out: {said[0]}", wide - len(more)) + more


def whole(text, wide):
    """Return the words of `text` that fit into a line of less than `wide` characters."""
    return textwrap.shorten(text, wide - 1, placeholder=" ...")
