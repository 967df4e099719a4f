"""What is seen while it measures: a table that grows, or plain lines.

With rich on a terminal the table of the current experiment and a bar with
the time left are redrawn when a cell begins or ends, by no thread that would
take time from the load tool. Else every finished cell is a line.
"""

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
        self.cells = sum(len(stage.cells) for stage in stages)
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

    def table(self):
        """Return (titles, lines) of the current experiment: a line a server
        and variant, a column an x."""
        cells = self.current.cells
        xs = sorted({cell.x for cell in cells})
        keys = list(dict.fromkeys(
            (v.name, s.name) for v in self.current.experiment.variants
            for s in self._servers() for c in cells
            if (c.variant, c.server) == (v, s)))
        titles = ["", *(f"{x:,}" for x in xs)]
        lines = []
        for variant, server in keys:
            line = [f"{server}, {variant}" if variant else server]
            for x in xs:
                planned = sum(1 for c in cells if (c.variant.name,
                              c.server.name, c.x) == (variant, server, x))
                rows = [r for r in self.rows if (r["variant"], r["server"],
                        r["x"]) == (variant, server, x)]
                line.append(figure(rows, planned))
            lines.append(line)
        return titles, lines

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
    """Return what stands in the table for the runs made of one cell:
    the median, +- half the spread, `o` before it when requests were lost."""
    if not planned:
        return ""
    if not rows:
        return "."
    rates = [row["rate"] for row in rows if row.get("rate") is not None]
    if not rates:
        return {"not possible": "-"}.get(rows[-1]["status"],
                                         rows[-1]["status"])
    middle = statistics.median(rates)
    lost = "o " if any(row["status"] in ("lossy", "hung")
                       for row in rows) else ""
    hung = " hung" if any(row["status"] == "hung" for row in rows) else ""
    text = f"{lost}{middle:,.0f}{hung}"
    if len(rates) > 1 and middle:
        text += f" \N{PLUS-MINUS SIGN}{50 * (max(rates) - min(rates)) / middle:.0f}%"
    return text


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
                said += (f"  {row['status']}, {row['failed_percent']:.2f} % "
                         f"lost {row['note']}")
        self.note(f"[{self.done}/{self.cells}, {clock(self.time_left())} "
                  f"left] {name} {row['x']:,}: {said}")

    def end_stage(self):
        """Print the table of the experiment."""
        titles, lines = self.table()
        self.note("")
        for line in grid([[self.heading(), *titles[1:]], *lines]):
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
        self.live.console.print(self._table())
        self.rows, self.current = [], None

    def _draw(self):
        parts = []
        if getattr(self, "current", None):
            parts.append(self._table())
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

    def _table(self):
        titles, lines = self.table()
        table = rich.table.Table(box=rich.box.SIMPLE_HEAD)
        for index, title in enumerate(titles):
            table.add_column(title, justify="right" if index else "left",
                             no_wrap=True)
        for line in lines:
            table.add_row(line[0], *(
                rich.text.Text(text, style=self._style(text))
                for text in line[1:]))
        return rich.console.Group(rich.text.Text(self.heading()), table)

    @staticmethod
    def _style(text):
        if text in (".", "-", ""):
            return "dim"
        return "yellow" if not text[0].isdigit() else ""


def grid(rows):
    """Return lines in which the columns of `rows` stand below each other,
    the first to the left, the others to the right."""
    count = max(len(row) for row in rows)
    rows = [list(row) + [""] * (count - len(row)) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(count)]
    return ["  ".join([row[0].ljust(widths[0])]
                      + [cell.rjust(width) for cell, width
                         in zip(row[1:], widths[1:])]).rstrip()
            for row in rows]
