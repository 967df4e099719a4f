"""What `make compare` and `make study` start: a run from its settings to its report.

    run(words)      `python3 -m tools.bench run`, see --help
    study(words)    `python3 -m tools.bench study NAME`

A run looks at the machine and measures. At the end it prints, draws and explains.
"""

import dataclasses
import os
import sys

from tools.bench import config, plan
from tools.bench.machine import facts
from tools.bench.meter import yardstick
from tools.bench.run.session import Here, build_peers, environment, equipped, measure
from tools.fleet import measure as fleet
from tools.kit import process, progress, redis, strace, venv
from tools.report import answer, join, live, report, table
from tools.results import rundir


def tell(settings, folder, env, said, more):
    """Write summary, pictures, tables and report; print the last screen (report/answer.py), with
    `said` and `more` below: lines on what went wrong, and on how to get more. Return the exit
    status: 0, or 1 when it is not fit to be committed."""
    shown = os.path.relpath(folder.path)
    lines = [line for one in settings.experiments for line in one.finish(folder.path)]
    summary, left_out = report.make(folder.path, settings.experiments)
    with open(os.path.join(folder.path, table.FILE), "w", encoding="utf-8") as file:
        problems = [f"Left out: {one}" for one in (
            *env["left_to_full"], *env["left_out"], *left_out, *env["problems"])]
        print(*table.all_lines(summary, table.WIDTH), "", *lines, *problems, sep="\n", file=file)
    if settings.wide:
        print(*table.all_lines(summary, table.width()), "", *lines, *problems, sep="\n")
    env = {**env, "left_out": env["left_out"] + left_out}
    end = [f"Report: {shown}/report.html", f"  also {live.LOG}, {table.FILE}, samples.csv",
           *more, *said]
    print("", *answer.lines(summary, env, end, table.width(), table.height()), sep="\n")
    if settings.commit and env["complete"]:
        try:
            print(join.commit(folder.path, summary, settings.label))
        except join.JoinError as error:
            print(f"Not committed: {error}", file=sys.stderr)
            return 1
    return 0


def how_to_get_more(settings, machine):
    """Return lines that name what measures more, and how long it takes at least."""
    def lasts(**other):
        stages = plan.make(dataclasses.replace(settings, points=(), **other), machine, True)
        seconds = plan.total(stages)
        return f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{seconds / 60:.0f} minutes"
    if settings.label:
        return []
    full = [] if settings.full else [
        f"More: the same with FULL=1 ({lasts(full=True, repeat=None, seconds=None)} or more)"]
    first = settings.experiments[0].of or settings.experiments[0]
    its = tuple(one for one in settings.experiments if first in (one, one.of))
    if its == settings.experiments or settings.full:
        return full
    return full + [f"      the same with EXPERIMENT={first.name} REPEAT={plan.LOOKS[1]} "
                   f"({lasts(full=False, experiments=its, repeat=plan.LOOKS[1])})"]


def compare(settings):
    """Measure and tell what `settings` say; return the exit status. Raises RedisError and
    OSError, and KeyboardInterrupt before and after measuring."""
    no_venv = venv.restart_inside()     # outside build/venv, begins again there
    where = fleet.Fleet(settings.fleet) if settings.fleet else Here()
    with where:
        source = facts.commit()
        left_out = where.call(build_peers, settings)
        machine = where.layout(settings)
        no_strace = where.call(strace.missing)
        no_yardstick = yardstick.build()
        settings, toolless = equipped(settings, where.lacking)
        left_out += toolless + [f"{what}: {why}" for what, why in (
            ("report.html and its charts", no_venv),
            ("system calls a request", no_strace),
            ("how fast the cores are while they work", no_yardstick)) if why]
        stages = plan.make(settings, machine, count_calls=not no_strace)
        findings = where.findings(machine, max(
            (cell.x for stage in stages for cell in stage.cells
             if not stage.experiment.open_loop), default=1))
        table.say(*map(str, findings))
        print("", *plan.told(stages),
              f"Together {progress.clock(plan.total(stages))} minutes; seed "
              f"{settings.seed}. Ctrl-C keeps what is measured.", sep="\n")
        later = plan.left_to_full_in_words(stages)
        table.say(*later)
        for one in left_out:
            table.say(f"Left out: {one}")
        if not any(stage.possible for stage in stages):
            print("bench: nothing is left to measure", file=sys.stderr)
            return 1

        folder = rundir.Folder(settings.out, settings.label)
        env = {**environment(settings, machine, findings, stages), "source": source,
               "machine": where.call(facts.facts), "versions": where.call(facts.versions),
               "left_out": left_out, "left_to_full": later}
        rundir.write_json(os.path.join(folder.path, "env.json"), env)
        status, said = measure(where, settings, machine, folder, stages, env, live.View)
        if not folder.rows:
            print(*said, "Nothing was measured.")
            return status
        return tell(settings, folder, env, said, how_to_get_more(settings, machine)) or status


def run(words, command="run"):
    """Measure what `words` and the environment ask for; return the exit status. What goes wrong is
    told in a sentence on stderr."""
    try:
        process.end_on_signals()
        return compare(config.read(command, words, os.environ))
    except config.SettingsError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbench: stopped; if anything was measured, `python3 -m tools.bench report` "
              "shows it", file=sys.stderr)
        return 130
    except (redis.RedisError, fleet.HostError, fleet.inventory.Mistake) as error:
        print(f"bench: {error}", file=sys.stderr)
    except OSError as error:
        print(f"bench: {error}; whatever was measured is below OUT", file=sys.stderr)
    return 1


def study(words):
    """The same for the study that the first of the `words` names."""
    return run(words, "study")
