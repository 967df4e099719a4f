"""How fast the server's core was: in a virtual machine, it is not always."""

import core_gauge
from metrics import Base, Column


class Metric(Base):
    """The gauge just before the load and just after it, see core_gauge.py."""

    columns = (Column("gauge_ms", "core gauge", "ms", 2,
                      "a fixed piece of work on the server's core before and "
                      "after the load; what takes longer than elsewhere in "
                      "the run was measured on a slower core"),)

    def begin(self, watch):
        """Before the load."""
        self.times = [self._measure(watch)]

    def end(self, watch):
        """After it."""
        self.times.append(self._measure(watch))

    def finish(self, watch):
        """Return the mean."""
        return {"gauge_ms": sum(self.times) / len(self.times)}

    @staticmethod
    def _measure(watch):
        return core_gauge.measure(min(watch.live.start.cores))
