"""A fleet, and its Runner: a session uses them like its own machine.

A cell is run by a cells.Runner on the server's host, as on one machine. Only the load is
not: there the Runner asks the session, which has the generators.
"""

import contextlib
import hashlib
import os
import pathlib
import time
from dataclasses import replace
from types import SimpleNamespace

from tools.bench import load, plan
from tools.bench.machine import facts, preflight, quiet
from tools.bench.run import cell as cells
from tools.fleet import agent, inventory
from tools.fleet.hosts import Host, HostError
from tools.fleet.load import Generators
from tools.kit import TOP, procfs, redis, scratch, sources

BOOT = "/proc/sys/kernel/random/boot_id"
LONG = 3600.0           # seconds to build servers, or for a cell
EVERYWHERE = "0.0.0.0"
OF_ONE = ("cores", "network of its own", "descriptor limit")    # findings


# ------------------------------------------------------------- on other hosts

class Parcel:
    """Collects what a Runner puts into the folder of a run."""

    def __init__(self):
        self.rows, self.calls, self.raw = [], [], []
        self.add = self.rows.append

    def add_calls(self, *what):
        """Collect counted calls."""
        self.calls.append(what)

    def write_raw(self, name, text):
        """Collect a file; return its path inside the folder."""
        self.raw.append((name, text))
        return f"raw/{name}"


def on_server(runner, method, *args):
    """Call a method of a cells.Runner on the server's host; return the Runner, changed."""
    runner.load = lambda name, job, _cores, tick=None: agent.ask(name, job, tick=tick)
    getattr(runner, method)(*args)
    runner.load = load.run
    return runner


def run_redis(address, cores):
    """Run a private Redis until the session has gone; return its (HOST:PORT, pid)."""
    one = agent.kept.enter_context(redis.RedisServer(cores, address))
    return one.address, one.pid


def cpu_of(pid):
    """Return the CPU seconds of a process tree."""
    return procfs.cpu_time(procfs.tree(pid))


