"""The tables of a run: what stands in them, and how they are printed."""

import functools
import shutil
import textwrap

from tools.stats.bottleneck import WHOLE_CORE, core_was_limit
from tools.stats.sentences import number, points_at, reference_x

FILE = "tables.txt"     # in the folder of a run: all tables
WIDTH = 100         # of lines that do not go to a terminal
LOAD, LOST = "\N{WHITE CIRCLE}", "\N{MULTIPLICATION SIGN}"
SIGNS = {"lost": LOST, "load": LOAD, "": ""}
MEANINGS = {        # under each table that has the sign
    LOAD: f"{LOAD} The server's core was less than {WHOLE_CORE:.0f} % busy: the server was not the "
          "limit.",
    LOST: f"{LOST} Requests or runs were lost.",
}
# Columns of words; the last one of a table may wrap.
WORDS = ("server", "figure", "compared", "why without percentiles")
LATENCY = {"p50_ms": "median", "p99_ms": "99 % below", "max_ms": "longest"}
NAMES = {"cpu_us": "CPU time", "p50_ms": "median ms", "p99_ms": "99 % ms"}   # of a comparison
RESPONSE = {"p50_ms": "Median response time", "p99_ms": "99 % of the answers within"}
# Which have a table of their own.
SHOWN = ("rate", "cpu_us", "cpu_user_us", "cpu_system_us", "switches", "faults",
         "segments", "mean_ms", *LATENCY)


def known(point, key):
    """Return (middle, low, high) of a figure of a point: its interval, with too few rounds for one
    the middle itself. None without the figure. `key` is "rate" (requests/s), "cpu_us"
    (microseconds of CPU a request), "can_do" (requests/s of one core at that cost: a limit, which
    only a server has shown whose core was busy all the time), or a column of figures."""
    if key == "can_do":
        cost = known(point, "cpu_us") if core_was_limit(point["values"]) else None
        return cost and (1e6 / cost[0], 1e6 / cost[2], 1e6 / cost[1])
    if not point["rate"]:
        return None
    middle = point["rate"]["middle"] if key == "rate" else point["values"].get(key)
    return None if middle is None else (middle, *(point["intervals"].get(key) or [middle] * 2))


def mark(point):
    """Return "lost" for a point that lost requests or runs, "load" for one that the load ended
    before the server's core was busy, else ""."""
    return "lost" if point["lost"] else "load" if core_was_limit(point["values"]) is False else ""


class Table:
    """Cells are text, numbers or None, and kept as text; a column without any is left out."""

    def __init__(self, title, head, rows, notes=()):
        rows = [list(map(text, row)) for row in rows]
        kept = [at for at in range(len(head)) if not at or any(row[at] for row in rows)]
        self.title, self.head = title, [head[at] for at in kept]
        self.rows = [[row[at] for at in kept] for row in rows]
        self.notes = [*notes, *(meaning for sign, meaning in MEANINGS.items()
                                if sign in str(self.rows))]


def text(cell):
    """Return what is printed for a cell."""
    return (cell or "") if isinstance(cell, str) or cell is None else number(cell)


def tables(summary, experiment, variant):
    """Return the Tables of a variant. First those that lead: what was counted (its instructions are
    the same on each machine), what it costs here, response times, and the rate reached."""
    x = reference_x(experiment, variant)
    titles = {one["name"]: one["title"] for one in summary["servers"]}
    found = points_at(experiment, variant, x)
    said = [one for one in experiment["comparisons"] if one["variant"] == variant]
    place = f"at {x or 0:,} {experiment['x_short']}"
    costs = {one["server"]: one["words"] for one in said
             if one["x"] == x and one["metric"] == "cpu_us"}
    made = [for_a_request(experiment, variant, titles, found),
            cost(experiment, variant, place, titles, found, costs),
            *(by_x(experiment, variant, titles, f"{title} in milliseconds",
                   functools.partial(response_time, key=key),
                   [words for words in experiment["latency"].values() if words])
              for key, title in RESPONSE.items() if experiment["open_loop"]),
            by_x(experiment, variant, titles, f"{experiment['unit']} reached", reached),
            counted(experiment, variant, titles),
            hosts(*experiment.get("hosts", {}).get(variant, ((), ())))]
    if found:
        found = {titles[name]: point for name, point in found.items()}
        made += [compared(experiment, said, titles), latency(experiment, place, found),
                 rest(summary["columns"], place, found)]
    return [table for table in made if table.rows]


