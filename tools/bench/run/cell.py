"""Run cells (plan.Cell): start a server, check it, load it, end it, and write a row."""

import contextlib
import dataclasses
import os
import signal

from tools.bench import load, plan
from tools.bench.experiments import WrongAnswer, client
from tools.bench.load.base import SHARERS
from tools.bench.machine import quiet
from tools.bench.meter import costs as cost_meter, cpu as cpu_meter, syscalls
from tools.kit import client as http, procfs, scratch, servers, strace
from tools.results import rundir
from tools.stats import bottleneck

# Figures that mean nothing in a run that was disturbed or had too few connections, nor after a
# crash: with the server go the accounts of its children, and all that it did after the last sample.
VOID = ("rate", "cpu_us", "cpu_user_us", "cpu_system_us",
        "server_busy", "foreign", "faults", "switches")

WARM = 2        # requests before the load, for each worker of a pool
WARM_CLIENTS = 256      # at a time before the load, at most: as many as 04 has threads
# The share of the connections that counts as all: while a sample of a server with many processes
# is taken, some connections close.
ALL = 0.95
LOSSY_FOREIGN = quiet.FOREIGN   # per cent of the server's cores: with more used by other programs,
                                # they may be the reason for a loss


def tool_for(experiment, asked, variant):
    """Return the name of the load tool: the variant's own, or the one `asked`
    for if the experiment knows it, or the experiment's first."""
    return variant.tool or (asked if asked in experiment.tools else experiment.tools[0])


def disturbance(foreign):
    """Return in words why a disturbed run has no figure: other programs used `foreign` per cent of
    the server's cores, or no look at the server fell into the load."""
    if foreign > LOSSY_FOREIGN or os.getloadavg()[0] > 2 * os.cpu_count():
        return f"other programs used the cores (load {os.getloadavg()[0]:.0f})"
    return "no look at its connections came while they were open"


def not_opened(tool, opens, values, made):
    """Return in words that the load tool of this name had not opened all of the `opens` connections
    that it opens when its time was over: then their number says nothing about the server. "" if it
    had, or if a full queue (`values`) turned some away. `made` is how many clients had connected
    when the server held most of them, None if that is not known."""
    held = values.get("open_connections")
    if None in (held, made) or max(held, made) >= ALL * opens or values.get("overflows"):
        return ""
    return (f"{made:,} of {opens:,} connections were open, as {tool} had not opened the others "
            "in its time")


def void(row):
    """Take the figures that mean nothing out of the row of a run that was disturbed or not opened,
    or that crashed."""
    if row["status"] in ("disturbed", "not opened"):
        row.update(dict.fromkeys(set(VOID) - {"foreign"}))      # "foreign" may be why
    elif row["status"] == "crashed":
        row.update(dict.fromkeys(VOID))


def _ask_together(live, path, clients):
    """Have that many clients that are connected at the same time ask for `path` once each, and wait
    until the threads that they had have ended, half a second at most. Raises OSError."""
    with contextlib.ExitStack() as opened:
        some = [opened.enter_context(http.Connection(("127.0.0.1", live.port)))
                for _ in range(clients)]
        for one in some:
            one.request(path)
        for one in some:
            one.response()
    live.before += clients
    if live.server.model == servers.WORKER_EACH:
        procfs.settle(live.pid)


def job_of(cell, live, seconds, machine, full, tool):
    """Return the load.Job of a cell. A tool that cannot end after a number of requests ends after
    `seconds`. Each round has other arrivals, drawn from its number, not from SEED. Raises
    WrongAnswer."""
    experiment = cell.experiment
    job = experiment.job(live, cell.variant, cell.x, seconds, machine, full)
    if job.requests and not tool.ends_by_number:
        job = dataclasses.replace(job, requests=None, seconds=experiment.lasts(cell.x, seconds))
    return dataclasses.replace(job, seed=cell.repeat)


