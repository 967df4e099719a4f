"""The only loop: it measures the published experiments and the studies alike.

    run(words)      `python3 -m bench run`, see --help
    study(words)    `python3 -m bench study NAME`

Every measurement has the same steps: look at the machine, wait until it is
quiet, measure all cells in shuffled rounds, look whether the comparisons are
settled, write raw logs and rows, print, draw and explain. Ctrl-C keeps what is
measured by then.
"""

import dataclasses
import os
import signal
import sys
import time

from bench import config
from bench import load
from bench import peers
from bench import plan
from bench import venv
from bench.analyse import comparisons
from bench.analyse.stats import LOOKS
from bench.draw import live as terminal
from bench.draw import report
from bench.draw import table
from bench.machine import facts
from bench.machine import preflight
from bench.machine import quiet
from bench.meter import syscalls
from bench.run import cell as cells
from bench.run import netns
from bench.run import process
from bench.run import redis
from bench.run.rounds import in_rounds
from bench.store import join
from bench.store import rundir


NO_TIME = "no time", "the time was over"


class Interrupt:
    """Ctrl-C and SIGTERM: raise KeyboardInterrupt, so that all is cleaned
    up. An exception is lost when it comes while Python frees an object;
    `asked` is not."""

    asked = False

    @classmethod
    def handle(cls, *_):
        """The handler of both signals."""
        cls.asked = True
        raise KeyboardInterrupt

    @classmethod
    def check(cls):
        """Raise what may have been lost."""
        if cls.asked:
            raise KeyboardInterrupt


# ----------------------------------------------------------- before measuring

def build_all(settings):
    """Build what is not one of the seven; return [text] of those that fail.
    They stay in the plan, so that the results name them."""
    failed = []
    for server in settings.servers:
        if server.kind != "architecture":
            why = server.problem()
            try:
                if not why:
                    server.build()
            except (peers.PeerError, OSError) as error:
                why = str(error)
            if why:
                failed.append(f"{server.name}: {why}")
    return failed


def without_tools(settings):
    """Return (the settings without those experiments whose load tool is not
    installed, [what was left out and why])."""
    whole, left_out = [], []
    for one in settings.experiments:
        missing = [tool for tool in tools_of(one, settings)
                   if load.missing(tool)]
        if missing:
            left_out.append(f"{one.name}: {missing[0]} is not installed: "
                            f"{load.TOOLS[missing[0]].remedy}")
        else:
            whole.append(one)
    return dataclasses.replace(settings, experiments=tuple(whole)), left_out


def tools_of(experiment, settings):
    """Return the names of the load tools that an experiment needs."""
    return {cells.tool_for(experiment, settings.tool, variant)
            for variant in experiment.variants}


def enter_network():
    """Go on in a network of our own; return "" or why that is not possible."""
    try:
        netns.enter()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def look_around(settings, machine, no_network):
    """Print what the machine is like; return the findings."""
    tools = set().union(*(tools_of(one, settings)
                          for one in settings.experiments))
    most = max((x for e in settings.experiments if not e.open_loop
                for v in e.variants
                for x in (settings.points or (v.full if settings.full
                                              else v.quick))), default=1)
    findings = preflight.look(machine, sorted(tools), most, no_network)
    table.say(*map(str, findings))
    return findings


def environment(settings, machine, findings, stages, about):
    """Return the beginning of env.json; `about` goes into it, too."""
    return {
        "schema_version": rundir.SCHEMA_VERSION,
        "started": rundir.now(), "complete": False,
        "command": " ".join(sys.argv), "study": settings.label,
        "settings": {
            "experiments": [e.name for e in settings.experiments],
            "servers": [s.name for s in settings.servers],
            "full": settings.full, "points": list(settings.points),
            "backlog": settings.backlog, "tool": settings.tool,
            "seconds": {s.experiment.name: s.seconds for s in stages},
            "repeat": {s.experiment.name: s.planned for s in stages},
            "guestbook_remarks": redis.REMARKS,
        },
        "seed": settings.seed,
        "planned_seconds": round(plan.total(stages)),
        "cores": {"server": sorted(machine.server_cores),
                  "load": sorted(machine.load_cores)},
        "machine": facts.facts(), "versions": facts.versions(),
        "preflight": [{"what": f.what, "value": f.value, "ok": f.ok,
                       "remedy": f.remedy} for f in findings],
        **about,
    }


