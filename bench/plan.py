"""What is run, in which order, and how long that takes.

A stage is an experiment. Its cells (server, variant, x) are run in rounds, a
round for each repeat; in each round all cells are shuffled, so that a slow
minute of the machine hits no server alone. Of a quick run the time for each
cell is fitted so that all of it ends within five minutes.
"""

import random
from dataclasses import dataclass, field

from bench.experiments import NotPossible

QUICK_SECONDS = 300         # what a quick run may take, all in all
RESERVE = 25                # of it for what comes before and after
SHORTEST, LONGEST = 0.4, 3.0
CALLS_SECONDS = 0.3         # load while system calls are counted
# To start, check, meter and end a server, as measured on two cores.
AROUND = {"architecture": 0.2, "floor": 0.2, "peer": 0.8}
AROUND_CALLS = 0.45


@dataclass(frozen=True)
class Cell:
    """One run to be made. `impossible` says why it cannot be made here."""

    experiment: object
    server: object
    variant: object
    x: int
    repeat: int = 1
    impossible: str = ""

    @property
    def around(self):
        """Seconds it takes beside the load itself."""
        return AROUND[self.server.kind] + 1.5 * self.server.warm_up

    @property
    def label(self):
        """A name for lines and files."""
        parts = [self.experiment.name, self.server.name, self.variant.name,
                 str(self.x), f"r{self.repeat}"]
        return "_".join(part.replace(", ", " ").replace(" ", "-")
                        for part in parts if part)


@dataclass
class Stage:
    """An experiment with its cells in the order in which they are run."""

    experiment: object
    cells: list
    repeat: int
    seconds: float
    calls: list = field(default_factory=list)   # (server, variant) to count

    def load_seconds(self, seconds):
        """Return how long the load of all cells takes."""
        return sum(expected(cell, seconds) for cell in self.cells
                   if not cell.impossible)

    def other_seconds(self):
        """Return how long everything else takes."""
        around = sum(cell.around for cell in self.cells
                     if not cell.impossible)
        return around + sum(CALLS_SECONDS + AROUND_CALLS
                            + 1.5 * server.warm_up
                            for server, _ in self.calls)

    @property
    def duration(self):
        """Return how many seconds the stage takes, as far as one knows."""
        return self.load_seconds(self.seconds) + self.other_seconds()


def expected(cell, seconds):
    """Return the load seconds of a cell in which each gets `seconds`."""
    return cell.experiment.lasts(cell.x, seconds * cell.experiment.weight)


def make(settings, machine, count_calls):
    """Return the Stages for `settings` on `machine`."""
    stages = []
    for experiment in settings.experiments:
        repeat = settings.repeat or (experiment.repeat_full if settings.full
                                     else 3)
        seconds = settings.seconds or (experiment.seconds_full
                                       if settings.full else LONGEST)
        cells = list(_cells(experiment, settings, machine))
        ordered = []
        for turn in range(1, repeat + 1):
            chance = random.Random(f"{settings.seed} {experiment.name} {turn}")
            chance.shuffle(cells)
            ordered += [Cell(*cell, repeat=turn, impossible=why)
                        for *cell, why in cells
                        if not (why and turn > 1)]
        stage = Stage(experiment, ordered, repeat, seconds)
        if count_calls:
            stage.calls = sorted(
                {(c.server.name, c.variant.name): (c.server, c.variant)
                 for c in ordered if not c.impossible
                 and not c.variant.many_workers}.values(),
                key=lambda pair: (pair[1].name, pair[0].name))
        stages.append(stage)
    if settings.seconds is None and not settings.full:
        fit(stages, QUICK_SECONDS - RESERVE)
    return stages


def _cells(experiment, settings, machine):
    """Yield (experiment, server, variant, x, why it is impossible)."""
    for variant in experiment.variants:
        grid = settings.points or (variant.full if settings.full
                                   else variant.quick)
        for server in settings.servers:
            if not experiment.applies(server, variant):
                continue
            for x in grid:
                why = ""
                try:
                    experiment.possible(server, x, machine)
                except NotPossible as error:
                    why = str(error)
                yield experiment, server, variant, x, why


def fit(stages, seconds):
    """Shorten the cells of `stages` so that all end within `seconds`, but
    not below what gives a figure; never lengthen them."""
    left = seconds - sum(stage.other_seconds() for stage in stages)
    one = sum(stage.load_seconds(1.0) for stage in stages)
    if not one:
        return
    each = min(LONGEST, max(SHORTEST, left / one))
    each = int(each * 20) / 20
    for stage in stages:
        stage.seconds = min(stage.seconds, each)


def total(stages):
    """Return how many seconds all of them take."""
    return sum(stage.duration for stage in stages)
