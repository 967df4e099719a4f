"""The tables of a run, for the terminal and the report.

A function here says what stands in a table; show() and markup() write it as
text and as HTML.
"""

import html
import sys
from dataclasses import dataclass, field

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
# What explains a sign, under each table that has it.
MEANINGS = {
    LOAD: f"{LOAD} The server's core was less than {points.BUSY:.0f} % busy: "
          "the load was the limit, not the server.",
    LOST: f"{LOST} Requests or runs were lost.",
    "~": "~ Not tight: the interval of the median is wider than 5 %, or there "
         "are fewer than six rounds.",
}


@dataclass
class Table:
    """Cells are text, numbers, None, or (text, the number to sort by). The
    columns whose names are in `words` hold text."""

    title: str
    head: list
    rows: list
    words: tuple = ()
    notes: list = field(default_factory=list)

    def __post_init__(self):
        said = " ".join(text(cell) for row in self.rows for cell in row)
        self.notes = self.notes + [meaning for sign, meaning
                                   in MEANINGS.items() if sign in said]


def text(cell):
    """Return what is printed for a cell."""
    if isinstance(cell, tuple):
        cell = cell[0]
    return "" if cell is None else \
        cell if isinstance(cell, str) else number(cell)


def tables(summary, experiment, variant, wide):
    """Return the Tables of a variant; without `wide` only those that lead:
    cost, and the rate that was reached."""
    makers = (cost, reached) + ((compared, latency, rest) if wide else ())
    made = (maker(summary, experiment, variant) for maker in makers)
    return [table for table in made if table.rows]


def at_reference(summary, experiment, variant):
    """Return ("at 100 clients", [(curve, its title, its point), ...]) of the
    curves that have a figure at the reference."""
    x = reference_x(experiment, variant)
    titles = {one["name"]: one["title"] for one in summary["servers"]}
    found = [(one, titles[one["server"]], point_at(one, x))
             for one in experiment["curves"] if one["variant"] == variant]
    return (f"at {x:,} {experiment['x_short']}" if x is not None else "",
            [one for one in found if one[2] and one[2]["rate"]])


def cost(summary, experiment, variant):
    """What a request costs, and what is said of it next to the baseline."""
    place, found = at_reference(summary, experiment, variant)
    said = {(one["server"], one["metric"]): one for one
            in experiment.get("comparisons", ())
            if one["variant"] == variant
            and one["x"] == reference_x(experiment, variant)}
    bases = {one["base"] for one in said.values()}
    rows = []
    for one, title, point in found:
        values = point["values"]
        calls = experiment["calls"].get(f"{one['server']}/{variant}", {})
        words = said.get((one["server"], "cpu_us"), {}).get("words", "")
        loose = "~" if point.get("tight") is False else ""
        sign = LOST if point["hollow"] else ""
        rows.append([
            title, (f"{sign}{loose}{text(values.get('cpu_us'))}",
                    values.get("cpu_us")),
            values.get("cpu_user_us"), values.get("cpu_system_us"),
            points.can_do(point)[0], calls.get("all"), values.get("switches"),
            "baseline" if one["server"] in bases and not words else words])
    versus = f"CPU compared with {', '.join(sorted(bases))}" if bases \
        else "compared"
    return Table(
        f"What a request costs {place}",
        ["server", "CPU us", "user", "system", "can do/s", "calls",
         "switches", versus], rows, ("server", versus),
        [f"can do/s: 1,000,000 / CPU us, for one core. calls: counted at "
         f"{experiment['calls_at']:,} clients."] if rows else [])


def reached(summary, experiment, variant):
    """The rates by x, a column a server."""
    curves = [one for one in experiment["curves"]
              if one["variant"] == variant]
    titles = {one["name"]: one["title"] for one in summary["servers"]}
    rows = []
    for x in sorted({p["x"] for one in curves for p in one["points"]}):
        rows.append([(f"{x:,}", x), *(_rate(point_at(one, x))
                                      for one in curves)])
    return Table(f"{experiment['unit']} reached, by {experiment['x_title']}",
                 ["", *(titles[one["server"]] for one in curves)], rows)


def _rate(point):
    """Return the cell of a rate. 2/3: so many of the runs gave a figure."""
    if not point:
        return None
    runs = f" {point['runs']}/{point['planned']}" \
        if point["runs"] < point["planned"] else ""
    if not point["rate"]:
        return (f"{LOST if point['hollow'] else '-'}{runs}", 0)
    rate = point["rate"]["median"]
    return (SIGNS[points.mark(point)] + number(rate) + runs, rate)


def compared(summary, experiment, variant):
    """Every comparison with a baseline, in the words of the analysis."""
    titles = {one["name"]: one["title"] for one in summary["servers"]}
    said = {}
    for one in experiment.get("comparisons", ()):
        if one["variant"] == variant:
            said.setdefault((one["x"], one["server"], one["base"]),
                            {})[one["metric"]] = one["words"]
    return Table(
        "Compared in pairs, round by round",
        [experiment["x_short"], "server", "with", "CPU a request", "rate"],
        [[(f"{x:,}", x), titles.get(server, server), titles.get(base, base),
          words.get("cpu_us", ""), words.get("rate", "")]
         for (x, server, base), words in sorted(
             said.items(), key=lambda item: item[0][0])],
        ("server", "with", "CPU a request", "rate"))


