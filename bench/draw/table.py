"""The tables of a run: what stands in them, and how they are printed."""

import shutil
import textwrap
from dataclasses import dataclass

from bench.analyse.sentences import WHOLE_CORE as BUSY
from bench.analyse.sentences import number
from bench.analyse.summary import point_at, reference_x

WIDTH = 100         # of lines that do not go to a terminal
LOAD, LOST = "\N{WHITE CIRCLE}", "\N{MULTIPLICATION SIGN}"
SIGNS = {"lost": LOST, "load": LOAD, "": ""}
MEANINGS = {        # under each table that has the sign
    LOAD: f"{LOAD} The server's core was less than {BUSY:.0f} % busy: "
          "the server was not the limit.",
    LOST: f"{LOST} Requests or runs were lost.",
}
# Columns of words; the last one of a table may wrap.
WORDS = ("server", "figure", "compared", "why without percentiles")
LATENCY = {"p50_ms": "median", "p99_ms": "99 % below", "max_ms": "longest"}
SHOWN = ("rate", "cpu_us", "cpu_user_us", "cpu_system_us", "switches",
         "mean_ms", *LATENCY)       # which have a table of their own


def known(point, key):
    """Return (median, low, high) of a figure of a point, None without it.

    key     "rate" (requests/s), "cpu_us" (microseconds of CPU a request), or
            "can_do" (requests/s that one core can do at that cost)
    low, high   the interval of the median; with too few rounds for one, the
            median itself
    """
    if key == "can_do":
        cost = known(point, "cpu_us")
        return cost and (1e6 / cost[0], 1e6 / cost[2], 1e6 / cost[1])
    if not point["rate"]:
        return None
    median = point["rate"]["median"] if key == "rate" \
        else point["values"].get(key)
    return median and (median, *(point["intervals"][key] or [median] * 2))


def mark(point):
    """Return "lost" for a point that lost requests or runs, "load" for one
    that the load ended before the server's core was busy, else ""."""
    busy = point["values"].get("server_busy")
    if point["hollow"]:
        return "lost"
    return "" if busy is None or busy >= BUSY else "load"


@dataclass
class Table:
    """Cells are given as text, numbers or None, and kept as text."""

    title: str
    head: list
    rows: list
    notes: tuple = ()

    def __post_init__(self):
        self.rows = [list(map(text, row)) for row in self.rows]
        said = str(self.rows)
        self.notes = [*self.notes, *(meaning for sign, meaning
                                     in MEANINGS.items() if sign in said)]


def text(cell):
    """Return what is printed for a cell."""
    return (cell or "") if isinstance(cell, str) or cell is None \
        else number(cell)


def tables(summary, experiment, variant, wide):
    """Return the Tables of a variant; without `wide` only those that lead:
    cost, and the rate that was reached."""
    x = reference_x(experiment, variant)
    titles = {one["name"]: one["title"] for one in summary["servers"]}
    curves = [one for one in experiment["curves"] if one["variant"] == variant]
    found = [(one["server"], titles[one["server"]], point) for one in curves
             if (point := point_at(one, x)) and point["rate"]]
    said = [one for one in experiment["comparisons"]
            if one["variant"] == variant]
    place = f"at {x or 0:,} {experiment['x_short']}"
    made = [cost(experiment, variant, place, found,
                 {one["server"]: one for one in said
                  if one["x"] == x and one["metric"] == "cpu_us"}),
            reached(experiment, curves, titles)]
    if wide and found:
        made += [compared(experiment, said, titles),
                 latency(experiment, place, found),
                 rest(summary["columns"], place, found)]
    return [table for table in made if table.rows]


def cost(experiment, variant, place, found, said):
    """What a request costs, and how that compares with the baseline."""
    bases = {one["base"] for one in said.values()}
    rows, noisy = [], {}
    for server, title, point in found:
        values = point["values"]
        noisy.update(dict.fromkeys(point["noisy"]))
        sign = LOST * point["hollow"] + "~" * bool(point["noisy"])
        can_do = known(point, "can_do")
        calls = experiment["calls"].get(f"{server}/{variant}", {})
        words = said[server]["words"] if server in said \
            else "baseline" * (server in bases)
        rows.append([title, sign + text(values.get("cpu_us")),
                     values.get("cpu_user_us"), values.get("cpu_system_us"),
                     can_do and can_do[0], calls.get("all"),
                     values.get("switches"), words])
    notes = ["can do/s: 1,000,000 / CPU us, for one core. System calls were "
             f"counted at {experiment['calls_at']:,} {experiment['x_short']}."
             + "".join(f" Compared: the CPU time with that of {base}."
                       for base in bases)]
    if noisy:
        notes.append(f"~ Noisy: {', '.join(noisy)}.")
    return Table(
        f"What a request costs {place}",
        ["server", "CPU us", "user", "system", "can do/s", "calls",
         "switches", "compared"], rows, notes)


