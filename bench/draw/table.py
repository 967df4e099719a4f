"""The tables of a run: what stands in them, and how they become text (by
rich, where it is there) and HTML."""

import html
import sys
from dataclasses import dataclass

from bench.analyse.sentences import number
from bench.analyse.summary import point_at, reference_x
from bench.draw import points

try:
    import rich.console
    import rich.table
    import rich.text
except ImportError:
    rich = None

WIDTH = 100         # of tables that go to a file
LOAD, LOST = "\N{WHITE CIRCLE}", "\N{MULTIPLICATION SIGN}"
SIGNS = {"lost": LOST, "load": LOAD, "": ""}
MEANINGS = {        # under each table that has the sign
    LOAD: f"{LOAD} The server's core was less than {points.BUSY:.0f} % busy: "
          "the server was not the limit.",
    LOST: f"{LOST} Requests or runs were lost.",
    "~": "~ Not tight: the median is not known to 5 %, or there are fewer "
         "than six rounds.",
}
WORDS = ("server", "with", "limit", "compared", "CPU time", "rate",
         "percentiles left out because")    # columns of text
REST = {"failed_percent": "lost %", "server_busy": "server busy %",
        "load_busy": "load busy %", "redis_busy": "Redis busy %",
        "faults": "page faults", "processes": "processes",
        "threads": "threads", "pss_mib": "PSS MiB",
        "bytes_per_connection": "bytes/connection", "overflows": "overflows"}


@dataclass
class Table:
    """Cells are text, numbers, None, or (text, the number to sort by)."""

    title: str
    head: list
    rows: list
    notes: tuple = ()

    def __post_init__(self):
        said = " ".join(text(cell) for row in self.rows for cell in row)
        self.notes = [*self.notes, *(meaning for sign, meaning
                                     in MEANINGS.items() if sign in said)]


def text(cell):
    """Return what is printed for a cell."""
    cell = cell[0] if isinstance(cell, tuple) else cell
    return "" if cell is None else \
        cell if isinstance(cell, str) else number(cell)


def tables(summary, experiment, variant, wide):
    """Return the Tables of a variant; without `wide` only those that lead:
    cost, and the rate that was reached."""
    x = reference_x(experiment, variant)
    titles = {one["name"]: one["title"] for one in summary["servers"]}
    curves = [one for one in experiment["curves"] if one["variant"] == variant]
    found = [(one["server"], titles[one["server"]], point) for one in curves
             if (point := point_at(one, x)) and point["rate"]]
    said = [one for one in experiment.get("comparisons", ())
            if one["variant"] == variant]
    place = f"at {x or 0:,} {experiment['x_short']}"
    made = [cost(experiment, variant, place, found,
                 {one["server"]: one for one in said
                  if one["x"] == x and one["metric"] == "cpu_us"}),
            reached(experiment, curves, titles)]
    if wide:
        made += [compared(experiment, said, titles),
                 latency(experiment, place, found), rest(place, found),
                 limits(place, found)]
    return [table for table in made if table.rows]


def cost(experiment, variant, place, found, said):
    """What a request costs, and what is said of it next to the baseline."""
    rows = []
    for server, title, point in found:
        values = point["values"]
        words = said.get(server, {}).get("words") or "baseline" * any(
            one["base"] == server for one in said.values())
        sign = LOST * point["hollow"] + "~" * (point.get("tight") is False)
        calls = experiment["calls"].get(f"{server}/{variant}", {})
        rows.append([title, (sign + text(values.get("cpu_us")),
                             values.get("cpu_us")),
                     values.get("cpu_user_us"), values.get("cpu_system_us"),
                     points.can_do(point)[0], calls.get("all"),
                     values.get("switches"), words])
    bases = ", ".join(sorted({one["base"] for one in said.values()}))
    return Table(
        f"What a request costs {place}",
        ["server", "CPU us", "user", "system", "can do/s", "calls",
         "switches", "compared"], rows,
        ("can do/s: 1,000,000 / CPU us, for one core. System calls were "
         f"counted at {experiment['calls_at']:,} {experiment['x_short']}."
         + bool(bases) * f" Compared: the CPU time with that of {bases}.",))


def reached(experiment, curves, titles):
    """The rates by x, a column a server. 2/3: so many runs gave a figure."""
    def cell(point):
        if not point:
            return None
        runs = "" if point["runs"] == point["planned"] else \
            f" {point['runs']}/{point['planned']}"
        rate = points.rate(point)[0]
        return (SIGNS[points.mark(point)]
                + ("-" if rate is None else number(rate)) + runs, rate)
    return Table(f"{experiment['unit']} reached, by {experiment['x_title']}",
                 ["", *(titles[one["server"]] for one in curves)],
                 [[(f"{x:,}", x), *(cell(point_at(one, x)) for one in curves)]
                  for x in sorted({p["x"] for one in curves
                                   for p in one["points"]})])


