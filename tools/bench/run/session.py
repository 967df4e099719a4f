"""The only loop: it measures the published experiments and the studies alike.

A run measures the experiments one after the other, each in shuffled rounds until its
comparisons are settled. Before each round it waits until the machine is quiet. Ctrl-C keeps
what is measured by then. It draws nothing: see command.py.
"""

import contextlib
import dataclasses
import math
import os
import sys
import time

from tools.bench import load, plan
from tools.bench.machine import facts, preflight, quiet
from tools.bench.meter import yardstick
from tools.bench.run import cell as cells
from tools.kit import netns, process, redis
from tools.results import rundir
from tools.stats import comparisons
from tools.stats.stats import LOOKS
from tools.stats.steady import steadied

# ----------------------------------------------------------- before measuring

def build_all(settings):
    """Build the peers and what a study adds; return a sentence for each that
    fails. They stay in the plan, so that the results name them."""
    return [f"{server.name}: {why}" for server in settings.servers if (why := server.unready())]


def without_tools(settings, lacking):
    """Return (the settings without those experiments whose load tool is
    `lacking`, [what was left out and why])."""
    whole, left_out = [], []
    for one in settings.experiments:
        tools = [cells.tool_for(one, settings.tool, variant) for variant in one.variants]
        missing = next(filter(lacking, tools), None)
        if missing:
            left_out.append(f"{one.name}: {missing} is not installed: "
                            f"{load.TOOLS[missing].remedy}")
        else:
            whole.append(one)
    return dataclasses.replace(settings, experiments=tuple(whole)), left_out


class Here(contextlib.nullcontext):
    """This machine, where server, Redis and load run side by side. A fleet
    (tools/fleet/measure.py) has the same methods."""

    gate = staticmethod(quiet.Gate)
    lacking = staticmethod(load.missing)
    no_network = ""

    def call(self, function, *args):
        """Call a function where the server is to run."""
        return function(*args)

    def layout(self, settings):
        """Move into a network and to cores of our own; return the facts.Machine."""
        try:
            netns.enter()
        except OSError as error:
            self.no_network = error.strerror or str(error)
        machine = facts.layout(settings.server_cores, settings.load_cores)
        os.sched_setaffinity(0, machine.load_cores)
        return machine

    def findings(self, machine, clients):
        """Return the preflight.Findings for `clients` at a time."""
        return preflight.look(machine, clients, self.no_network)

    @contextlib.contextmanager
    def worker(self, settings, machine, folder):
        """Return a cells.Runner while its Redis runs."""
        with redis.RedisServer(machine.load_cores) as private, yardstick.running(machine):
            yield cells.Runner(settings, machine, private, folder)


def environment(settings, machine, findings, stages):
    """Return the beginning of env.json."""
    return {
        "schema_version": rundir.SCHEMA_VERSION,
        "started": rundir.now(), "complete": False,
        "command": " ".join(["python3 -m tools.bench", *sys.argv[1:]]), "study": settings.label,
        "settings": {
            "experiments": [e.name for e in settings.experiments],
            "servers": [s.name for s in settings.servers],
            "full": settings.full, "points": list(settings.points),
            "backlog": settings.backlog, "tool": settings.tool,
            "seconds": {s.experiment.name: s.seconds for s in stages},
            "repeat": {s.experiment.name: s.planned for s in stages},
        },
        "seed": settings.seed,
        "cores": {"server": sorted(machine.server_cores), "load": sorted(machine.load_cores)},
        "preflight": [{**vars(f), "ok": f.ok} for f in findings],
    }


# ------------------------------------------------------------------ measuring

