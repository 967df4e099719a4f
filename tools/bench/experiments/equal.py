"""The requests of an experiment at a rate that all servers can answer.

In a closed loop a fast server gets more requests, and a busy one can handle several of them
together. So each server's cost is measured at a different load. Here requests are due at the same
times for all servers. Costs are compared at this rate. In a quick run, the experiment's own load is
only drawn.
"""

import contextlib
import copy
import dataclasses

from tools.bench import load
from tools.bench.experiments import OPENED_A_SECOND, Experiment
from tools.bench.experiments.five import CALLS
from tools.bench.load import idle
from tools.kit.servers import LOOP, SEQUENTIAL

TOOLS = ("oha", "h2load-rate")      # h2load is packaged more often
ASK = 100                           # kept connections that ask, where others are idle


class EqualRate(Experiment):
    """The same requests as those of the Experiment `of`, at one x: its equal rate. It has the keys
    of that one's TOML file, but not the methods of its class. Its rows are named NAME-rate. If `of`
    holds connections open, all but ASK of them are idle."""

    def __init__(self, of):     # pylint: disable=super-init-not-called
        rate, self.idle = of.equal_rate, of.reference - ASK if of.holds_connections else 0
        idle_ones = f", {self.idle:,} idle" if self.idle else ""
        vars(self).update(
            vars(of), of=of, name=f"{of.name}-rate", title=f"{of.title} at {rate:,}/s{idle_ones}",
            question="What does a request cost, and how long does it take, if all servers get "
            "the same load?", open_loop=True, holds_connections=False, reference=rate,
            x_title="requests/s demanded", x_short="requests/s demanded", unit="requests/s",
            leads="cpu_us", tools=TOOLS, seconds_full=1.0, weight=0.75, equal_rate=0,
            published=None, variants=[
                dataclasses.replace(one, tool="", quick=(rate,), full=(rate,))
                for one in of.variants if not one.many_workers and not one.pause])

    def equipped(self, lacking, asked):
        """Return a copy whose tool is the one `asked` for, or the first of TOOLS that the load's
        host has."""
        mine = copy.copy(self)
        there = [name for name in TOOLS if not lacking(name)] or TOOLS
        mine.tools = [asked if asked in TOOLS else there[0]]
        return mine

    def applies(self, server, variant):
        """As elsewhere; but an idle connection holds a process or thread of 01 to 05, so these
        would answer nobody else."""
        ours = server.kind == "architecture"
        return (super().applies(server, variant)
                and not (ours and self.idle and server.model != LOOP)
                and not (variant.keep_alive and self._lets_go(server)))

    def _lets_go(self, server):
        """Return whether the tool keeps no rate on kept connections, because this server closes
        them: 01 does when another client waits, and then h2load asks again without a pause."""
        return (self.tools[0] == "h2load-rate" and server.kind == "architecture"
                and server.model == SEQUENTIAL)

    def left_out(self, some):
        """01 on kept connections, where oha is missing."""
        kept = not self.idle and any(one.keep_alive for one in self.variants)
        return [f"{server.name} on kept connections at an equal rate: oha is not installed: "
                + load.TOOLS["oha"].remedy for server in some if kept and self._lets_go(server)]

    def obstacle(self, server, x, machine):
        """Return why the idle connections are beyond the machine's limits, "" if they are not. x is
        a rate here."""
        return super().obstacle(server, self.idle, machine)

    def opening(self, x):
        """As elsewhere, of the idle connections."""
        return self.idle / OPENED_A_SECOND

    def check(self, get):
        self.of.check(get)

    @contextlib.contextmanager
    def beside(self, cell, live, told):
        """Hold the idle connections open."""
        with idle.held(live.port, self.idle) if self.idle else contextlib.nullcontext():
            yield []

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load.Job of x requests a second; kept connections have CALLS requests each, as
        in E5, or as many as the tool likes."""
        calls = CALLS if variant.keep_alive else 1
        return load.demanded(
            live.url(self.path_of(variant)), x / calls, seconds, variant.keep_alive, calls=calls,
            threads=len(machine.load_cores), timeout=5.0 if full else 2.0)
