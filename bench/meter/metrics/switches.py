"""Context switches a request costs the server."""

from bench.meter import procfs
from bench.meter.metrics import Base, Column


class Metric(Base):
    """Switches of the server's tree while the load lasts.

    /proc tells those of living threads only. Where processes or threads came
    and went, the figure is what wait4 reports at the server's end for all of
    them, less what had been counted before the load.
    """

    columns = (
        Column("switches", "context switches", "/request", 2,
               "voluntary (it waited) and involuntary (its time was up)"),
        Column("switches_involuntary", "involuntary", "/request", 2,
               "the scheduler took the core away"),
    )

    def begin(self, watch):
        """Count, and remember who has come and gone before."""
        self.before = self._count(watch.tree)
        self.gone = self._time_of_the_gone(watch.tree)

    def end(self, watch):
        """Count again."""
        self.after = self._count(watch.tree)
        self.gone = self._time_of_the_gone(watch.tree) - self.gone

    def finish(self, watch):
        """Return switches a request."""
        counts = [a - b for a, b in zip(self.after, self.before)]
        if self.gone > 0.02:
            if not watch.live.clean:
                return {}       # the ended ones cannot be known
            usage = watch.live.exit.usage
            counts = [usage.ru_nvcsw - self.before[0],
                      usage.ru_nivcsw - self.before[1]]
        if not watch.answered:
            return {}
        return {"switches": sum(counts) / watch.answered,
                "switches_involuntary": counts[1] / watch.answered}

    @staticmethod
    def _count(tree):
        counts = [procfs.context_switches(one.pid) for one in tree]
        return sum(c[0] for c in counts), sum(c[1] for c in counts)

    @staticmethod
    def _time_of_the_gone(tree):
        """CPU seconds of children reaped and threads ended so far."""
        total = 0.0
        for one in tree:
            total += one.reaped_user + one.reaped_system
            if one.threads <= procfs.MANY_THREADS:
                total += max(0.0, one.user + one.system
                             - procfs.run_time(one.pid))
        return total
