"""What is seen while it measures: a table that grows, or plain lines.

With rich on a terminal, the table of the current experiment and a bar with
the time left are redrawn when a cell begins or ends, by no thread that would
take time from the load tool. Otherwise every finished cell is a line.
"""

import os
import statistics
import sys
import time

from bench.analyse.sentences import number
from bench.draw import table

try:
    import rich.console
    import rich.live
    import rich.progress_bar
    import rich.table
    import rich.text
except ImportError:
    rich = None


def view(plan_seconds, stages):
    """Return the View that suits where the output goes."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") \
        and os.environ.get("TERM") != "dumb"
    return (RichView if rich and wanted else View)(plan_seconds, stages)


def clock(seconds):
    """Return m:ss."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{seconds:02}"


class View:
    """A line for each finished cell, and a table after each experiment."""

    def __init__(self, plan_seconds, stages):
        self.plan = self.left = plan_seconds
        self.cells = sum(stage.runs for stage in stages)
        self.done = 0
        self.begun = time.monotonic()
        self.current, self.rows = None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def time_left(self):
        """Return seconds: the plan's, corrected by how it went so far."""
        used = time.monotonic() - self.begun
        planned = self.plan - self.left
        return self.left * (used / planned if planned > 5 else 1.0)

    def note(self, text):
        """Print a sentence."""
        print(text, flush=True)

    def stage(self, stage):
        """Begin an experiment."""
        self.current, self.rows = stage, []
        self.note(f"\n{stage.experiment.title}: {stage.experiment.question}")

    def begin(self, what):
        """Tell what is about to be run."""

    def passed(self, planned):
        """Something has ended that was planned to take so many seconds."""
        self.left = max(0.0, self.left - planned)

    def more(self, planned, runs):
        """So many runs are added to the plan, which take so many seconds."""
        self.plan += planned
        self.left += planned
        self.cells += runs

    def cell(self, row, planned):
        """A cell has ended after `planned` seconds of the plan."""
        self.rows.append(row)
        self.done += 1
        self.passed(planned)
        self.tell(row)

    def tell(self, row):
        """Print a finished cell."""
        said = f"{row['status']}: {row['note']}"
        if row.get("rate") is not None:
            said = (f"{number(row.get('cpu_us'))} us of CPU a request, "
                    f"{number(row['rate'])}/s"
                    + (f"; {said}" if row["status"] != "ok" else ""))
        name = " ".join(str(row[key]) for key in ("experiment", "server",
                                                  "variant") if row[key])
        self.note(f"[{self.done}/{self.cells}, {clock(self.time_left())} "
                  f"left] {name} {row['x']:,}: {said}")

    def end_stage(self):
        """Print the table of the experiment."""
        table.show(self.table())

    def table(self, width=table.WIDTH, height=None):
        """Return the Table of the current experiment: a line an x, a column a
        server. When it is more than `height` lines at that `width`, the lines
        that were measured last are there."""
        cells, experiment = self.current.cells, self.current.experiment
        variants = [one.name for one in experiment.variants]
        keys = sorted({(cell.variant.name, cell.x) for cell in cells},
                      key=lambda key: (variants.index(key[0]), key[1]))
        names = list(dict.fromkeys(cell.server.name for cell in sorted(
            cells, key=lambda cell: (cell.server.kind != "architecture",
                                     getattr(cell.server, "folder", ""),
                                     cell.server.name))))
        planned = {(cell.server.name, cell.variant.name, cell.x)
                   for cell in cells}
        made = {}
        for row in self.rows:
            made.setdefault((row["server"], row["variant"] or "", row["x"]),
                            []).append(row)
        signs = {name: f"{letter} " if len(variants) > 1 else ""
                 for name, letter in zip(variants, "abcdefghij")}
        lines = {(variant, x): [f"{signs[variant]}{x:,}", *(
            figure(made.get((name, variant, x), []))
            if (name, variant, x) in planned else "" for name in names)]
            for variant, x in keys}
        title = f"{experiment.title}: CPU microseconds a request, by " \
                f"{experiment.x_title}"
        if len(variants) > 1:
            title += "; " + ", ".join(f"{signs[name]}{name}"
                                      for name in variants)
        whole = table.Table(title, ["", *names], list(lines.values()))
        if height:
            count = len(table.pages(whole, width))
            room = max(1, (height - 2 - len(title) // width) // count - 1)
            last = [(row["variant"] or "", row["x"])
                    for row in reversed(self.rows)]
            shown = list(dict.fromkeys([*last, *keys]))[:room]
            whole.rows = [lines[key] for key in keys if key in shown]
            whole.notes = []
        return whole


def figure(rows):
    """Return what stands for the runs made of one cell: the median, a sign
    before it when requests or runs were lost, and 2/3 when so many of the
    runs gave a figure."""
    if not rows:
        return "."
    costs = [row["cpu_us"] for row in rows if row.get("cpu_us") is not None
             and row.get("rate") is not None]
    if not costs:
        return {"not possible": "-", "ok": "?"}.get(rows[-1]["status"],
                                                    rows[-1]["status"])
    lost = any(row["status"] not in ("ok", "no time") for row in rows)
    return ((table.LOST if lost else "") + number(statistics.median(costs))
            + (f" {len(costs)}/{len(rows)}" if len(costs) < len(rows)
               else ""))


class RichView(View):
    """A table that grows and a bar, redrawn in place."""

    def __enter__(self):
        self.console = rich.console.Console()
        self.what = ""
        self.live = rich.live.Live(console=self.console, auto_refresh=False,
                                   get_renderable=self.draw)
        self.live.__enter__()
        return self

    def __exit__(self, *error):
        self.left = 0 if error[0] is None else self.left
        self.what = "" if error[0] is None else "stopped"
        self.live.__exit__(*error)

    def note(self, text):
        """Print a sentence above the table."""
        self.live.console.print(rich.text.Text(text))

    def begin(self, what):
        """Redraw with what is about to be run."""
        self.what = what
        self.live.refresh()

    def tell(self, row):
        """Redraw with the new figure."""
        self.live.refresh()

    def end_stage(self):
        """Leave the finished table above."""
        self.live.console.print(*table.drawn(self.table(),
                                             self.console.width), sep="\n")
        self.current = None

    def draw(self):
        """Return the table, as far as it fits, and the bar."""
        width = self.console.width
        # The bar, and the line where the cursor rests.
        parts = table.drawn(self.table(width, self.console.height - 2),
                            width) if self.current else []
        line = rich.table.Table.grid(padding=(0, 1))
        done = self.plan - self.left
        line.add_row(
            rich.progress_bar.ProgressBar(total=self.plan or 1,
                                          completed=done, width=30),
            f"{100 * done / (self.plan or 1):3.0f} %",
            f"{clock(self.time_left())} left",
            rich.text.Text(self.what, style="dim"))
        return rich.console.Group(*parts, line)