# ------------------------------------------------------------------ measuring

class Session:
    """Measures the stages of a plan with a cells.Runner.

    `looks` is {experiment: [rounds after which it was looked at]}, `rounds`
    {experiment: how many there were}, `open` {experiment: the cells that are
    not settled}.
    """

    def __init__(self, stages, worker, view, gate, deadline=None):
        self.stages, self.worker, self.view = stages, worker, view
        self.gate, self.deadline = gate, deadline
        self.looks, self.rounds, self.open = {}, {}, {}

    def measure(self):
        """Measure all stages until the deadline (time.monotonic, or None).

        Each has its share of the time. A machine slower than the plan leaves
        out last rounds of each experiment; what does not get even one round
        is recorded as not run.
        """
        for number, stage in enumerate(self.stages):
            self.view.stage(stage)
            ends = None
            if self.deadline:
                now = time.monotonic()
                share = stage.duration / plan.total(self.stages[number:])
                ends = now + (self.deadline - now) * share \
                    - stage.calls_seconds()
            self._rounds(stage, ends)
            self._calls(stage)
            self.view.end_stage()

    def _rounds(self, stage, ends):
        """Measure the cells of a stage, in rounds."""
        name, each = stage.experiment.name, stage.seconds
        self.looks[name], self.rounds[name] = [], 0
        left = stage.duration - stage.calls_seconds()
        for cell in stage.cells:
            if cell.impossible:
                self.view.cell(self.worker.skip(cell, "not possible",
                                                cell.impossible), 0)
        begun = time.monotonic()
        for number, cell in in_rounds(
                stage.possible, rounds=stage.rounds, quiet=self.gate,
                ends=ends, seed=f"{self.worker.settings.seed} {name}",
                unsettled=None if stage.rounds
                else lambda some: self._look(stage, some, ends)):
            Interrupt.check()
            if number > self.rounds[name]:
                if number > 1 and ends:
                    each = shorter(stage, each, number,
                                   time.monotonic() - begun, ends)
                self.rounds[name], begun = number, time.monotonic()
            planned = cell.lasts(stage.seconds) + cell.around
            self._cell(cell.at(number), each, planned, ends)
            left -= planned
        if not self.rounds[name]:
            for cell in stage.possible:
                self.view.cell(self.worker.skip(cell, *NO_TIME), 0)
        self.view.passed(max(0.0, left))
        self.open[name] = self._unsettled(stage, stage.possible)

    def _cell(self, cell, each, planned, ends):
        """Measure a cell in its round, for which the plan has `planned`
        seconds; a cell of weight 1 has `each` seconds of load."""
        self.view.begin(cell.label.replace("_", " "))
        if ends and time.monotonic() + cell.lasts(each) + cell.around > ends:
            row = self.worker.skip(cell, *NO_TIME)
        else:
            row = self.worker.run(cell, each * cell.experiment.weight, ends)
        self.view.cell(row, planned)

    def _look(self, stage, some, ends):
        """Return those of the cells `some` that need more rounds."""
        seen = self.looks[stage.experiment.name]
        seen.append(LOOKS[len(seen)])
        left = self._unsettled(stage, some)
        if left:
            rounds = LOOKS[len(seen)] - seen[-1]
            lasts = rounds * stage.round_seconds(left)
            if ends:
                lasts = max(0.0, min(lasts, ends - time.monotonic()))
            self.view.more(lasts, rounds * len(left))
        return left

    def _unsettled(self, stage, some):
        """Return those cells whose comparison is not settled, and that more
        rounds may settle: a server that gave no figure gives none."""
        rows = [row for row in self.worker.folder.rows
                if row["experiment"] == stage.experiment.name]
        there = {(row["variant"], row["server"], row["x"]) for row in rows
                 if row.get("cpu_us") is not None}
        keys = [cell.key for cell in some if cell.key in there
                and not self.worker.is_out(cell)]
        left = set(comparisons.unsettled(rows, keys, stage.baseline_of,
                                         adaptive=not stage.rounds))
        return [cell for cell in some if cell.key in left]

    def _calls(self, stage):
        """Count the system calls of a stage, as far as there is time."""
        around = plan.CALLS_SECONDS + plan.AROUND_CALLS
        for server, variant in stage.calls:
            if not self.deadline or \
                    time.monotonic() + around < self.deadline:
                self.view.begin(f"system calls of {server.name}")
                self.worker.count_calls(stage.experiment, server, variant)
            self.view.passed(around)

    def told(self):
        """Return what env.json says of the rounds."""
        return {"rounds": self.rounds, "looks": self.looks,
                "quiet": self.gate.told() if self.gate else {},
                "unsettled": {name: [list(cell.key) for cell in some]
                              for name, some in self.open.items()}}

    def left_open(self):
        """Return sentences that say which servers cannot be told from their
        baseline yet, and how to go on; [] when all is settled."""
        said = {}
        for stage in self.stages:
            name = stage.experiment.name
            for cell in self.open.get(name, ()):
                base = stage.baseline_of(cell.variant.name)
                if cell.server.name != base:
                    said.setdefault(" ".join(filter(None, (
                        name, cell.variant.name))) + f", compared with {base}",
                        {})[cell.server.name] = 1
        if not said:
            return []
        lines = [f"Not settled yet: {where}: {', '.join(names)}"
                 for where, names in said.items()]
        settings = self.worker.settings
        if settings.label:
            more = f"make study NAME={settings.label} REPEAT={LOOKS[-1]}"
        elif settings.full and not settings.repeat:
            return lines + [f"The differences are too small for {LOOKS[-1]} "
                            "rounds on this machine."]
        else:
            names = ",".join(name for name, some in self.open.items() if some)
            more = f"make compare FULL=1 EXPERIMENT={names}" + "".join(
                f" {name}={os.environ[name]}"
                for name in ("SERVERS", "PEERS", "CONCURRENCY")
                if os.environ.get(name))
        return lines + [f"More rounds go on:  {more}"]


