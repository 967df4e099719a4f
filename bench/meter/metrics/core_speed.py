"""How fast the cores were: in a virtual machine, they are not always."""

import os

from bench.meter import calibration as core_gauge
from bench.meter.metrics import Base, Column


class Metric(Base):
    """The gauge just before the load and just after it, see core_gauge.py."""

    columns = (Column("gauge_ms", "core gauge", "ms", 2,
                      "a fixed piece of work on the server's core before and "
                      "after the load; what takes longer than elsewhere in "
                      "the run was measured on a slower core"),
               Column("load_gauge_ms", "load core gauge", "ms", 2,
                      "the same on a core of the load tool and Redis, which "
                      "is as often the one that limits"))

    def begin(self, watch):
        """Before the load."""
        self.times = {key: [core_gauge.measure(core)]
                      for key, core in self._cores(watch).items()}

    def end(self, watch):
        """After it."""
        for key, core in self._cores(watch).items():
            self.times[key].append(core_gauge.measure(core))

    def finish(self, watch):
        """Return the means; None where all share the server's cores."""
        return {column.key: sum(self.times[column.key]) / 2
                if column.key in self.times else None
                for column in self.columns}

    @staticmethod
    def _cores(watch):
        """Return {column: core}, one of each kind."""
        mine = watch.live.start.cores
        others = os.sched_getaffinity(0) - mine
        return {"gauge_ms": min(mine),
                **({"load_gauge_ms": min(others)} if others else {})}
