"""What is seen while it measures: one line that changes, and a log of all cells in the folder.

On a terminal the line is written again when a cell begins or ends, by no thread that would take
time from the load tool. Elsewhere a line is printed for each experiment, and twice a minute.
"""

import contextlib
import os
import sys
import time

from tools.report import table
from tools.stats.sentences import number

LOG = "cells.txt"   # in the folder of a run
BAR = 20            # characters
EVERY = 30.0        # seconds between two lines that do not go to a terminal


def clock(seconds):
    """Return m:ss."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{seconds:02}"


class View(contextlib.ExitStack):
    """Shows the runs of `stages`, which are planned to take `seconds`, until its block ends, and
    writes a line for each cell to LOG in `folder`."""

    def __init__(self, seconds, stages, folder):
        super().__init__()
        self.plan = self.left = seconds
        self.cells = sum(len(stage.in_round(number)) for stage in stages
                         for number in range(1, stage.planned + 1))
        self.done = 0
        self.begun = self.told = time.monotonic()
        self.what = ""
        self.terminal = sys.stdout.isatty()
        self.log = self.enter_context(open(os.path.join(folder, LOG), "w", encoding="utf-8"))
        self.callback(self._clear)

    def time_left(self):
        """Return seconds: the plan's, corrected by how it went so far."""
        used = time.monotonic() - self.begun
        planned = self.plan - self.left
        return self.left * (used / planned if planned > 5 else 1.0)

    def stage(self, stage):
        """Begin an experiment."""
        self.what = stage.experiment.name
        self._show(new=True)

    def begin(self, what):
        """Tell what is about to be run."""
        self.what = what
        self._show()

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
        self.done += 1
        self.passed(planned)
        said = [f"{row['status']}: {row['note']}"] if row["status"] != "ok" else []
        if row.get("rate") is not None:
            said.insert(0, f"{number(row.get('cpu_us'))} us of CPU a request, "
                           f"{number(row['rate'])}/s")
        name = " ".join(row[key] for key in ("experiment", "server", "variant") if row[key])
        print(f"[{self.done}/{self.cells}] {name} {row['x']:,}: {'; '.join(said)}",
              file=self.log, flush=True)
        self._show()

    def line(self, wide):
        """Return the line of progress, less than `wide` characters."""
        done = 1 - self.left / (self.plan or 1)
        said = f"{100 * done:3.0f} %  {clock(self.time_left())} left  {self.what}"
        if self.terminal:
            said = ("\N{BOX DRAWINGS HEAVY HORIZONTAL}" * round(BAR * done)).ljust(
                BAR, "\N{BOX DRAWINGS LIGHT HORIZONTAL}") + " " + said
        return said[:wide - 1]

    def _show(self, new=False):
        """Write the line again; where it does not go to a terminal, only if it is time for one, or
        something `new` begins."""
        if self.terminal:
            print("\r" + self.line(table.width()), end="\x1b[K", flush=True)
        elif new or time.monotonic() - self.told >= EVERY:
            self.told = time.monotonic()
            print(self.line(table.width()), flush=True)

    def _clear(self):
        """Leave an empty line, for what follows."""
        if self.terminal:
            print("\r\x1b[K", end="", flush=True)
