"""The only loop: it measures the published experiments and the studies alike.

A run measures the experiments one after the other, in shuffled rounds, until their comparisons
are settled or the time is over. Before each round it waits until the machine is quiet. Ctrl-C keeps
what is measured by then. Each cell is run by a Runner (cell.py). Nothing
is drawn here: see command.py.
"""

import collections
import contextlib
import dataclasses
import math
import os
import sys
import time

from tools.bench import load, plan
from tools.bench.machine import facts, neighbours, preflight, quiet
from tools.bench.meter import yardstick
from tools.bench.run.cell import Runner, tool_for
from tools.kit import netns, process, redis, servers
from tools.results import rundir
from tools.stats import comparisons
from tools.stats.stats import LOOKS
from tools.stats.steady import steadied

# ----------------------------------------------------------- before measuring

def build_peers(settings):
    """Build the peers and what a study adds; return a sentence for each that
    fails. They stay in the plan, so that the results name them."""
    return [f"{server.name}: {why}" for server in settings.servers if (why := server.unready())]


def equipped(settings, lacking):
    """Return (the settings with each experiment as it is on a machine where the load tools are
    missing for which lacking() is true, without those that have no tool then; [what was left out
    and why])."""
    whole, left_out = [], []
    for one in (one.equipped(lacking, settings.tool) for one in settings.experiments):
        tools = [tool_for(one, settings.tool, variant) for variant in one.variants]
        missing = next(filter(lacking, tools), None)
        if missing:
            left_out.append(f"{one.name}: {missing} is not installed: {load.TOOLS[missing].remedy}")
            continue
        whole.append(one)
        left_out += [] if settings.points else one.left_out(settings.servers)
    return dataclasses.replace(settings, experiments=tuple(whole)), list(dict.fromkeys(left_out))


class Here(contextlib.nullcontext):
    """This machine, with server, Redis and load. fleet.measure.Fleet has the same methods."""

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
    def runner(self, settings, machine, folder):
        """Return a Runner while its Redis runs."""
        kept = ["awake"] if settings.awake else []
        with redis.RedisServer(machine.load_cores) as private, yardstick.running(machine), \
                neighbours.running(kept, machine.server_cores | machine.load_cores):
            yield Runner(settings, machine, private, folder)


def environment(settings, machine, findings, stages):
    """Return the beginning of env.json."""
    return {
        "schema_version": rundir.SCHEMA_VERSION, "started": rundir.now(), "complete": False,
        "command": " ".join(["python3 -m tools.bench", *sys.argv[1:]]), "study": settings.label,
        "settings": {
            "experiments": [e.name for e in settings.experiments],
            "servers": [s.name for s in settings.servers],
            "full": settings.full, "points": list(settings.points),
            "backlog": settings.backlog, "tool": settings.tool, "awake": settings.awake,
            "seconds": {s.experiment.name: s.seconds * s.experiment.weight for s in stages},
            "repeat": {s.experiment.name: s.planned for s in stages},
        },
        "drawn": [s.experiment.name for s in stages if s.drawn],
        "seed": settings.seed,
        "cores": {"server": sorted(machine.server_cores), "load": sorted(machine.load_cores)},
        "preflight": [{**vars(f), "ok": f.ok} for f in findings],
    }


# ------------------------------------------------------------------ measuring