def for_a_request(experiment, variant, titles, found):
    """What can be counted for each request: instructions, system calls, switches, page faults, TCP
    segments. Of servers with deferred accept, instructions only."""
    known, deferred = experiment.get("exact", {}), experiment.get("deferred", {})
    rows = []
    for server, point in found.items():
        spent = known.get(variant, {}).get(server, {})
        both = [spent[kind] / 1000 if spent else None for kind in ("user", "kernel")]
        rows.append([titles[server], sum(both) if spent else None, *both,
                     experiment["calls"].get(f"{server}/{variant}", {}).get("all"),
                     *map(point["values"].get, ("switches", "faults", "segments"))])
    with_option = {server: spent for server, spent in deferred.get(variant, {}).items()
                   if server in found}
    for server, spent in with_option.items():
        both = [spent[kind] / 1000 for kind in ("user", "kernel")]
        rows.append([f"{titles[server]}, defer-accept", sum(both), *both, *[None] * 4])
    notes = []
    if any(row[1] for row in rows):
        notes.append("Instructions: thousands, counted on the exact machine at commit "
                     f"{(known or deferred)['source'][:7]}, where they are the same whatever "
                     "machine it runs on; `make exact` counts them again.")
    if with_option:
        notes.append("defer-accept: the same server with one socket option, TCP_DEFER_ACCEPT "
                     f"(variants/defer-accept.md), at commit {deferred['source'][:7]}.")
    if any(row[4] for row in rows):
        notes.append(f"System calls were counted at {experiment['calls_at']}; switches, page "
                     "faults and TCP segments (of server, clients and Redis) are of this run.")
    return Table("Counted for a request", [
        "server", "instructions", "user", "kernel", "calls", "switches", "faults", "segments"],
        rows if any(any(row[1:]) for row in rows) else [], notes)


def cost(experiment, variant, place, titles, found, said):
    """What a request costs, and what is said of it and the baseline."""
    base = experiment["baselines"][variant]
    rows, noisy = [], {}
    for server, point in found.items():
        values = point["values"]
        noisy.update(dict.fromkeys(point["noisy"]))
        sign = (LOST if point["lost"] else "") + ("~" if point["noisy"] else "")
        rows.append([titles[server], sign + text(values.get("cpu_us")),
                     values.get("cpu_user_us"), values.get("cpu_system_us"),
                     (known(point, "can_do") or [None])[0],
                     said.get(server, "baseline" if said and server == base else "")])
    notes = [f"Compared: the CPU time with that of {titles[base]}."] if said else []
    if any(row[4] for row in rows):
        notes.append("can do/s: 1,000,000 / CPU us, where the server's core was at least "
                     f"{WHOLE_CORE:.0f} % busy: elsewhere, what it can do was not seen.")
    if noisy:
        notes.append(f"~ Noisy: {', '.join(noisy)}.")
    return Table(f"What a request costs {place}", [
        "server", "CPU us", "user", "system", "can do/s", "compared"], rows, notes)


def by_x(experiment, variant, titles, title, cell, notes=()):
    """Return a Table with a line for each x and a column for each server. cell(point) returns the
    text of a point, "" for none; an x without any text has no line, and a Table without lines has
    no `notes`."""
    curves = {one["server"]: one["points"] for one in experiment["curves"]
              if one["variant"] == variant}
    cells = {}          # {x: {server: text}}
    for server, points in curves.items():
        for point in points:
            if said := cell(point):
                cells.setdefault(point["x"], {})[server] = said
    return Table(f"{title}, by {experiment['x_title']}", ["", *map(titles.get, curves)],
                 [[f"{x:,}", *map(cells[x].get, curves)] for x in sorted(cells)],
                 notes if cells else ())


def reached(point):
    """Return the rate of a point as text. "2/3" behind it: two of three runs gave one."""
    rate = number(point["rate"]["middle"]) if point["rate"] else "-"
    whole = point["runs"] == point["planned"]
    return SIGNS[mark(point)] + rate + ("" if whole else f" {point['runs']}/{point['planned']}")


def response_time(point, key):
    """Return a percentile of the response time, as the load tool counts it (its `latency`), with
    the ends of its interval; "" if it is not known."""
    if not (found := known(point, key)):
        return ""
    middle, low, high = map(number, found)
    ends = f" ({low} to {high})" if point["intervals"][key] else ""
    return SIGNS["lost" if point["lost"] else ""] + middle + ends