def hash_of_sources():
    """Return a hash of what has to be the same on all hosts."""
    found = hashlib.sha256(sources.hashed().encode())
    for path in sorted(pathlib.Path(TOP, "tools").glob("**/*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def pass_gate(gate):
    """Wait here until it is quiet; return the quiet.Gate, changed."""
    gate()
    return gate


# -------------------------------------------------------------- on our machine

class Fleet:
    """The hosts of an inventory, as long as the block lasts; it has what session.Here has.
    `parts` is what Redis and the load tools did in the last run, see load.Generators."""

    def __init__(self, path):
        """Raises inventory.Mistake."""
        self.told = inventory.read(path)
        self.stack, self.generators = contextlib.ExitStack(), None
        self.redis_address = self.redis_pid = None
        self.parts, self.needs_redis = [], False

    def __enter__(self):
        """Reach all hosts. Raises HostError."""
        with self.stack as stack:
            folder = stack.enter_context(scratch.folder("fleet"))
            (self.server, *_), (self.redis, *_), self.load = (
                [stack.enter_context(Host(name, told, folder))
                 for name, told in self.told[group].items()] for group in inventory.NEEDED)
            self.all = [self.server, self.redis, *self.load]
            for one in self.all:
                if one.call(hash_of_sources) != hash_of_sources():
                    raise HostError(f"{one.name} has other sources than this machine: "
                                          "commit changes, then bring them there (make fleet)")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        if self.generators:     # first: the stack ends the connection that they share
            self.generators.close()
        self.stack.close()

    def call(self, function, *args):
        """Call a function on the server's host."""
        return self.server.call(function, *args, seconds=LONG)

    def lacking(self, tool):
        """Return how to install a load tool, "" if all load hosts have it."""
        return next(filter(None, (one.call(load.missing, tool) for one in self.load)), "")

    def layout(self, settings):
        """Share out the cores; return the facts.Machine for the plan. Hosts that are one
        machine share its cores as server and load do without a fleet."""
        found = {one: one.call(facts.layout, settings.server_cores, settings.load_cores)
                 for one in self.all}
        boot = {one: one.call(procfs.read, BOOT) for one in found}
        self.together = [one for one in found if boot[one] == boot[self.server]]
        self.cores = {one: machine.load_cores if one in self.together or settings.load_cores
                      else machine.all_cores for one, machine in found.items()}
        machine = replace(found[self.server], load_hosts=len(self.load), descriptors=min(
            one.descriptors for one in found.values()))
        self.generators = Generators({one: self.cores[one] for one in self.load},
                                     machine.descriptors)
        return machine

    def findings(self, machine, clients):
        """Return the preflight.Findings for `clients` at a time."""
        same = ", ".join(one.name for one in self.together)
        return [preflight.Finding(
            "hosts", f"server {self.server.name}, Redis {self.redis.name}, "
            f"load {', '.join(one.name for one in self.load)}",
            f"{same} are one machine and share its cores: this shows that the measurement "
            "works, not how fast a server is" if len(self.together) > 1 else ""),
            *(one for one in self.call(preflight.look, machine, clients, "it is the host's")
              if one.what not in OF_ONE)]

    def gate(self, machine, limit):
        """Return a function that waits until the server's host is quiet, as quiet.Gate."""
        gate = quiet.Gate(machine, limit)

        def wait():
            nonlocal gate
            if self.server.line:
                gate = self.call(pass_gate, gate)
        return wait

    @contextlib.contextmanager
    def runner(self, *what):
        """Return a Runner while Redis runs."""
        self.start_redis()
        yield Runner(self, *what)

    def start_redis(self):
        """Have a new Redis. Raises RedisError and HostError."""
        self.redis_address, self.redis_pid = self.redis.call(
            run_redis, self.redis.address, self.cores[self.redis])

    def ready(self, cell):
        """Have all hosts ready for a cell, also those that dropped out. Raises HostError."""
        self.parts, self.needs_redis = [], cell.experiment.needs_redis
        if not self.redis.line:
            self.redis.__enter__()
            self.start_redis()
        if not self.server.line:
            self.server.__enter__()
        self.server.call(os.sched_setaffinity, 0, self.cores[self.server])
        self.generators.ready(1 if cell.experiment.open_loop else cell.x)

    def run(self, name, job):
        """Return the load.Result of all generators for a job of the server's host. Raises HostError
        and LoadError."""
        job = replace(job, url=job.url.replace("//127.0.0.1:", f"//{self.server.address}:"))
        before, begun = self.redis.call(cpu_of, self.redis_pid), time.monotonic()
        result, self.parts = self.generators.run(name, job)
        wall = time.monotonic() - begun
        if self.needs_redis:
            busy = 100 * (self.redis.call(cpu_of, self.redis_pid) - before) / wall
            result.extra["redis_busy"] = busy
            self.parts.append({"host": self.redis.name, "role": "redis", "busy": busy})
        return result


class Runner(cells.Runner):
    """Runs each cell by a cells.Runner on the server's host."""

    def __init__(self, fleet, settings, machine, folder):
        super().__init__(settings, machine, None, folder)
        self.fleet = fleet

    def run(self, cell, seconds):
        """As cells.Runner. Raises HostError when a host that dropped out cannot be reached
        again."""
        self.fleet.ready(cell)
        try:
            [row] = self._there("run", cell, seconds).rows
        except HostError as why:
            self.problems.append(f"{cell.label}: {why}")
            return self.skip(cell, "no figure", str(why))
        row["host"] = self.fleet.server.name
        self.folder.add(row)
        self.folder.add_hosts(row, [{"host": row["host"], "role": "server",
                                     "busy": row.get("server_busy")}, *self.fleet.parts])
        return row

    def count_calls(self, experiment, server, variant):
        """As cells.Runner."""
        asked = experiment.of or experiment
        self.fleet.ready(plan.Cell(asked, server, variant, asked.calls_at))
        try:
            for calls in self._there("count_calls", experiment, server, variant).calls:
                self.folder.add_calls(*calls)
        except HostError as why:
            self.problems.append(f"{experiment.name}: system calls of {server.name} were not "
                                 f"counted: {why}")

    def _there(self, method, *args):
        """Have a Runner on the server's host call a method; return its Parcel. Raises HostError."""
        there = cells.Runner(self.settings, self.machine, SimpleNamespace(
            address=self.fleet.redis_address, pid=None), Parcel())
        there.order, there.dropped, there.host = self.order, self.dropped, EVERYWHERE
        there = self.fleet.server.call(on_server, there, method, *args, serve=self.fleet.run,
                                       seconds=LONG)
        self.order, self.dropped = there.order, there.dropped
        self.problems += there.problems
        for name, text in there.folder.raw:
            self.folder.write_raw(name, text)
        return there.folder
