"""What is measured, for how long, and in how many rounds.

A stage is an experiment, or a study. Each round visits all of its cells
(server, variant, x) once, in random order.
"""

import math
import random
from dataclasses import dataclass

from tools.stats.stats import LOOKS

QUICK_SECONDS = 275         # after which a quick run adds no rounds
QUICK_CELL = 0.45           # seconds of load for a quick cell: six rounds of everything fit
CALLS_SECONDS = 0.3         # load while system calls are counted
AROUND = 0.2                # to start, check, meter and end a server, as measured on two cores
AROUND_CALLS = 0.45         # the same with strace
AROUND_ROUND = 0.2          # to see whether the machine is quiet


@dataclass(frozen=True, eq=False)
class Cell:
    """One thing to measure, once a round. `impossible` says why it cannot be measured here."""

    experiment: object
    server: object
    variant: object
    x: int
    repeat: int = 1             # the number of its round
    impossible: str = ""

    @property
    def key(self):
        """How rows and comparisons name it within its experiment."""
        return self.variant.name, self.server.name, self.x

    @property
    def label(self):
        """A name for lines and files."""
        parts = [self.experiment.name, self.server.name, self.variant.name,
                 str(self.x), f"r{self.repeat}"]
        return "_".join(part.replace(", ", " ").replace(" ", "-") for part in parts if part)

    def lasts(self, seconds):
        """Return how many seconds a run takes in a stage that gives each cell `seconds` of load."""
        return AROUND + self.server.warm_up + self.experiment.lasts(
            self.x, seconds * self.experiment.weight)


@dataclass
class Stage:
    """An experiment and its cells.

    rounds      how many; None: until all comparisons are settled
    seconds     of load for a cell of weight 1
    calls       the (server, variant) whose system calls are counted
    """

    experiment: object
    cells: list
    rounds: int
    seconds: float
    calls: list

    @property
    def possible(self):
        """The cells that can be measured here."""
        return [cell for cell in self.cells if not cell.impossible]

    @property
    def planned(self):
        """How many rounds there are at least."""
        return self.rounds or LOOKS[0]

    def round_seconds(self, cells):
        """Return how many seconds a round of `cells` takes."""
        return AROUND_ROUND + sum(cell.lasts(self.seconds) for cell in cells)

    @property
    def duration(self):
        """How many seconds the planned rounds take, and counting the system calls."""
        return self.planned * self.round_seconds(self.possible) \
            + len(self.calls) * (CALLS_SECONDS + AROUND_CALLS)

    def baseline_of(self, variant):
        """Return the name of the server that the others are compared with, in the variant of this
        name: the one that the variant or the experiment names, else the first that takes part."""
        here = {cell.server.name: cell.variant for cell in self.cells
                if cell.variant.name == variant}
        first = next(iter(here))
        wanted = here[first].baseline or self.experiment.baseline
        return wanted if wanted in here else first


def make(settings, machine, count_calls):
    """Return the Stages for `settings` on `machine`. REPEAT or the experiment says how many
    rounds there are; with SECONDS alone, six. Otherwise they go on until all comparisons
    are settled, in a quick run while there is time."""
    stages = []
    for experiment in settings.experiments:
        rounds = settings.repeat or experiment.rounds or (
            LOOKS[0] if settings.seconds and not settings.full else None)
        seconds = settings.seconds or (experiment.seconds_full if settings.full else QUICK_CELL)
        cells = [Cell(experiment, server, variant, x,
                      impossible=experiment.obstacle(server, x, machine))
                 for variant in experiment.variants if settings.fleet or not variant.fleet
                 for server in settings.servers if experiment.applies(server, variant)
                 for x in settings.points or (variant.full if settings.full else variant.quick)]
        calls = dict.fromkeys(
            (cell.server, cell.variant) for cell in cells
            if count_calls and experiment.counts_calls and not cell.impossible
            and not cell.variant.many_workers and not cell.variant.pause)
        if cells:
            stages.append(Stage(experiment, cells, rounds, seconds, list(calls)))
    return stages


def in_rounds(cells, *, rounds=None, unsettled=None, quiet=None, seed=0, group=id):
    """Yield (round, [cell, ...]), rounds counted from 1, each in random order, so that a change
    of the machine affects all alike. The caller measures these cells before it asks for more.

    group       returns the same for cells that follow each other: what is to be compared is
                measured while the machine is the same
    rounds      how many; None: up to the last of LOOKS
    unsettled   called at each look but the last, with the cells of the round;
                returns those that need more rounds. None: all do
    quiet       called before each round; may wait until the machine is quiet
    seed        the same seed and cells give the same order
    """
    last = rounds or LOOKS[-1]
    for number in range(1, last + 1):
        if not cells:
            return
        if quiet:
            quiet()
        order = list(cells)
        random.Random(f"{seed} {number}").shuffle(order)
        together = {}
        for cell in order:
            together.setdefault(group(cell), []).append(cell)
        yield number, sum(together.values(), [])
        if unsettled and number in LOOKS and number < last:
            cells = unsettled(cells)


def total(stages):
    """Return how many seconds the planned rounds of all of them take."""
    return sum(stage.duration for stage in stages)


def told(stages):
    """Return a line for each stage: cells, rounds and minutes."""
    return [f"{stage.experiment.name}: {len(stage.possible)} cells in "
            f"{stage.planned} rounds{'' if stage.rounds else ' or more'}, "
            f"{math.ceil(stage.duration / 60)} min" for stage in stages]