def compared(experiment, said, titles):
    """Every comparison with a baseline, in the words of the analysis."""
    rows = {}
    for one in said:
        rows.setdefault((one["x"], one["server"], one["base"]),
                        {})[one["metric"]] = one["words"]
    return Table("Compared in pairs, round by round",
                 [experiment["x_short"], "server", "with", "CPU time", "rate"],
                 [[(f"{x:,}", x), titles.get(server, server),
                   titles.get(base, base), words.get("cpu_us"),
                   words.get("rate")] for (x, server, base), words in sorted(
                       rows.items(), key=lambda row: row[0][0])])


def latency(experiment, place, found):
    """Means and percentiles; those of a flagged point are left out."""
    rows = []
    for _, title, point in found:
        flag, values = point.get("flag") or "", point["values"]
        mean = values.get("mean_ms")
        if not experiment["open_loop"]:
            rate = points.rate(point)[0]
            mean = point.get("waited_ms",
                             1000 * point["x"] / rate if rate else None)
        rows.append([title, mean, *(None if flag else values.get(key) for key
                                    in ("p50_ms", "p99_ms", "max_ms")), flag])
    notes = [f"{tool}: {words}" for tool, words
             in (experiment.get("latency") or {}).items() if words]
    if not experiment["open_loop"]:
        notes.append("mean: clients / rate, by Little's law. Where the mean "
                     "of the tool itself is another one, its percentiles are "
                     "left out.")
    return Table(f"Latency in milliseconds {place}",
                 ["server", "mean", "median", "99 % below", "longest",
                  WORDS[-1]], rows, notes)


def rest(place, found):
    """What else was measured."""
    used = [key for key in REST if any(
        point["values"].get(key) is not None for _, _, point in found)]
    return Table(f"What else was measured {place}",
                 ["server", *(REST[key] for key in used)],
                 [[title, *(point["values"].get(key) for key in used)]
                  for _, title, point in found])


def limits(place, found):
    """What was the limit, and by what that is seen."""
    return Table(f"The limit {place}", ["server", "limit"],
                 [[title, f"{point['limit']}: {point.get('evidence')}"]
                  for _, title, point in found if point.get("limit")])


def pages(table, width):
    """Return lists of rows of text, the head first, that fit `width`
    characters: the first column and some of the others. Words wrap, so that a
    table with such a column stays whole."""
    rows = [table.head, *([text(cell) for cell in row] for row in table.rows)]
    sizes = [2 + max(map(len, column)) for column in zip(*rows)]
    parts, used = [[0]], sizes[0]
    for place, size in enumerate(sizes[1:], 1):
        if len(parts[-1]) > 1 and used + size > width \
                and not set(table.head[1:]) & set(WORDS):
            parts.append([0])
            used = sizes[0]
        parts[-1].append(place)
        used += size
    return [[[row[place] for place in part] for row in rows]
            for part in parts]


def drawn(table, width):
    """Return what rich prints for a table."""
    made = [rich.text.Text(table.title, style="bold")]
    for head, *rows in pages(table, width):
        one = rich.table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for place, name in enumerate(head):
            left = not place or name in WORDS
            one.add_column(rich.text.Text(name), no_wrap=not (left and place),
                           justify="left" if left else "right")
        for row in rows:
            one.add_row(*(rich.text.Text(
                cell, style="yellow" if LOST in cell else "") for cell in row))
        made.append(one)
    return made + [rich.text.Text(note, style="dim") for note in table.notes]


def show(table, out=None):
    """Print a table to `out` (default: stdout)."""
    out = out or sys.stdout
    if rich:
        console = rich.console.Console(
            file=out, width=None if out.isatty() else WIDTH, highlight=False)
        for part in drawn(table, console.width):
            console.print(part)
        return
    print(table.title, file=out)
    for page in pages(table, WIDTH):
        sizes = [max(map(len, column)) for column in zip(*page)]
        for row in page:
            print(*(cell.ljust(size) if not place or page[0][place] in WORDS
                    else cell.rjust(size) for place, (cell, size)
                    in enumerate(zip(row, sizes))), sep="  ", file=out)
    for note in table.notes:
        print(note, file=out)


def show_all(summary, wide=False, out=None):
    """Print sentences and tables of all experiments to `out`."""
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            print("", ", ".join(filter(None, (experiment["title"], variant))),
                  *experiment["sentences"]["all"].get(variant, ()),
                  sep="\n", file=out)
            for one in tables(summary, experiment, variant, wide):
                print(file=out)
                show(one, out)


def markup(table):
    """Return a table as HTML."""
    def row(cells, tag):
        made = ""
        for name, cell in zip(table.head, cells):
            key = cell[1] if isinstance(cell, tuple) else cell
            made += (f'<{tag}{" class=words" * (name in WORDS)} data-key="'
                     f'{html.escape(str("" if key is None else key))}">'
                     f"{html.escape(text(cell))}</{tag}>")
        return f"<tr>{made}</tr>"
    return (f"<h4>{html.escape(table.title)}</h4><div class=scroll><table>"
            f"<thead>{row(table.head, 'th')}</thead><tbody>"
            + "".join(row(cells, "td") for cells in table.rows)
            + "</tbody></table></div>" + "".join(
                f"<p class=note>{html.escape(note)}</p>"
                for note in table.notes))