def counted(experiment, variant, titles):
    """What the hooks of a study counted: a line a cell, a column a figure."""
    cells = {}          # {(x, server): {figure: median}}
    for one in experiment.get("counted", ()):
        if one["variant"] == variant:
            cells.setdefault((one["x"], one["server"]), {})[one["figure"]] = one["median"]
    figures = list(dict.fromkeys(figure for told in cells.values() for figure in told))
    return Table("Also counted, medians of all rounds", ["server", experiment["x_short"], *figures],
                 [[titles[server], f"{x:,}", *map(told.get, figures)]
                  for (x, server), told in sorted(cells.items())])


def hosts(told, said):
    """Of a fleet: what each host did, a median over all runs."""
    return Table("What each host did", [
        "host", "role", "busy %", "its cores %", "answers/s", "began ms"],
        [[one[key] for key in ("host", "role", "busy", "cores_busy", "rate", "begin_ms")]
         for one in told],
        [*said, "busy: CPU time of the server, of Redis or of a load tool over wall time. began: "
         "after the first load tool."])


def compared(experiment, said, titles):
    """Every comparison with the baseline, in the words of the analysis."""
    base = " and ".join(sorted({titles[one["base"]] for one in said}))
    return Table(f"Compared with {base}, round by round",
                 [experiment["x_short"], "server", "figure", "compared"],
                 [[f"{one['x']:,}", titles[one["server"]],
                   NAMES.get(one["metric"], one["metric"]), one["words"]] for one in said])


def latency(experiment, place, found):
    """Means and percentiles; those of a flagged point are left out."""
    notes = [words for words in experiment["latency"].values() if words]
    mean = "mean_ms"
    if not experiment["open_loop"]:
        mean = "waited_ms"
        notes.append("mean: clients / rate, by Little's law. Where the mean of the tool itself "
                     "is another one, its percentiles are left out.")
    return Table(f"Latency in milliseconds {place}",
                 ["server", "mean", *LATENCY.values(), WORDS[-1]],
                 [[title, {**point["values"], **point}.get(mean),
                   *map(point["values"].get, LATENCY), point["flag"]]
                  for title, point in found.items()], notes)


def rest(columns, place, found):
    """The limit and all other figures: a line each, a column a server."""
    rows = [["limit", *(point["limit"] for point in found.values())]]
    for one in columns:
        values = [point["values"].get(one["key"]) for point in found.values()]
        if one["key"] not in SHOWN and values != [None] * len(values):
            rows.append([", ".join(filter(None, (one["title"], one["unit"]))), *values])
    return Table(f"What else was measured {place}", ["", *found], rows)


def width():
    """Return how wide lines may be: as the terminal is, or WIDTH."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def height():
    """Return how many lines fit above a prompt: as the terminal has, without one any number."""
    return shutil.get_terminal_size((WIDTH, 1000)).lines - 1


def lines(table, wide):
    """Return a table as lines of `wide` characters at most: the first column and as many of the
    others as fit, then the first and the next ones. A last column of words wraps instead."""
    rows, made = [table.head, *table.rows], textwrap.wrap(table.title, wide)
    sizes = [max(map(len, column)) for column in zip(*rows)]
    left, wraps = list(range(1, len(sizes))), table.head[-1] in WORDS
    while left:
        part, used = [0], sizes[0]
        while left and (wraps or len(part) == 1 or used + 2 + sizes[left[0]] <= wide):
            used += 2 + sizes[left[0]]
            part.append(left.pop(0))
        indent = " " * (used - sizes[part[-1]])
        for row in rows:
            line = "  ".join(
                row[n].ljust(sizes[n]) if not n or table.head[n] in WORDS
                else row[n].rjust(sizes[n]) for n in part)
            made += textwrap.wrap(line.rstrip(), wide, subsequent_indent=indent)
    return made + [line for note in table.notes for line in textwrap.wrap(note, wide)]


def say(*sentences):
    """Print sentences, each on lines of its own; a line break in one stays."""
    for line in (line for sentence in sentences for line in sentence.split("\n")):
        print(textwrap.fill(line, width()), flush=True)


def all_lines(summary, size):
    """Return sentences and tables of all experiments as lines of `size` characters at most."""
    made = []
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            said = [", ".join(filter(None, (experiment["title"], variant))),
                    *experiment["sentences"]["all"].get(variant, ())]
            made += ["", *(line for one in said for line in textwrap.wrap(one, size))]
            for one in tables(summary, experiment, variant):
                made += ["", *lines(one, size)]
    return made