class Session:
    """Measures the stages of a plan with a Runner. `looks` is {experiment: [rounds after which it
    was looked at]}, `rounds` {experiment: the number of its last round} (a load skips the
    rounds in which only others were lengthened), `lengthened` {experiment: {cell: its rounds}} of
    those that got more than were planned."""

    def __init__(self, stages, gate, deadline=math.inf):
        self.stages, self.gate, self.deadline = stages, gate, deadline
        self.runner = self.view = None
        self.looks, self.rounds, self.lengthened = {}, {}, {}
        self.done = collections.Counter()       # {(experiment, key of a cell): rounds}

    def measure(self, runner, view):
        """Measure all stages. Without a deadline (time.monotonic) each goes on until it is settled;
        with one, the planned rounds of all come first, and then what is open in any of them."""
        self.runner, self.view = runner, view
        for number, stage in enumerate(self.stages, 1):
            view.stage(stage)
            self._planned(stage)
            if self.deadline == math.inf:
                self._settle([stage])
            for server, variant in stage.calls:
                view.begin(f"{stage.experiment.name}: system calls of {server.name}")
                runner.count_calls(stage.experiment, server, variant)
                view.passed(plan.CALLS_SECONDS + plan.AROUND_CALLS)
            view.left = plan.total(self.stages[number:])
        if self.deadline != math.inf:
            self._settle(self.stages)

    def _planned(self, stage):
        """Measure the planned rounds of a stage."""
        name = stage.experiment.name
        self.looks[name], self.rounds[name], self.lengthened[name] = [], 0, {}
        for cell in stage.cells:
            if cell.impossible:
                self.view.cell(self.runner.skip(cell, "not possible", cell.impossible), 0)
        for _ in range(stage.planned):
            self._round(stage, stage.possible)
        # _settle() looks at these rounds, now or after the last stage. That it has looked makes
        # each comparison stricter: env.json tells summaries.make(), for stats.compare(adaptive).
        if stage.possible and not stage.rounds and not stage.drawn:
            self.looks[name].append(LOOKS[0])

    def _round(self, stage, some):
        """Measure the cells `some` of a stage once, in random order."""
        if not some:
            return
        if self.gate:
            self.gate()
        name = stage.experiment.name
        self.rounds[name] = number = self.rounds[name] + 1
        for cell in plan.shuffled(some, f"{self.runner.settings.seed} {name}", number,
                                  lambda cell: (cell.variant.name, cell.x)):
            self.done[name, cell.key] += 1
            self.view.begin(
                f"{name} {cell.variant.name} {cell.server.name} {cell.x:,}: round {number}")
            row = self.runner.run(dataclasses.replace(cell, repeat=number),
                                  stage.seconds * stage.experiment.weight)
            self.view.cell(row, cell.lasts(stage.seconds))

    def _settle(self, stages):
        """Give more rounds, up to the next look, to what is open in the stages: as long as there
        is time, first to what has the fewest rounds."""
        while True:
            parts = [(stage, part) for stage in stages for part in self._parts(stage)]
            parts.sort(key=lambda one: self._done(*one))
            for stage, part in parts:
                if self._more(stage, part):
                    break
            else:
                return

    def most(self):
        """Return {experiment: the rounds of the cell that has most}."""
        made = dict.fromkeys(self.rounds, 0)
        for (name, _), rounds in self.done.items():
            made[name] = max(rounds, made[name])
        return made

    def _done(self, stage, part):
        """Return how many rounds the cells of a part have at least."""
        return min(self.done[stage.experiment.name, cell.key] for cell in part)

    def _parts(self, stage):
        """Return the open cells of a stage in parts, each with its baseline, that get more rounds
        together: those of one load, as time may not do for all; all of them if there is no
        deadline, because the points of a curve belong to the same rounds."""
        parts = {}
        for cell in self._unsettled(stage, stage.possible):
            point = None if self.deadline == math.inf else (cell.variant.name, cell.x)
            parts.setdefault(point, []).append(cell)
        return [part for part in parts.values() if self._done(stage, part) < LOOKS[-1]]

    def _more(self, stage, part):
        """Measure a part up to its next look, or as many of its cells as there is time for, the
        neighbours of the baseline first. Return whether there was time for any."""
        name, done = stage.experiment.name, self._done(stage, part)
        upto = next(look for look in LOOKS if look > done)
        is_base = {cell: cell.server.name == stage.baseline_of(cell.variant.name) for cell in part}
        place = {server.name: number for number, server in enumerate(servers.ARCHITECTURES)}
        bases = [cell for cell in part if is_base[cell]]
        others = sorted((cell for cell in part if not is_base[cell]
                         and self.done[name, cell.key] < upto), key=lambda cell: abs(
            place.get(cell.server.name, 99) - place.get(bases[0].server.name, 99)))
        lasts = math.inf
        while others and time.monotonic() + (
                lasts := (upto - done) * stage.round_seconds(bases + others)) > self.deadline:
            others.pop()
        if not others:
            return False
        some = [cell for cell in part if cell in bases + others]
        self.view.more(lasts, (upto - done) * len(some))
        for _ in range(upto - done):
            self._round(stage, some)
        self.lengthened[name].update({" ".join(map(str, filter(None, cell.key))):
                                      self.done[name, cell.key] for cell in some})
        if upto < LOOKS[-1] and upto not in self.looks[name]:
            self.looks[name].append(upto)
        return True

    def _unsettled(self, stage, some):
        """Return those of the cells `some` whose comparison more rounds may settle."""
        if stage.rounds or stage.drawn:
            return []
        rows = [row for row in self.runner.folder.rows
                if row["experiment"] == stage.experiment.name]
        left = comparisons.unsettled(
            steadied(rows)[0], [cell.key for cell in some], stage.baseline_of, uncorrected=rows)
        return [cell for cell in some if cell.key in left]


def measure(where, settings, machine, folder, stages, env, show):
    """Measure all stages into `folder`; return (exit status, [sentences for the end]). env.json
    is updated in any case. show(seconds, stages, path of the folder) is a context manager that
    yields what has the methods of report.live.View, which tell of the progress."""
    status, said = 0, []
    gate = where.gate(machine, quiet.FULL if settings.full else quiet.QUICK)
    session = Session(stages, gate, math.inf if settings.full
                      else time.monotonic() + plan.QUICK_SECONDS)
    try:
        with where.runner(settings, machine, folder) as runner, \
                show(plan.total(stages), stages, folder.path) as view:
            session.measure(runner, view)
    except KeyboardInterrupt:
        status, said = 130, ["Stopped before the end: these are the figures until then."]
    except OSError as error:
        status, said = 1, [f"Ended before the end, by {error}: these are the figures until then."]
    finally:
        process.end_all()
    env.update(complete=not status, ended=rundir.now(), looks=session.looks,
               lengthened=session.lengthened,
               problems=session.runner.problems if session.runner else [])
    env["settings"]["repeat"].update(session.most())
    rundir.write_json(os.path.join(folder.path, "env.json"), env)
    return status, said
