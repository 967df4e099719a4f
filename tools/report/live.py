"""What is seen while it measures: one line that changes, and a log of all cells in the folder.

The line is written again when a cell begins or ends, by no thread that would take time from the
load tool. Where it goes to no terminal, there is one for each experiment, and two a minute.
"""

import contextlib
import os

from tools.kit import progress
from tools.stats.sentences import number

LOG = "cells.txt"   # in the folder of a run


class View(contextlib.ExitStack):
    """Shows the runs of `stages`, which are planned to take `seconds`, until its block ends, and
    writes a line for each cell to LOG in `folder`."""

    def __init__(self, seconds, stages, folder):
        super().__init__()
        self.left = seconds
        self.line = progress.Line(seconds)
        self.cells = sum(stage.planned * len(stage.possible) for stage in stages)
        self.done = 0
        self.what = ""
        self.log = self.enter_context(open(os.path.join(folder, LOG), "w", encoding="utf-8"))
        self.callback(self.line.clear)

    def stage(self, stage):
        """Begin an experiment."""
        self.what = stage.experiment.name
        self.line.show(self.left, self.what, new=True)

    def begin(self, what):
        """Tell what is about to be run."""
        self.what = what
        self.line.show(self.left, what)

    def passed(self, planned):
        """Something has ended that the plan gave `planned` seconds."""
        self.left = max(0.0, self.left - planned)

    def more(self, planned, runs):
        """`runs` more runs are added to the plan, with `planned` seconds for all of them."""
        self.line.plan += planned
        self.left += planned
        self.cells += runs

    def cell(self, row, planned):
        """A cell has ended, which the plan gave `planned` seconds."""
        self.done += row["status"] != "not possible"        # those are not planned
        self.passed(planned)
        said = [f"{row['status']}: {row['note']}"] if row["status"] != "ok" else []
        if row.get("rate") is not None:
            said.insert(0, f"{number(row.get('cpu_us'))} us of CPU a request, "
                           f"{number(row['rate'])}/s")
        name = " ".join(row[key] for key in ("experiment", "server", "variant") if row[key])
        print(f"[{self.done}/{self.cells}] {name} {row['x']:,}, round {row['repeat']}: "
              f"{'; '.join(said)}", file=self.log, flush=True)
        self.line.show(self.left, self.what)
