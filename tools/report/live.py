"""What is seen while it measures: a table that grows, or plain lines.

With rich on a terminal, the table of the current experiment and a bar with the time left are
redrawn when a cell begins or ends, by no thread that would take time from the load tool.
Otherwise every finished cell is a line.
"""

import contextlib
import statistics
import time

from tools.report import table
from tools.stats.sentences import number
from tools.stats.summary import figures

try:
    import rich.live
    import rich.text
except ImportError:
    rich = None

BAR = 30            # characters


def clock(seconds):
    """Return m:ss."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{seconds:02}"


class View(contextlib.ExitStack):
    """Shows the runs of `stages`, which are planned to take `seconds`, until its block ends."""

    def __init__(self, seconds, stages):
        super().__init__()
        self.plan = self.left = seconds
        self.cells = sum(stage.planned * len(stage.possible) for stage in stages)
        self.done = 0
        self.begun = time.monotonic()
        self.current, self.rows, self.what = None, [], ""
        self.live = None
        if rich and rich.get_console().is_interactive:
            self.live = self.enter_context(rich.live.Live(
                auto_refresh=False, transient=True, vertical_overflow="crop",
                get_renderable=self.draw))

    def time_left(self):
        """Return seconds: the plan's, corrected by how it went so far."""
        used = time.monotonic() - self.begun
        planned = self.plan - self.left
        return self.left * (used / planned if planned > 5 else 1.0)

    def stage(self, stage):
        """Begin an experiment."""
        self.current, self.rows = stage, []
        print()
        table.say(f"{stage.experiment.title}: {stage.experiment.question}")

    def begin(self, what):
        """Tell what is about to be run."""
        self.what = what
        if self.live:
            self.live.refresh()

    def passed(self, planned):
        """Something has ended that the plan gave `planned` seconds."""
        self.left = max(0.0, self.left - planned)

    def more(self, planned, runs):
        """`runs` more runs are added to the plan, with `planned` seconds for all of them."""
        self.plan += planned
        self.left += planned
        self.cells += runs

    def cell(self, row, planned):
        """A cell has ended, which the plan gave `planned` seconds."""
        self.rows.append(row)
        self.done += 1
        self.passed(planned)
        if self.live:
            self.live.refresh()
            return
        said = [f"{row['status']}: {row['note']}"] if row["status"] != "ok" else []
        if row.get("rate") is not None:
            said.insert(0, f"{number(row.get('cpu_us'))} us of CPU a request, "
                           f"{number(row['rate'])}/s")
        name = " ".join(row[key] for key in ("experiment", "server", "variant") if row[key])
        table.say(f"[{self.done}/{self.cells}, {clock(self.time_left())} left] {name} "
                  f"{row['x']:,}: {'; '.join(said)}")

    def end_stage(self):
        """Print the table of the experiment."""
        print(*self.lines(), sep="\n")
        self.current = None

    def lines(self):
        """Return the table of the current experiment: a line an x, a column a server."""
        experiment = self.current.experiment
        names = list(dict.fromkeys(cell.server.name for cell in self.current.cells))
        made = {}               # {(variant, x): {server: [row, ...]}}
        for cell in self.current.cells:
            made.setdefault((cell.variant.name, cell.x), {})[cell.server.name] = []
        for row in self.rows:
            made[row["variant"] or "", row["x"]][row["server"]].append(row)
        return table.lines(table.Table(
            f"{experiment.title}: CPU microseconds a request, by {experiment.x_title}",
            ["", *names],
            [[f"{x:,} {variant}".strip(), *(figure(servers.get(name)) for name in names)]
             for (variant, x), servers in made.items()]), table.width())

    def draw(self):
        """Return the bar, and as much of the table as the terminal has lines for."""
        done = 1 - self.left / (self.plan or 1)
        bar = ("\N{BOX DRAWINGS HEAVY HORIZONTAL}" * round(BAR * done)).ljust(
            BAR, "\N{BOX DRAWINGS LIGHT HORIZONTAL}")
        made = [f"{bar} {100 * done:3.0f} %  {clock(self.time_left())} left  {self.what}"]
        if self.current:
            made += self.lines()
        return rich.text.Text("\n".join(made), no_wrap=True, overflow="crop")


def figure(rows):
    """Return what stands for the runs of one cell until now: their median CPU time, with a sign
    before it when requests or runs were lost, and 2/3 after it when two of three runs gave a
    figure. "" is for a server that has no such cell (None)."""
    if not rows:
        return "" if rows is None else "."
    costs = figures(rows, "cpu_us")
    if not costs:
        return {"not possible": "-", "ok": "?"}.get(rows[-1]["status"], rows[-1]["status"])
    lost = any(row["status"] != "ok" for row in rows)
    return ((table.LOST if lost else "") + number(statistics.median(costs))
            + (f" {len(costs)}/{len(rows)}" if len(costs) < len(rows) else ""))
