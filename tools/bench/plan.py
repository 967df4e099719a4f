"""What is measured, for how long, and in how many rounds.

A stage is an experiment, or a study. Each round visits its cells (server, variant, x) once at most,
in random order, and after the planned rounds only what is open is measured again. In a quick run,
an experiment with an equal rate is compared at that rate. The `quick` points of its published load,
if it has any, get CURVE_ROUNDS rounds, and are drawn without being compared.
"""

import random
from dataclasses import dataclass

from tools.kit import servers
from tools.stats.stats import LOOKS

QUICK_SECONDS = 300         # after which a quick run adds no rounds
CURVE_ROUNDS = 3            # of the points of a curve that is only drawn
QUICK_CELL = 0.44           # seconds of load for a quick cell of weight 1: the planned rounds fit
                            # into QUICK_SECONDS
CALLS_SECONDS = 0.2         # load while system calls are counted
AROUND = 0.2                # to start, check, meter and end a server, as measured on two cores
AROUND_CALLS = 0.45         # the same with strace
AROUND_ROUND = 0.2          # to see whether the machine is quiet
BLOCKING = {one.name for one in servers.ARCHITECTURES if one.model != servers.LOOP}


@dataclass(frozen=True, eq=False)
class Cell:
    """One thing to measure, once a round. `impossible` says why it cannot be measured here."""

    experiment: object
    server: object
    variant: object
    x: int                      # clients; of an open loop, requests a second
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
    later       names of servers that a quick run leaves to FULL=1
    drawn       whether its points are only drawn: costs are compared at an equal rate
    """

    experiment: object
    cells: list
    rounds: int
    seconds: float
    calls: list
    later: list
    drawn: bool

    @property
    def possible(self):
        """The cells that can be measured here."""
        return [cell for cell in self.cells if not cell.impossible]

    @property
    def planned(self):
        """How many rounds there are at least."""
        return self.rounds or (CURVE_ROUNDS if self.drawn else LOOKS[0])

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
        name."""
        here = {cell.server.name: cell.variant for cell in self.cells
                if cell.variant.name == variant}
        return self.experiment.baseline_of(next(iter(here.values())), here)


def make(settings, machine, count_calls):
    """Return the Stages for `settings` on `machine`. REPEAT or the experiment says how many
    rounds there are; with SECONDS alone, six. Otherwise they go on until all comparisons
    are settled, in a quick run while there is time. What is measured at an equal rate has its
    system calls counted at that stage; without REPEAT, SECONDS, FULL and CONCURRENCY, the
    experiment's own load is only drawn then."""
    # at_rate: the (experiment, name of variant, server) that have an equal rate, which comes before
    # its experiment (all_experiments()).
    stages, at_rate = [], set()
    for experiment in settings.experiments:
        rounds = settings.repeat or experiment.rounds or (
            LOOKS[0] if settings.seconds and not settings.full else None)
        seconds = settings.seconds or (experiment.seconds_full if settings.full else QUICK_CELL)
        later = left_to_full(experiment, settings)
        cells = [Cell(experiment, server, variant, x,
                      impossible=experiment.obstacle(server, x, machine))
                 for variant in experiment.variants if settings.fleet or not variant.fleet
                 for server in settings.servers
                 if experiment.applies(server, variant) and server.name not in later
                 for x in points_of(experiment, variant, settings)]
        done = {(experiment, cell.variant.name, cell.server) for cell in cells} & at_rate
        drawn = bool(done) and rounds is None and not settings.full
        calls = dict.fromkeys(
            (cell.server, cell.variant) for cell in cells
            if count_calls and experiment.counts_calls and not cell.impossible
            and (experiment, cell.variant.name, cell.server) not in at_rate
            and not cell.variant.many_workers and not cell.variant.pause)
        at_rate |= {(experiment.of, cell.variant.name, cell.server) for cell in cells}
        if cells or later:
            stages.append(Stage(experiment, cells, rounds, seconds, list(calls), later, drawn))
    return stages


def points_of(experiment, variant, settings):
    """Return the x of a variant. CONCURRENCY= replaces the equal rate by points of the published
    kind: clients that wait, or for echo, rates."""
    if settings.points:
        return () if experiment.of else settings.points
    return variant.full if settings.full else variant.quick


def left_to_full(experiment, settings):
    """Return the names of the servers that never reach the connections of this experiment, each
    of which takes a whole process or thread; CONCURRENCY= and FULL=1 measure them, too."""
    if settings.full or settings.points or not experiment.holds_connections:
        return []
    return [server.name for server in settings.servers if server.name in BLOCKING]


def shuffled(cells, seed, number, group):
    """Return the cells of round `number` in random order, so that a change of the machine affects
    all alike. The same seed and cells give the same order. Those of which `group` returns the
    same follow each other: what is to be compared is measured while the machine is the same."""
    order, together = list(cells), {}
    random.Random(f"{seed} {number}").shuffle(order)
    for cell in order:
        together.setdefault(group(cell), []).append(cell)
    return sum(together.values(), [])


def total(stages):
    """Return how many seconds the planned rounds of all of them take."""
    return sum(stage.duration for stage in stages)


def told(stages):
    """Return a line for each stage: cells, rounds and minutes."""
    return [f"{stage.experiment.name}: {len(stage.possible)} cells in {stage.planned} rounds"
            f"{'' if stage.rounds or stage.drawn else ' or more'}, {stage.duration / 60:.1f} min"
            for stage in stages]


def left_to_full_in_words(stages):
    """Return a sentence for each stage that leaves servers to FULL=1."""
    return [f"{stage.experiment.name} of {', '.join(stage.later)}: a process or thread for each "
            "connection; FULL=1 measures them" for stage in stages if stage.later]
