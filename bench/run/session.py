#!/usr/bin/env python3
"""Measure the servers: make a plan, run it, print, draw and explain.

    make compare
    EXPERIMENT=guestbook FULL=1 bench/compare.py
    bench/compare.py --experiment answer --servers epoll --peers nginx,floor-epoll

--help lists what can be asked for. Exit status: 0 when all was measured, 1
when it cannot begin or go on, 2 for a wrong setting, 130 after Ctrl-C. What
was measured by then is kept.
"""

import signal

# Until main() handles it, while all this is imported, Ctrl-C just ends.
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import dataclasses
import os
import sys
import time

from bench.run import process as child
from bench import load
from bench.machine import facts as machines
from bench import venv as own_venv
from bench import peers
from bench import plan
from bench.machine import preflight
from bench.run import redis as redis_server
from bench.draw import report
from bench.store import rundir as results
from bench.run import cell as runner
from bench import config as wishes
from bench.meter import syscalls
from bench.draw import table as tables
from bench.draw import live as terminal


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


def build_peers(settings):
    """Build the peers asked for; return [(peer, why)] of those that fail.
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
                failed.append((server, why))
    return failed


def without_tools(settings):
    """Return (the settings without those experiments whose load tool is not
    installed, [what was left out and why])."""
    whole, left_out = [], []
    for one in settings.experiments:
        tool = runner.tool_for(one, settings.tool)
        if load.missing(tool):
            left_out.append(f"{one.name}: {tool} is not installed: "
                            f"{load.TOOLS[tool].remedy}")
        else:
            whole.append(one)
    return dataclasses.replace(settings, experiments=tuple(whole)), left_out


def look_around(settings, machine):
    """Print what the machine is like; return the findings."""
    tools = {runner.tool_for(e, settings.tool) for e in settings.experiments}
    grids = [x for e in settings.experiments if not e.open_loop
             for v in e.variants
             for x in (settings.points or (v.full if settings.full
                                           else v.quick))]
    findings = preflight.look(machine, sorted(tools), max(grids, default=1),
                              settings.backlog)
    for one in findings:
        print(f"{'OK' if one.ok else 'WARNING':8} {one.what}: {one.value}"
              + (f"\n{'':8} -> {one.remedy}" if one.remedy else ""))
    return findings


def find_counter():
    """Return (what counts system calls or None, why not)."""
    try:
        return syscalls.counter(), ""
    except syscalls.SyscallError as error:
        return None, str(error)


def environment(settings, machine, findings, stages, left_out):
    """Return the beginning of env.json."""
    return {
        "schema_version": results.SCHEMA_VERSION,
        "started": results.now(), "complete": False,
        "command": " ".join(sys.argv),
        "settings": {
            "experiments": [e.name for e in settings.experiments],
            "servers": [s.name for s in settings.servers],
            "full": settings.full, "points": list(settings.points),
            "backlog": settings.backlog, "tool": settings.tool,
            "seconds": {s.experiment.name: s.seconds for s in stages},
            "repeat": {s.experiment.name: s.repeat for s in stages},
            "guestbook_remarks": redis_server.REMARKS,
        },
        "seed": settings.seed,
        "planned_seconds": round(plan.total(stages)),
        "cores": {"server": sorted(machine.server_cores),
                  "load": sorted(machine.load_cores)},
        "machine": machines.facts(), "versions": machines.versions(),
        "source": machines.commit(),
        "preflight": [{"what": f.what, "value": f.value, "ok": f.ok,
                       "remedy": f.remedy} for f in findings],
        "left_out": left_out,
    }


def measure(stages, worker, view, deadline):
    """Run all stages until `deadline` (time.monotonic, or None).

    On a machine slower than the plan each experiment keeps its share of the
    time; what it does not reach, its last repeats, is recorded as not run.
    """
    around = plan.CALLS_SECONDS + plan.AROUND_CALLS
    for number, stage in enumerate(stages):
        view.stage(stage)
        ends = None
        if deadline:
            now = time.monotonic()
            share = stage.duration / plan.total(stages[number:])
            ends = now + (deadline - now) * share - around * len(stage.calls)
        seconds = stage.seconds * stage.experiment.weight
        for cell in stage.cells:
            Interrupt.check()
            lasts = plan.expected(cell, stage.seconds)
            planned = 0 if cell.impossible else lasts + cell.around
            view.begin(cell.label.replace("_", " "))
            if ends and time.monotonic() + planned > ends:
                row = worker.skip(cell, "no time", "the time was over")
            else:
                row = attempt(worker, cell, seconds, ends)
            view.cell(row, planned)
        for server, variant in stage.calls:
            if not deadline or time.monotonic() + around < deadline:
                view.begin(f"system calls of {server.name}")
                attempt_calls(worker, stage.experiment, server, variant)
            view.passed(around)
        view.end_stage()


def attempt(worker, cell, seconds, ends):
    """Run a cell; return its row. What the system refuses to a cell, as when
    it is out of processes, is a row and not the end of the run. Raises
    OSError when not even a row can be written."""
    try:
        return worker.run(cell, seconds, ends)
    except OSError as error:
        worker.problems.append(f"{cell.label}: {error}")
        return worker.skip(cell, "no figure", str(error))


def attempt_calls(worker, experiment, server, variant):
    """Count system calls, or note why the system refused to."""
    try:
        worker.count_calls(experiment, server, variant)
    except OSError as error:
        worker.problems.append(f"{experiment.name}: system calls of "
                               f"{server.name} were not counted: {error}")


def show(folder):
    """Print charts and cost tables of the results in `folder`, and write
    summary, pictures and report; return what had to be left out."""
    summary, left_out = report.make(folder)
    tables.show_all(summary)
    return left_out


def latest_end(settings, stages, begun):
    """Return when (time.monotonic) a quick run that began at `begun` has to
    stop measuring, None for any other. What is left is for the report."""
    if settings.seconds is not None or settings.full:
        return None
    total = plan.total(stages)
    if total > plan.QUICK_SECONDS - plan.RESERVE:   # many peers: it said so
        return time.monotonic() + 1.05 * total
    return begun + plan.QUICK_SECONDS - plan.RESERVE / 2


def run(settings, machine, folder, stages, env, counter, deadline):
    """Measure all stages into `folder`, at most until `deadline`; return
    (exit status, why it ended early or ""). env.json is brought up to date
    in any case."""
    total = plan.total(stages)
    status, why = 0, ""
    worker = None
    try:
        with redis_server.RedisServer(machine.load_cores) as redis, \
                terminal.view(total, stages) as view:
            worker = runner.Runner(settings, machine, redis, folder, counter)
            measure(stages, worker, view, deadline)
    except KeyboardInterrupt:
        status, why = 130, "Stopped before the end"
    except OSError as error:
        status, why = 1, f"Ended before the end, by {error}"
    finally:
        child.end_all()
    env["complete"] = not status
    env["ended"] = results.now()
    env["problems"] = worker.problems if worker else []
    if worker and worker.server_cpu:
        env["harness_overhead_percent"] = round(
            100 * worker.own_cpu / worker.server_cpu, 2)
    folder.write_json("env.json", env)
    return status, why


def tell(folder, env, why):
    """Print what was found, and where it is; return the exit status: 0, or
    130 when the report was not waited for. `why` the run ended early."""
    shown = os.path.relpath(folder.path)
    try:
        for one in show(folder.path) + env["problems"]:
            print(f"Left out: {one}")
    except KeyboardInterrupt:
        print(f"\nStopped. All figures are in {shown}/samples.csv;  python3 "
              f"bench/report.py {shown}  makes the report.")
        return 130
    print(f"\nResults: {shown}/  (report.html, samples.csv, summary.json, "
          "raw/)")
    if why:
        print(f"{why}: these are the figures until then.")
    return 0


def compare(settings):
    """Measure and tell what `settings` say; return the exit status. Raises
    KeyboardInterrupt, RedisError and OSError as long as nothing is
    measured."""
    no_venv = own_venv.enter()
    begun = time.monotonic()
    machine = machines.layout(settings.server_cores)
    os.sched_setaffinity(0, machine.load_cores)

    left_out = [f"{server.name}: {why}" for server, why
                in build_peers(settings)]
    if no_venv:
        left_out.append(f"SVG pictures and the live table: {no_venv}")
    counter, why = find_counter()
    if not counter:
        left_out.append(f"system calls a request: {why}")
    findings = look_around(settings, machine)
    settings, toolless = without_tools(settings)
    left_out += toolless
    stages = plan.make(settings, machine, bool(counter))
    cells = sum(len(stage.cells) for stage in stages)
    print(f"\n{cells} cells, about {terminal.clock(plan.total(stages))} "
          f"minutes; seed {settings.seed}. Ctrl-C keeps what is measured.")
    for one in left_out:
        print(f"Left out: {one}")
    if not cells:
        print("compare: nothing is left to measure", file=sys.stderr)
        return 1

    folder = results.Folder(settings.out)
    env = environment(settings, machine, findings, stages, left_out)
    folder.write_json("env.json", env)
    status, why = run(settings, machine, folder, stages, env, counter,
                      latest_end(settings, stages, begun))
    if not folder.rows:
        print(f"{why}. Nothing was measured.")
        return status
    return tell(folder, env, why) or status


def main():
    """Do what the head of this file says; return the exit status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, Interrupt.handle)
    try:
        settings = wishes.parse(sys.argv[1:], os.environ)
        wishes.check_out(settings.out)
        return compare(settings)
    except wishes.SettingsError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncompare: stopped before anything was measured.",
              file=sys.stderr)
        return 130
    except redis_server.RedisError as error:
        print(f"compare: {error}", file=sys.stderr)
    except OSError as error:
        print(f"compare: {error}; whatever was measured is below OUT",
              file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