def latency(summary, experiment, variant):
    """Mean and percentiles. The mean of a closed loop is clients / rate; the
    percentiles of a flagged point are left out."""
    place, found = at_reference(summary, experiment, variant)
    closed = not experiment["open_loop"]
    rows = []
    for _, title, point in found:
        values, flag = point["values"], point.get("flag") or ""
        rate = point["rate"]["median"]
        mean = (1000 * point["x"] / rate if rate else None) if closed \
            else values.get("mean_ms")
        rows.append([title, mean, *(None if flag else values.get(key) for key
                                    in ("p50_ms", "p99_ms", "max_ms")), flag])
    notes = [f"{tool}: {words}" for tool, words
             in (experiment.get("latency") or {}).items() if words]
    if closed:
        notes.append("mean: clients / rate, by Little's law.")
    if any(row[-1] for row in rows):
        notes.append("Where the tool's own mean does not agree with clients /"
                     " rate, its percentiles are left out.")
    return Table(f"Latency in milliseconds {place}",
                 ["server", "mean", "median", "99 % below", "longest",
                  "percentiles left out because"],
                 rows, ("server", "percentiles left out because"), notes)


REST = (("failed_percent", "lost %"), ("server_busy", "server busy %"),
        ("load_busy", "load busy %"), ("redis_busy", "Redis busy %"),
        ("faults", "page faults"), ("processes", "processes"),
        ("threads", "threads"), ("pss_mib", "PSS MiB"),
        ("bytes_per_connection", "bytes/connection"),
        ("overflows", "overflows"))


def rest(summary, experiment, variant):
    """What else was measured, and what the limit was."""
    place, found = at_reference(summary, experiment, variant)
    used = [(key, name) for key, name in REST if any(
        point["values"].get(key) is not None for _, _, point in found)]
    return Table(f"What else was measured {place}",
                 ["server", *(name for _, name in used), "limit"],
                 [[title, *(point["values"].get(key) for key, _ in used),
                   ": ".join(filter(None, [point["limit"],
                                           point["evidence"]]))]
                  for _, title, point in found], ("server", "limit"))


def pages(table, width):
    """Return the table in parts that fit `width` characters: the first column
    and some others each. A table with words is one part, as words wrap."""
    sizes = [max(len(name), *(len(text(row[place])) for row in table.rows),
                 0) + 2 for place, name in enumerate(table.head)]
    parts, used = [[]], sizes[0]
    for place in range(1, len(sizes)):
        if parts[-1] and used + sizes[place] > width and not table.words:
            parts.append([])
            used = sizes[0]
        parts[-1].append(place)
        used += sizes[place]
    return [[[row[place] for place in (0, *part)]
             for row in (table.head, *table.rows)] for part in parts]


def drawn(table, width):
    """Return a table as rich draws it: a list of what it can print."""
    made = [rich.text.Text(table.title, style="bold")]
    for head, *rows in pages(table, width):
        one = rich.table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for place, name in enumerate(head):
            left = not place or name in table.words
            one.add_column(rich.text.Text(name), no_wrap=not left or not place,
                           justify="left" if left else "right")
        for row in rows:
            one.add_row(*(rich.text.Text(text(cell), style=(
                "yellow" if LOST in text(cell) else "")) for cell in row))
        made.append(one)
    return made + [rich.text.Text(note, style="dim") for note in table.notes]


def show(table, out=None):
    """Print a table to `out` (default: stdout)."""
    out = out or sys.stdout
    if rich:
        console = rich.console.Console(
            file=out, width=None if out.isatty() else WIDTH, highlight=False)
        console.print(*drawn(table, console.width), "", sep="\n")
        return
    print(table.title, file=out)
    for page in pages(table, WIDTH):
        lines = [[text(cell) for cell in row] for row in page]
        sizes = [max(map(len, column)) for column in zip(*lines)]
        for line in lines:
            print(line[0].ljust(sizes[0]), *(
                cell.ljust(size) if name in table.words else cell.rjust(size)
                for name, cell, size in zip(lines[0][1:], line[1:],
                                            sizes[1:])), sep="  ", file=out)
    print(*table.notes, "", sep="\n", file=out)


def show_all(summary, wide=False, out=None):
    """Print sentences and tables of all experiments to `out`."""
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            print("\n" + ": ".join(filter(None, [experiment["title"],
                                                 variant])), file=out)
            for sentence in experiment["sentences"]["all"].get(variant, ()):
                print(sentence, file=out)
            for one in tables(summary, experiment, variant, wide):
                print(file=out)
                show(one, out)


def markup(table):
    """Return a table as HTML."""
    words = [not place or name in table.words
             for place, name in enumerate(table.head)]

    def row(cells, tag):
        made = []
        for cell, word in zip(cells, words):
            key = cell[1] if isinstance(cell, tuple) else cell
            made.append(f"<{tag}{' class=words' if word else ''} data-key="
                        f'"{html.escape(str("" if key is None else key))}">'
                        f"{html.escape(text(cell))}</{tag}>")
        return f"<tr>{''.join(made)}</tr>"
    body = "".join(row(cells, "td") for cells in table.rows)
    notes = "".join(f"<p class=note>{html.escape(note)}</p>"
                    for note in table.notes)
    return (f"<h4>{html.escape(table.title)}</h4><div class=scroll><table>"
            f"<thead>{row(table.head, 'th')}</thead><tbody>{body}</tbody>"
            f"</table></div>{notes}")