def shorter(stage, each, number, lasted, ends):
    """Return the seconds of load from the round `number` on, after `each` in
    the one before, which took `lasted` seconds in all: less where the planned
    rounds would not end in time. Six short rounds tell more than five."""
    rounds = stage.planned - number + 1
    if rounds < 1:
        return each
    over = lasted - (ends - time.monotonic()) / rounds
    return min(each, max(plan.SHORTEST, each - over / len(stage.possible)))


def latest_end(settings, stages, begun):
    """Return when (time.monotonic) a quick run that began at `begun` has to
    stop measuring, None for any other. What is left is for the report."""
    if settings.seconds is not None or settings.full:
        return None
    total = plan.total(stages)
    if total > plan.QUICK_SECONDS - plan.RESERVE:   # many peers: it said so
        return time.monotonic() + 1.05 * total
    return begun + plan.QUICK_SECONDS - plan.RESERVE / 2


def measure(settings, machine, folder, stages, env, counter, deadline):
    """Measure all stages into `folder`, at most until `deadline`; return
    (exit status, [sentences for the end]). env.json is brought up to date in
    any case."""
    status, said = 0, []
    worker = session = None
    gate = quiet.Gate(machine, quiet.FULL if settings.full else quiet.QUICK)
    try:
        with redis.RedisServer(machine.load_cores) as private, \
                terminal.View(plan.total(stages), stages) as view:
            worker = cells.Runner(settings, machine, private, folder, counter)
            session = Session(stages, worker, view, gate, deadline)
            session.measure()
        said = session.left_open()
    except KeyboardInterrupt:
        status, said = 130, ["Stopped before the end: these are the figures "
                             "until then."]
    except OSError as error:
        status, said = 1, [f"Ended before the end, by {error}: these are the "
                           "figures until then."]
    finally:
        process.end_all()
    env.update(complete=not status, ended=rundir.now(),
               problems=worker.problems if worker else [],
               **(session.told() if session else {}))
    if session:
        env["settings"]["repeat"].update(session.rounds)
    if worker and worker.server_cpu:
        env["harness_overhead_percent"] = round(
            100 * worker.own_cpu / worker.server_cpu, 2)
    folder.write_json("env.json", env)
    return status, said


