"""What is measured, for how long, and in how many rounds.

A stage is an experiment, or a study. Its cells (server, variant, x) are
measured in rounds: each round visits every cell once, in an order of its own
(run/rounds.py). A quick run gets as long for each cell as lets six rounds of
everything end within five minutes.
"""

from dataclasses import dataclass, field, replace

from bench.analyse.stats import LOOKS
from bench.experiments import NotPossible

QUICK_SECONDS = 300         # what a quick run may take, all in all
RESERVE = 25                # of it for what comes before and after
SHORTEST, LONGEST = 0.4, 1.0
CALLS_SECONDS = 0.3         # load while system calls are counted
# To start, check, meter and end a server, as measured on two cores.
AROUND = {"architecture": 0.2, "floor": 0.2, "peer": 0.8}
AROUND_CALLS = 0.45
AROUND_ROUND = 0.2          # to see whether the machine is quiet


@dataclass(frozen=True, eq=False)
class Cell:
    """One thing to measure, once a round. `impossible` says why it cannot be
    measured here."""

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
    def around(self):
        """Seconds it takes in addition to the load itself."""
        return AROUND[self.server.kind] + 1.5 * self.server.warm_up

    @property
    def label(self):
        """A name for lines and files."""
        parts = [self.experiment.name, self.server.name, self.variant.name,
                 str(self.x), f"r{self.repeat}"]
        return "_".join(part.replace(", ", " ").replace(" ", "-")
                        for part in parts if part)

    def at(self, number):
        """Return the same cell in another round."""
        return replace(self, repeat=number)

    def lasts(self, seconds):
        """Return the seconds of load in a stage that gives each `seconds`."""
        return self.experiment.lasts(self.x, seconds * self.experiment.weight)


@dataclass
class Stage:
    """An experiment and its cells.

    rounds      how many there are; None: until all is settled
    seconds     of load for a cell of weight 1
    calls       the (server, variant) whose system calls are counted
    """

    experiment: object
    cells: list
    rounds: int
    seconds: float
    calls: list = field(default_factory=list)

    @property
    def possible(self):
        """The cells that can be measured here."""
        return [cell for cell in self.cells if not cell.impossible]

    @property
    def planned(self):
        """How many rounds there are at least."""
        return self.rounds or LOOKS[0]

    @property
    def runs(self):
        """How many runs of a cell the planned rounds have."""
        return self.planned * len(self.possible)

    def load_seconds(self, seconds):
        """Return how long the load of the planned rounds takes."""
        return self.planned * sum(cell.lasts(seconds)
                                  for cell in self.possible)

    def round_seconds(self, cells):
        """Return how long a round of `cells` takes."""
        return AROUND_ROUND + sum(cell.lasts(self.seconds) + cell.around
                                  for cell in cells)

    def other_seconds(self):
        """Return how long everything but the load takes."""
        around = AROUND_ROUND + sum(cell.around for cell in self.possible)
        return self.planned * around + self.calls_seconds()

    def calls_seconds(self):
        """Return how long counting the system calls takes."""
        return sum(CALLS_SECONDS + AROUND_CALLS + 1.5 * server.warm_up
                   for server, _ in self.calls)

    @property
    def duration(self):
        """How many seconds the planned rounds take, as far as is known."""
        return self.load_seconds(self.seconds) + self.other_seconds()

    def baseline_of(self, variant):
        """Return the name of the server with which the others of the variant
        of this name are compared: the one that the variant or the experiment
        names, else the first that takes part."""
        here = {cell.server.name: cell.variant for cell in self.cells
                if cell.variant.name == variant}
        one = next(iter(here.values()))
        wanted = one.baseline or self.experiment.baseline
        return wanted if wanted in here else next(iter(here))


def make(settings, machine, count_calls):
    """Return the Stages for `settings` on `machine`.

    REPEAT says the number of rounds, or the experiment does. Otherwise FULL=1
    and a quick run go on
    until all is settled, the latter as long as there is time; with SECONDS
    and neither of them there are six.
    """
    stages = []
    for experiment in settings.experiments:
        rounds = settings.repeat or experiment.rounds or (
            LOOKS[0] if settings.seconds and not settings.full else None)
        seconds = settings.seconds or (experiment.seconds_full
                                       if settings.full else LONGEST)
        cells = list(_cells(experiment, settings, machine))
        if not cells:
            continue
        stage = Stage(experiment, cells, rounds, seconds)
        if count_calls and experiment.counts_calls:
            stage.calls = sorted(
                {(c.server.name, c.variant.name): (c.server, c.variant)
                 for c in stage.possible
                 if not c.variant.many_workers}.values(),
                key=lambda pair: (pair[1].name, pair[0].name))
        stages.append(stage)
    if settings.seconds is None and not settings.full:
        fit(stages, QUICK_SECONDS - RESERVE)
    return stages


def _cells(experiment, settings, machine):
    """Yield the Cells of an experiment."""
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
                yield Cell(experiment, server, variant, x, impossible=why)


def fit(stages, seconds):
    """Shorten the cells of `stages` so that the planned rounds end within
    `seconds`, but not below what gives a figure; never lengthen them."""
    left = seconds - sum(stage.other_seconds() for stage in stages)
    always = sum(stage.load_seconds(0.0) for stage in stages)
    one = sum(stage.load_seconds(1.0) for stage in stages) - always
    if not one:
        return
    each = min(LONGEST, max(SHORTEST, (left - always) / one))
    each = int(each * 20) / 20
    for stage in stages:
        stage.seconds = min(stage.seconds, each)


def total(stages):
    """Return how many seconds the planned rounds of all of them take."""
    return sum(stage.duration for stage in stages)


def told(stages):
    """Return how many cells and rounds there are, in words."""
    cells = sum(len(stage.possible) for stage in stages)
    rounds = sorted({stage.planned for stage in stages}) or [0]
    more = " or more" if any(not stage.rounds for stage in stages) else ""
    return (f"{cells} cells in {' or '.join(map(str, rounds))} rounds{more}")
