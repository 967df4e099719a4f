"""What is seen while it measures: a table that grows, or plain lines.

With rich on a terminal the table of the current experiment and a bar with
the time left are redrawn when a cell begins or ends, by no thread that would
take time from the load tool. Else every finished cell is a line.
"""

import collections
import os
import statistics
import sys
import time

try:
    import rich.box
    import rich.console
    import rich.live
    import rich.progress_bar
    import rich.table
    import rich.text
except ImportError:
    rich = None

PLAIN_WIDTH = 100       # of tables that go to a file, or to a plain terminal
COLUMN = 9              # characters at least: o12.3k±12


def view(plan_seconds, stages):
    """Return the View that fits to where the output goes."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") \
        and os.environ.get("TERM") != "dumb"
    return (RichView if rich and wanted else PlainView)(plan_seconds, stages)


def clock(seconds):
    """Return m:ss."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{seconds:02}"


class View:
    """What both views share: how far the run is, and the table."""

    def __init__(self, plan_seconds, stages):
        self.plan = self.left = plan_seconds
        self.cells = sum(stage.runs for stage in stages)
        self.done = 0
        self.begun = time.monotonic()
        self.rows = []

    def time_left(self):
        """Return seconds: the plan's, corrected by how it went so far."""
        used = time.monotonic() - self.begun
        planned = self.plan - self.left
        pace = used / planned if planned > 5 else 1.0
        return self.left * pace

    def stage(self, stage):
        """Begin an experiment."""
        self.current, self.rows = stage, []

    def begin(self, what):
        """Tell what is about to be run."""

    def cell(self, row, planned):
        """A cell has ended after `planned` seconds of the plan."""
        self.rows.append(row)
        self.done += 1
        self.left = max(0.0, self.left - planned)

    def passed(self, planned):
        """Something else has ended that was planned to take so long."""
        self.left = max(0.0, self.left - planned)

    def more(self, planned, runs):
        """After a look, so many runs are added to the plan, which take so
        many seconds."""
        self.plan += planned
        self.left += planned
        self.cells += runs

    def table(self, width=PLAIN_WIDTH, height=None):
        """Return the lines of the current experiment: a line an x, below its
        variant's name if it has one, and a column a server. Servers that do
        not fit `width` come in a table below; when all are more than `height`
        lines, the rows that were measured last are shown."""
        keys = self._rows()
        columns = [["", *(f"{x:,}" for _, x in keys)],
                   *self._columns(keys)]
        tables = pages([max(map(len, column)) for column in columns], width)
        shown = range(len(keys))
        if height:
            headings = len({variant for variant, _ in keys if variant})
            room = max(1, height // len(tables) - 1 - headings)
            touched = [keys.index((row["variant"], row["x"]))
                       for row in reversed(self.rows)]
            shown = sorted(list(dict.fromkeys([*touched, *shown]))[:room])
        lines = []
        for page in tables:
            there = [columns[0], *columns[page]]
            first, *others = grid(
                [[column[line] for column in there]
                 for line in (0, *(key + 1 for key in shown))], " ", COLUMN)
            lines.append(first)
            before = ""
            for key, line in zip(shown, others):
                variant = keys[key][0]
                lines += [line] if variant == before else [variant, line]
                before = variant
        return lines

    def _rows(self):
        """Return the (variant, x) of the plan, in the order of the grid."""
        variants = [v.name for v in self.current.experiment.variants]
        return sorted({(c.variant.name, c.x) for c in self.current.cells},
                      key=lambda row: (variants.index(row[0]), row[1]))

    def _columns(self, keys):
        """Return [name, figure, ...] of each server, a figure for each of
        the (variant, x) in `keys`."""
        planned = collections.Counter((c.server.name, c.variant.name, c.x)
                                      for c in self.current.cells)
        made = collections.defaultdict(list)
        for row in self.rows:
            made[row["server"], row["variant"], row["x"]].append(row)
        return [[server.name, *(figure(made[(server.name, *key)],
                                       planned[(server.name, *key)])
                                for key in keys)]
                for server in self._servers()]

    def _servers(self):
        """Return the servers of the stage in the order of the tables."""
        seen = {cell.server.name: cell.server for cell in self.current.cells}
        ours = [s for s in seen.values() if s.kind == "architecture"]
        rest = [s for s in seen.values() if s.kind != "architecture"]
        return (sorted(ours, key=lambda s: s.folder)
                + sorted(rest, key=lambda s: s.name))

    def heading(self):
        """Return the line over the table."""
        experiment = self.current.experiment
        return (f"{experiment.name}: {experiment.unit} by "
                f"{experiment.x_title}")


def figure(rows, planned):
    """Return what stands in the table for the runs made of one cell: the
    median, +- half the spread in per cent, `o` before it when requests or
    runs were lost; 2/3 when so many of the runs gave a figure."""
    if not planned:
        return ""
    if not rows:
        return "."
    rates = [row["rate"] for row in rows if row.get("rate") is not None]
    if not rates:
        return {"not possible": "-"}.get(rows[-1]["status"],
                                         rows[-1]["status"])
    middle = statistics.median(rates)
    lost = any(row["status"] not in ("ok", "no time") for row in rows)
    text = ("o" if lost else "") + short(middle)
    if len(rates) > 1 and middle:
        text += (f"\N{PLUS-MINUS SIGN}"
                 f"{50 * (max(rates) - min(rates)) / middle:.0f}")
    if len(rates) < len(rows):
        text += f" {len(rates)}/{len(rows)}"
    return text


def short(value):
    """Return a rate in five characters at most: 950, 9.41k, 12.3k, 1.2M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"


def pages(lengths, width):
    """Return slices of columns that fit beside each other, and beside the
    first one, into `width` characters. `lengths`: the longest text of each."""
    found, begin, used = [], 1, lengths[0]
    for place, length in enumerate(lengths[1:], 1):
        column = max(COLUMN, length) + 1
        if place > begin and used + column > width:
            found.append(slice(begin, place))
            begin, used = place, lengths[0]
        used += column
    return [*found, slice(begin, len(lengths))]


class PlainView(View):
    """A line for each finished cell, a table after each experiment."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def note(self, text):
        """Print a sentence."""
        print(text, flush=True)

    def stage(self, stage):
        """Begin an experiment."""
        super().stage(stage)
        self.note(f"\n{stage.experiment.title}: {stage.experiment.question}")

    def cell(self, row, planned):
        """Print a finished cell."""
        super().cell(row, planned)
        name = " ".join(str(row[key]) for key in ("experiment", "server",
                                                  "variant") if row[key])
        if row.get("rate") is None:
            said = f"{row['status']}: {row['note']}"
        else:
            said = f"{row['rate']:,.0f}/s"
            if row["status"] != "ok":
                said += (f"  {row['status']}, {row['failed_percent'] or 0:.2f} % "
                         f"lost {row['note']}")
        self.note(f"[{self.done}/{self.cells}, {clock(self.time_left())} "
                  f"left] {name} {row['x']:,}: {said}")

    def end_stage(self):
        """Print the table of the experiment."""
        self.note(f"\n{self.heading()}")
        for line in self.table():
            self.note(line)


class RichView(View):
    """A table that grows and a bar, redrawn in place."""

    def __enter__(self):
        self.console = rich.console.Console()
        self.what = ""
        self.live = rich.live.Live(console=self.console, auto_refresh=False,
                                   get_renderable=self._draw)
        self.live.__enter__()
        return self

    def __exit__(self, *error):
        self.left = 0 if error[0] is None else self.left
        self.what = "" if error[0] is None else "stopped"
        self.live.__exit__(*error)

    def note(self, text):
        """Print a sentence above the table."""
        self.live.console.print(rich.text.Text(text))

    def stage(self, stage):
        """Begin an experiment."""
        super().stage(stage)
        self.note(f"\n{stage.experiment.title}: {stage.experiment.question}")

    def begin(self, what):
        """Redraw with what is about to be run."""
        self.what = what
        self.live.refresh()

    def cell(self, row, planned):
        """Redraw with the new figure."""
        super().cell(row, planned)
        self.live.refresh()

    def end_stage(self):
        """Leave the finished table above."""
        self.live.console.print(self._table(None))
        self.rows, self.current = [], None

    def _draw(self):
        parts = []
        if getattr(self, "current", None):
            # The heading, the bar, and the line where the cursor rests.
            parts.append(self._table(self.console.height - 3))
        parts.append(self._bar())
        return rich.console.Group(*parts)

    def _bar(self):
        line = rich.table.Table.grid(padding=(0, 1))
        done = self.plan - self.left
        line.add_row(
            rich.progress_bar.ProgressBar(total=self.plan or 1,
                                          completed=done, width=30),
            f"{100 * done / (self.plan or 1):3.0f} %",
            f"{clock(self.time_left())} left",
            rich.text.Text(self.what, style="dim"))
        return line

    def _table(self, height):
        """Return the table as rich draws it: dim what is not measured,
        yellow what is no whole figure."""
        text = rich.text.Text("\n".join(
            self.table(self.console.width, height)), no_wrap=True,
            overflow="crop")
        text.highlight_regex(r"(?<= )[.-](?= |$)", "dim")
        text.highlight_regex(r"(?<= )o\d\S*( \d+/\d+)?|\d+/\d+", "yellow")
        return rich.console.Group(
            rich.text.Text(self.heading(), style="bold"), text)


def grid(rows, between="  ", least=0):
    """Return lines in which the columns of `rows` stand below each other,
    the first to the left, the others, `least` characters wide, to the
    right."""
    count = max(len(row) for row in rows)
    rows = [list(row) + [""] * (count - len(row)) for row in rows]
    widths = [max(least if i else 0, *(len(row[i]) for row in rows))
              for i in range(count)]
    return [between.join([row[0].ljust(widths[0])]
                         + [cell.rjust(width) for cell, width
                            in zip(row[1:], widths[1:])]).rstrip()
            for row in rows]
