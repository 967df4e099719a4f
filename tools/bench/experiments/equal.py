"""The requests of an experiment at a rate that all seven can answer.

In a closed loop a fast server gets more requests, and a busy one can do more of them at a time: its
cost is taken at another load than that of its neighbour. Here requests are due at the same times
for all servers, and the clock of each request runs from the time at which it is due. So costs are
compared here, and the closed loop draws the published curve.
"""

import copy
import dataclasses

from tools.bench import load
from tools.bench.experiments import Experiment

TOOLS = ("oha", "httperf")      # httperf is packaged more often, but has no percentiles
CALLS = 10                      # of httperf, on each kept connection


class EqualRate(Experiment):
    """The Experiment `of`, as one whose only x is its equal rate."""

    open_loop = True
    x_title = x_short = "requests/s demanded"
    unit = "answers/s"
    seconds_full = 1.0
    weight = 0.75
    tools = TOOLS

    def __init__(self, of):     # pylint: disable=super-init-not-called
        rate = of.equal_rate
        self.of, self.name, self.title = of, f"{of.name}-rate", f"{of.title} at {rate:,}/s"
        self.question = "What does a request cost, and how long does it take, if all servers get " \
            "the same load?"
        self.path, self.needs_redis, self.reference = of.path, of.needs_redis, rate
        self.calls_at = of.calls_at     # clients that wait: rates differ under strace
        self.variants = [dataclasses.replace(one, tool="", quick=(rate,), full=(rate,))
                         for one in of.variants if not one.many_workers]

    def equipped(self, lacking):
        """Return the same, led by the first of TOOLS that is not `lacking` where the load runs."""
        mine = copy.copy(self)
        mine.tools = sorted(TOOLS, key=lambda name: bool(lacking(name)))
        return mine

    def obstacle(self, server, x, machine):
        """A rate is no number of connections."""
        return ""

    def check(self, get):
        self.of.check(get)

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load.Job of x requests a second; kept connections have CALLS requests each, as
        in E5, or as many as the tool likes."""
        calls = CALLS if variant.keep_alive else 1
        return load.demanded(live.url(self.path_of(variant)), x / calls, seconds,
                             variant.keep_alive, calls=calls)
