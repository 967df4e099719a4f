"""The requests of an experiment at a rate that all seven can answer.

In a closed loop a fast server gets more requests, and a busy one can handle several of them
together. So each server's cost is measured at a different load. Here requests are due at the same
times for all servers, and the time of each request counts from when it is due. Costs are compared
at this rate. In a quick run, the experiment's own load is only drawn.
"""

import copy
import dataclasses

from tools.bench import load
from tools.bench.experiments import Experiment
from tools.bench.experiments.five import CALLS

TOOLS = ("oha", "httperf")      # httperf is packaged more often, but has no percentiles


class EqualRate(Experiment):
    """The same requests as those of the Experiment `of`, at one x: its equal rate. It has the keys
    of that one's TOML file, but not the methods of its class. Its rows are named NAME-rate."""

    def __init__(self, of):     # pylint: disable=super-init-not-called
        rate = of.equal_rate
        vars(self).update(
            vars(of), of=of, name=f"{of.name}-rate", title=f"{of.title} at {rate:,}/s",
            question="What does a request cost, and how long does it take, if all servers get "
            "the same load?", open_loop=True, reference=rate, x_title="requests/s demanded",
            x_short="requests/s demanded", unit="requests/s", leads="cpu_us", tools=TOOLS,
            seconds_full=1.0, weight=0.75, equal_rate=0, published=None,
            variants=[dataclasses.replace(one, tool="", quick=(rate,), full=(rate,))
                      for one in of.variants if not one.many_workers])

    def equipped(self, lacking):
        """Return a copy whose default tool is the first of TOOLS that the load's host has."""
        mine = copy.copy(self)
        mine.tools = sorted(TOOLS, key=lambda name: bool(lacking(name)))    # False comes first
        return mine

    def obstacle(self, server, x, machine):
        """Return "": x is a rate here, so the limits on connections do not apply."""
        return ""

    def check(self, get):
        self.of.check(get)

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load.Job of x requests a second; kept connections have CALLS requests each, as
        in E5, or as many as the tool likes."""
        calls = CALLS if variant.keep_alive else 1
        return load.demanded(
            live.url(self.path_of(variant)), x / calls, seconds, variant.keep_alive, calls=calls,
            threads=len(machine.load_cores), timeout=5.0 if full else 2.0)