def reached(experiment, curves, titles):
    """The rates by x, a column a server. 2/3: two of three runs gave one."""
    def cell(point):
        if not point:
            return None
        runs = "" if point["runs"] == point["planned"] else \
            f" {point['runs']}/{point['planned']}"
        rate = number(point["rate"]["median"]) if point["rate"] else "-"
        return SIGNS[mark(point)] + rate + runs
    return Table(f"{experiment['unit']} reached, by {experiment['x_title']}",
                 ["", *(titles[one["server"]] for one in curves)],
                 [[f"{x:,}", *(cell(point_at(one, x)) for one in curves)]
                  for x in sorted({p["x"] for one in curves
                                   for p in one["points"]})])


def compared(experiment, said, titles):
    """Every comparison with the baseline, in the words of the analysis."""
    base = " and ".join(sorted({titles[one["base"]] for one in said}))
    return Table(f"Compared with {base}, round by round",
                 [experiment["x_short"], "server", "figure", "compared"],
                 [[f"{one['x']:,}", titles[one["server"]],
                   {"cpu_us": "CPU time"}.get(one["metric"], one["metric"]),
                   one["words"]] for one in said])


def latency(experiment, place, found):
    """Means and percentiles; those of a flagged point are left out."""
    notes = [words for words in experiment["latency"].values() if words]
    mean = "mean_ms"
    if not experiment["open_loop"]:
        mean = "waited_ms"
        notes.append("mean: clients / rate, by Little's law. Where the mean "
                     "of the tool itself is another one, its percentiles are "
                     "left out.")
    return Table(f"Latency in milliseconds {place}",
                 ["server", "mean", *LATENCY.values(), WORDS[-1]],
                 [[title, {**point["values"], **point}.get(mean),
                   *(None if point["flag"] else point["values"].get(key)
                     for key in LATENCY), point["flag"]]
                  for _, title, point in found], notes)


def rest(columns, place, found):
    """The limit and all other figures: a line each, a column a server."""
    return Table(f"What else was measured {place}",
                 ["", *(title for _, title, _ in found)],
                 [["limit", *(point["limit"] for _, _, point in found)]]
                 + [[", ".join(filter(None, (one["title"], one["unit"]))),
                      *(point["values"].get(one["key"])
                        for _, _, point in found)]
                    for one in columns if one["key"] not in SHOWN and any(
                        point["values"].get(one["key"]) is not None
                        for _, _, point in found)])


# ------------------------------------------------------------------- printing

def width():
    """Return how wide lines may be: as the terminal is, or WIDTH."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def parts(table, wide):
    """Return lists of rows of text, the head first: the first column and as
    many of the others as fit `wide` characters. A table whose last column
    can wrap stays whole."""
    rows = [table.head, *table.rows]
    if table.head[-1] in WORDS:
        return [rows]
    sizes = [2 + max(map(len, column)) for column in zip(*rows)]
    groups = [[]]
    for place in range(1, len(sizes)):
        used = sum(sizes[one] for one in (0, *groups[-1], place))
        if groups[-1] and used > wide + 2:
            groups.append([])
        groups[-1].append(place)
    return [[[row[place] for place in (0, *group)] for row in rows]
            for group in groups]


def lines(table, wide):
    """Return a table as lines of `wide` characters at most."""
    made = textwrap.wrap(table.title, wide)
    for part in parts(table, wide):
        sizes = [max(map(len, column)) for column in zip(*part)]
        room = wide - sum(2 + size for size in sizes[:-1])
        for row in part:
            *first, last = [
                cell.ljust(size) if name in (part[0][0], *WORDS)
                else cell.rjust(size)
                for name, cell, size in zip(part[0], row, sizes)]
            begin = "".join(cell + "  " for cell in first)
            for piece in textwrap.wrap(last, max(room, 12)) or [""]:
                made.append((begin + piece).rstrip())
                begin = " " * len(begin)
    return made + [line for note in table.notes
                   for line in textwrap.wrap(note, wide)]


def say(*sentences):
    """Print sentences, each on lines of its own."""
    for sentence in sentences:
        print(textwrap.fill(sentence, width()), flush=True)


def show_all(summary, wide=False):
    """Print sentences and tables of all experiments; `wide`: every table."""
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            print()
            say(", ".join(filter(None, (experiment["title"], variant))),
                *experiment["sentences"]["all"].get(variant, ()))
            for table in tables(summary, experiment, variant, wide):
                print("", *lines(table, width()), sep="\n")