class Session:
    """Measures the stages of a plan with a cells.Runner. `looks` is {experiment: [rounds
    after which it was looked at]}, `rounds` {experiment: how many there were}."""

    def __init__(self, stages, gate, deadline=math.inf):
        self.stages, self.gate, self.deadline = stages, gate, deadline
        self.worker = self.view = None
        self.looks, self.rounds = {}, {}

    def measure(self, worker, view):
        """Measure all stages. One has more rounds than were planned only if it and the
        following ones still end before the deadline (time.monotonic)."""
        self.worker, self.view = worker, view
        for number, stage in enumerate(self.stages, 1):
            following = plan.total(self.stages[number:])
            view.stage(stage)
            self._rounds(stage, self.deadline - following)
            for server, variant in stage.calls:
                view.begin(f"system calls of {server.name}")
                worker.count_calls(stage.experiment, server, variant)
                view.passed(plan.CALLS_SECONDS + plan.AROUND_CALLS)
            view.left = following
            view.end_stage()

    def _rounds(self, stage, ends):
        """Measure the cells of a stage, in rounds."""
        name = stage.experiment.name
        self.looks[name] = []
        for cell in stage.cells:
            if cell.impossible:
                self.view.cell(self.worker.skip(cell, "not possible", cell.impossible), 0)
        for number, some in plan.in_rounds(
                stage.possible, rounds=stage.rounds, group=lambda cell: (cell.variant.name, cell.x),
                seed=f"{self.worker.settings.seed} {name}", quiet=self.gate,
                unsettled=None if stage.rounds else lambda seen: self._look(stage, seen, ends)):
            self.rounds[name] = number
            for cell in some:
                self.view.begin(
                    f"{name} {cell.variant.name} {cell.server.name} {cell.x:,}: round {number}")
                row = self.worker.run(dataclasses.replace(cell, repeat=number),
                                      stage.seconds * stage.experiment.weight)
                self.view.cell(row, cell.lasts(stage.seconds))

    def _look(self, stage, some, ends):
        """Return those of the cells `some` that need more rounds; none if there is no time."""
        seen = self.looks[stage.experiment.name]
        seen.append(LOOKS[len(seen)])
        left = self._unsettled(stage, some)
        rounds = LOOKS[len(seen)] - seen[-1]
        lasts = rounds * stage.round_seconds(left)
        if not left or time.monotonic() + lasts > ends:
            return []
        self.view.more(lasts, rounds * len(left))
        return left

    def _unsettled(self, stage, some):
        """Return those of the cells `some` whose comparison more rounds may settle."""
        rows = [row for row in self.worker.folder.rows
                if row["experiment"] == stage.experiment.name]
        left = comparisons.unsettled(
            steadied(rows)[0], [cell.key for cell in some], stage.baseline_of,
            adaptive=not stage.rounds)
        return [cell for cell in some if cell.key in left]

    def left_open(self):
        """Return sentences that name the servers whose comparison is not
        settled yet, and say what helps; [] when all is settled."""
        said, few = {}, False
        for stage in self.stages:
            name = stage.experiment.name
            for cell in self._unsettled(stage, stage.possible):
                few |= self.rounds[name] < LOOKS[-1]
                base = stage.baseline_of(cell.variant.name)
                if cell.server.name != base:
                    where = f"{name} {cell.variant.name}".strip()
                    said.setdefault(f"{where}, compared with {base}", {})[cell.server.name] = 1
        lines = [f"Not settled yet: {where}: {', '.join(names)}" for where, names in said.items()]
        if few:
            lines.append(f"More rounds may tell: the same command with REPEAT={LOOKS[-1]}.")
        return lines


def measure(where, settings, machine, folder, stages, env, show):
    """Measure all stages into `folder`; return (exit status, [sentences for the end]). env.json
    is updated in any case. show(seconds, stages) is a context manager that yields what has the
    methods of report.live.View, which tell of the progress."""
    status, said = 0, []
    gate = where.gate(machine, quiet.FULL if settings.full else quiet.QUICK)
    session = Session(stages, gate, math.inf if settings.full
                      else time.monotonic() + plan.QUICK_SECONDS)
    try:
        with where.worker(settings, machine, folder) as worker, \
                show(plan.total(stages), stages) as view:
            session.measure(worker, view)
        said = session.left_open()
    except KeyboardInterrupt:
        status, said = 130, ["Stopped before the end: these are the figures until then."]
    except OSError as error:
        status, said = 1, [f"Ended before the end, by {error}: these are the figures until then."]
    finally:
        process.end_all()
    env.update(complete=not status, ended=rundir.now(), looks=session.looks,
               problems=session.worker.problems if session.worker else [])
    env["settings"]["repeat"].update(session.rounds)
    rundir.write_json(os.path.join(folder.path, "env.json"), env)
    return status, said
