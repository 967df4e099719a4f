"""The requests of an experiment at a rate that all servers can answer.

In a closed loop a fast server gets more requests, and a busy one can handle several of them
together. So each server's cost is measured at a different load. Here requests are due at the same
times for all servers. Costs are compared at this rate. In a quick run, the experiment's own load is
only drawn, or, without `quick` points, not measured.
"""

import contextlib
import copy
import dataclasses

from tools.bench import load
from tools.bench.experiments import OPENED_A_SECOND, Experiment
from tools.bench.experiments.five import LOOP_TAKES
from tools.bench.load import idle
from tools.bench.load.base import SHARERS

RATE_TOOLS = ("oha", "h2load-rate")     # the first is preferred, the second is packaged


class EqualRate(Experiment):
    """The same requests as those of the Experiment `of`, at one x: its equal rate. It has the keys
    of that one's TOML file, but not the methods of its class. Its rows are named NAME-rate. If `of`
    holds connections open, as many are open here, and all but SHARERS are idle: for this, a
    server takes part only if it has room for them."""

    def __init__(self, of):     # pylint: disable=super-init-not-called
        rate = of.equal_rate
        self.idle = max(0, of.reference - SHARERS) if of.holds_connections else 0
        idle_ones = f", {self.idle:,} idle" if self.idle else ""
        vars(self).update(
            vars(of), of=of, name=f"{of.name}-rate", title=f"{of.title} at {rate:,}/s{idle_ones}",
            question="What does a request cost, and how long does it take, if all servers get "
            "the same load?",
            holds_connections=False,    # of the tool, that is: those of idle.held() are idle
            open_loop=True, reference=rate, unit="requests/s",
            x_title="requests/s demanded", x_short="requests/s demanded",
            leads="cpu_us", tools=RATE_TOOLS, seconds_full=1.0, weight=0.75, equal_rate=0,
            published=None, variants=[
                dataclasses.replace(one, tool="", quick=(rate,), full=(rate,))
                for one in of.variants if not one.many_workers and not one.pause])

    def equipped(self, lacking, asked):
        """Return a copy whose tool is the one `asked` for, or the first of RATE_TOOLS that the
        load's host has."""
        mine = copy.copy(self)
        there = [name for name in RATE_TOOLS if not lacking(name)] or [RATE_TOOLS[-1]]
        mine.tools = [asked if asked in RATE_TOOLS else there[0]]
        return mine

    def applies(self, server, variant):
        """As elsewhere, if the server has room for the idle connections, and does not close kept
        ones where the tool needs them open."""
        return (super().applies(server, variant) and server.at_a_time > self.idle
                and not (variant.keep_alive and self._breaks_the_rate(server)))

    def _breaks_the_rate(self, server):
        """Return whether this server closes kept connections, so that the tool keeps no rate: 01
        does when another client waits."""
        return load.TOOLS[self.tools[0]].needs_kept and server.at_a_time == 1

    def left_out(self, some):
        """01 on kept connections, and what has no room for the idle ones."""
        full = [one.name for one in some if one.at_a_time <= self.idle]
        if full:
            return [f"{self.name} of {', '.join(full)}: an idle connection holds a process or "
                    "thread there"]
        kept = any(one.keep_alive for one in self.variants)
        return [f"{one.name} on kept connections at an equal rate: it closes some, and h2load "
                f"keeps no rate then. oha does: {load.TOOLS['oha'].remedy}"
                for one in some if kept and self._breaks_the_rate(one)]

    def obstacle(self, server, x, machine):
        """Return why the open connections are beyond the machine's limits, "" if they are not; x is
        a rate here. The idle ones are all of one process."""
        held = self.idle + SHARERS if self.idle else 0
        few = f"{held:,} connections need more descriptors than a process may have " \
            f"({machine.descriptors:,})"
        return few if held > LOOP_TAKES * machine.descriptors else ""

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
        """Return the load.Job of x requests a second. oha shares them among SHARERS
        connections, h2load-rate does if these are kept."""
        return load.demanded(
            live.url(self.path_of(variant)), x, seconds, variant.keep_alive,
            threads=len(machine.load_cores), timeout=5.0 if full else 2.0)