# ------------------------------------------------------------ after measuring

def show(settings, folder):
    """Print sentences and tables of the results in `folder`, and write
    summary, pictures and report; return (summary, what was left out)."""
    summary, left_out = report.make(folder, settings.experiments)
    table.show_all(summary, settings.wide)
    for one in settings.experiments:
        for line in one.finish(folder, summary):
            print(line)
    return summary, left_out


def tell(settings, folder, env, said):
    """Print what was found, and where it is; return the exit status: 0, 1
    when it is not fit to be committed, 130 when the report was not waited
    for. `said` comes last."""
    shown = os.path.relpath(folder.path)
    try:
        summary, left_out = show(settings, folder.path)
    except KeyboardInterrupt:
        print(f"\nStopped. All figures are in {shown}/samples.csv;  python3 "
              f"-m bench report {shown}  makes the report.")
        return 130
    for one in left_out + env["problems"]:
        table.say(f"Left out: {one}")
    print(f"\nResults: {shown}/  (report.html, samples.csv, summary.json, "
          "raw/)", *said, sep="\n")
    if settings.commit and env["complete"]:
        try:
            print(join.commit(folder.path, summary, settings.label))
        except join.JoinError as error:
            print(f"Not committed: {error}", file=sys.stderr)
            return 1
    return 0


def compare(settings):
    """Measure and tell what `settings` say; return the exit status. Raises
    KeyboardInterrupt, RedisError and OSError as long as nothing is
    measured."""
    no_venv = venv.enter()
    begun = time.monotonic()
    source = facts.commit()
    left_out = build_all(settings)
    no_network = enter_network()
    machine = facts.layout(settings.server_cores, settings.load_cores)
    os.sched_setaffinity(0, machine.load_cores)
    if no_venv:
        left_out.append(f"the report and the live table: {no_venv}")
    try:
        counter = syscalls.counter()
    except syscalls.SyscallError as error:
        counter = None
        left_out.append(f"system calls a request: {error}")
    findings = look_around(settings, machine, no_network)
    settings, toolless = without_tools(settings)
    left_out += toolless
    stages = plan.make(settings, machine, bool(counter))
    runs = sum(stage.runs for stage in stages)
    print(f"\n{plan.told(stages)}, about {terminal.clock(plan.total(stages))} "
          f"minutes; seed {settings.seed}. Ctrl-C keeps what is measured.")
    for one in left_out:
        table.say(f"Left out: {one}")
    if not runs:
        print("bench: nothing is left to measure", file=sys.stderr)
        return 1

    folder = rundir.Folder(settings.out, settings.label)
    env = environment(settings, machine, findings, stages, {
        "source": source, "left_out": left_out,
        "network": {"own": not no_network, "problem": no_network}})
    folder.write_json("env.json", env)
    status, said = measure(settings, machine, folder, stages, env, counter,
                           latest_end(settings, stages, begun))
    if not folder.rows:
        print("\n".join(said) + " Nothing was measured.")
        return status
    return tell(settings, folder, env, said) or status


def run(words, command="run"):
    """Measure what `words` and the environment ask for; return the exit
    status. What goes wrong is a sentence."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, Interrupt.handle)
        return compare(config.read(command, words, os.environ))
    except config.SettingsError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbench: stopped before anything was measured.",
              file=sys.stderr)
        return 130
    except redis.RedisError as error:
        print(f"bench: {error}", file=sys.stderr)
    except OSError as error:
        print(f"bench: {error}; whatever was measured is below OUT",
              file=sys.stderr)
    return 1


def study(words):
    """The same for the study that the first of the `words` names."""
    return run(words, "study")