class Runner:
    """Runs the cells of a plan; rows go to `folder`."""

    def __init__(self, settings, machine, redis, folder):
        self.settings, self.machine = settings, machine
        self.redis, self.folder = redis, folder
        self.load, self.host = load.run, "127.0.0.1"    # a fleet has others
        self.order = 0
        self.dropped = {}       # {(experiment, server): (status, why)} that are left out
        self.problems = []      # sentences for the end of the run

    @contextlib.contextmanager
    def _running(self, cell):
        """Run the server of a cell, as a servers.Live."""
        experiment, variant = cell.experiment, cell.variant
        way = variant.redis or ("tcp" if experiment.needs_redis else "none")
        start = servers.Start(
            cores=self.machine.all_cores if variant.many_workers else self.machine.server_cores,
            redis=self.redis.address if way == "tcp" else "none",
            backlog=self.settings.backlog, host=self.host,
            workers=experiment.workers(cell.server, variant, self.machine, cell.x),
            extra=tuple(variant.options.get(cell.server.name, ())))
        with scratch.folder("cell") as folder, \
                servers.running(cell.server, start, os.path.join(folder, "server")) as live:
            yield live

    def _row(self, cell):
        """Return the beginning of the row of a cell."""
        self.order += 1
        return {"experiment": cell.experiment.name, "variant": cell.variant.name,
                "server": cell.server.name, "kind": cell.server.kind,
                "x": cell.x, "repeat": cell.repeat, "order": self.order, "started": rundir.now(),
                "tool": tool_for(cell.experiment, self.settings.tool, cell.variant), "note": ""}

    def skip(self, cell, status, why):
        """Add a row that says why a cell was not run; return it."""
        row = {**self._row(cell), "status": status, "note": why}
        self.folder.add(row)
        return row

    def run(self, cell, seconds):
        """Run a cell with `seconds` of load, the weight included; add its row and return it. If
        nothing failed, but not all connections were open, or the run was disturbed, measure once
        more. An error is a row, too, and does not end the run. Raises OSError when the row cannot
        be written."""
        left_out = self.dropped.get((cell.experiment.name, cell.server.name))
        if left_out:
            return self.skip(cell, *left_out)
        row = self._row(cell)
        try:
            if why := self._measure(cell, seconds, row):
                row = self._row(cell)
                again = self._measure(cell, seconds, row)
                row["note"] = "; ".join(filter(None, (row["note"], f"measured again: {why}")))
                if again:
                    self.problems.append(f"{cell.label}: {row['note']}")
        except (servers.ServerError, WrongAnswer) as why:
            status = "wrong answer" if isinstance(why, WrongAnswer) else "not started"
            row.update(status=status, note=str(why))
            self.dropped[cell.experiment.name, cell.server.name] = status, str(why)
            self.problems.append(f"{cell.experiment.name}: {cell.server.name} "
                                 f"is left out, {status}: {why}")
        except (load.LoadError, OSError) as why:    # such as no more processes
            row.update(status="no figure", note=str(why))
            self.problems.append(f"{cell.label}: {why}")
        self.folder.add(row)
        return row

    def _measure(self, cell, seconds, row):
        """Measure a cell and fill `row`. Return in words why to measure it again: nothing was lost,
        but there is no figure; "" if it need not be."""
        experiment, tool = cell.experiment, load.TOOLS[row["tool"]]
        with self._running(cell) as live:
            row["workers"] = live.start.workers
            redis_pid = None if live.start.redis == "none" else self.redis.pid
            metered = cell.server.metered
            with cpu_meter.of_tree(live.pid) if metered else contextlib.nullcontext() as cpu:
                self._check(cell, live)
                self._warm_up(cell, live)
                costs = cost_meter.CostMeter(
                    live, redis_pid, experiment.holds_connections, cpu, self.machine.load_cores)
                row["descriptor_limit"] = procfs.descriptor_limit(live.pid)
                row["start_ms"] = 1000 * procfs.cpu_time(procfs.tree(live.pid))
                job = job_of(cell, live, seconds, self.machine, self.settings.full,
                             tool)
                told = {}   # what a study counts while the load runs; others count nothing
                with experiment.beside(cell, live, told) as seen:
                    costs.begin(job.least_seconds, longer=bool(job.requests),
                                opened=job.seconds - job.opening if job.opening else None)
                    result = self.load(tool.name, job, self.machine.load_cores,
                                       costs.tick if metered else None)
                    costs.end(result)
                    seen.append(result)
            live.stop()
            if told:    # only in a study, and those run on one machine
                self.folder.add_counted(row, told)
            again = self._fill(row, cell, live, costs, result)
            width = min(job.threads, len(self.machine.load_cores)) if tool.threaded else 1
            row["limit"], row["evidence"] = bottleneck.judge(row, tool, width)
            void(row)
            row["raw"] = self.folder.write_raw(f"{self.order:04}_{cell.label}.txt", "\n".join([
                f"server, on cores {sorted(live.start.cores)}:",
                "$ " + " ".join(live.argv), live.log(),
                f"load, on cores {sorted(self.machine.load_cores)}:",
                "$ " + result.command, result.output]))
            return again

    def _check(self, cell, live):
        """Raise WrongAnswer unless the server does the work. A floor sends constant bytes for every
        path."""
        get = client(live.port)
        if cell.server.kind != "floor":
            cell.experiment.check(get)
        elif get("/")[0] != 200:
            raise WrongAnswer("its status is not 200")

    def _warm_up(self, cell, live):
        """Let a just-in-time compiler see what it will have to do, and each worker of ours, or of a
        variant, serve before it counts: its first answer costs page faults, and a connection to
        Redis. Workers that wait in accept(2) take turns, so one client reaches all of a pool.
        Memory that 04, 06 and 07 use again is there after as many clients at a time as the load
        will have, of which WARM_CLIENTS will do; where connections are held open, their memory is
        measured, and has to be new."""
        path = cell.experiment.path_of(cell.variant)
        if cell.server.model == servers.POOL:
            get = client(live.port)
            for _ in range(WARM * sum(one.threads for one in procfs.tree(live.pid))):
                get(path)
                live.before += 1
        elif cell.server.reuses and not cell.experiment.holds_connections:
            clients = SHARERS if cell.experiment.open_loop else cell.x
            _ask_together(live, path, min(clients, cell.server.at_a_time, WARM_CLIENTS))
        if cell.server.warm_up:
            job = load.Job(live.url(path), connections=20, seconds=cell.server.warm_up,
                           keep_alive=cell.variant.keep_alive)
            self.load("wrk", job, self.machine.load_cores)

    def _fill(self, row, cell, live, costs, result):
        """Put what was found into the row; return what _measure() does."""
        values = costs.finish()
        status, notes, again = self._judge(row["tool"], cell, live, costs, result, values)
        row.update(
            status=status, requests=result.good, served=live.served, note="; ".join(notes),
            **{key: getattr(result, key) for key in (
                "seconds", "rate", "failed", "timeouts", "unfinished", "failed_percent",
                "sent_rate", "lag_percent")},
            mean_ms=result.mean, p50_ms=result.p50, p99_ms=result.p99, max_ms=result.max,
            **{**values, **result.extra})
        if status == "crashed":
            self.problems.append(f"{cell.label}: {notes[0]}")
        return again

    @staticmethod
    def _judge(tool, cell, live, costs, result, values):
        """Return (the status of a run with this load.Result and these `values` of its CostMeter,
        [its notes], why it is to be measured again or "")."""
        notes = list(dict.fromkeys(result.notes))
        status = "lossy" if result.failed or result.unfinished else "ok"
        if live.exit.early:
            status = "crashed"
            notes.insert(0, f"the server ended by itself: {live.exit}")
        elif live.exit.code == -signal.SIGKILL:
            notes.append("the server had to be killed at the end")
        unseen = costs.answered - result.good
        # One for each client is under way when a closed loop ends.
        if unseen > (0 if cell.experiment.open_loop else cell.x) + cost_meter.CHECKS:
            notes.append(f"{tool} saw {unseen:,} fewer answers than "
                         "the server gave, among which its cost is divided")
        if status == "ok" and (again := not_opened(tool, result.opens, values, costs.made)):
            return "not opened", [rundir.NOT_MEASURED + again, *notes], again
        held, foreign = values.get("open_connections"), values.get("foreign") or 0.0
        blind = cell.experiment.holds_connections and cell.server.metered and held is None
        whole = status == "ok"      # nothing failed: if it was disturbed, measure again
        if held is not None and held < ALL * result.opens:
            notes.append(f"it held {held:,} of {result.opens:,} connections open")
            status = "lossy" if status == "ok" else status
        if status != "crashed" and (blind or status == "lossy" and foreign > LOSSY_FOREIGN):
            why = disturbance(foreign)
            return "disturbed", [rundir.NOT_MEASURED + why, *notes], why if whole else ""
        return status, notes, ""

    def count_calls(self, experiment, server, variant):
        """Count the system calls of a server, in a pass of its own: of an equal rate, under the
        load and the name of the experiment whose requests it has."""
        if (experiment.name, server.name) in self.dropped:
            return
        experiment = experiment.of or experiment
        cell = plan.Cell(experiment, server, variant, experiment.calls_at)
        tool = tool_for(experiment, self.settings.tool, variant)
        cores = self.machine.load_cores
        try:
            with self._running(cell) as live:
                self._warm_up(cell, live)
                job = experiment.job(live, variant, cell.x, plan.CALLS_SECONDS, self.machine, False)
                calls = syscalls.count(live, cores, lambda: self.load(tool, job, cores).good)
        except (servers.ServerError, WrongAnswer, load.LoadError, strace.StraceError,
                OSError) as error:
            whose = "" if isinstance(error, load.LoadError) else f" of {server.name}"
            said = f"{experiment.name}: system calls{whose} were not counted: {error}"
            self.problems += [said] if said not in self.problems else []
            return
        self.folder.add_calls(experiment.name, variant.name, server.name, "strace", calls)
