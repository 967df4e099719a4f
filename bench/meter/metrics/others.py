"""Who else used the cores: Redis, and programs that have no business here."""

from bench.meter import procfs
from bench.meter.metrics import Base, Column


class Metric(Base):
    """CPU of the private Redis, and foreign work on the server's cores."""

    columns = (
        Column("redis_busy", "Redis busy", "%", 0,
               "CPU time of Redis over wall time; it has one thread"),
        Column("load_cores_busy", "load cores busy", "%", 0,
               "all that ran on the cores that are not the server's; on all "
               "cores where they share them"),
        Column("foreign", "foreign load", "%", 0,
               "work on the server's cores that was not the server's; what "
               "makes a figure noisy"),
    )

    def begin(self, watch):
        """Read the clock."""
        self.redis = self._redis(watch)

    def end(self, watch):
        """Read it again."""
        self.redis = self._redis(watch) - self.redis

    def finish(self, watch):
        """Return shares of the wall time."""
        ours = watch.live.start.cores
        busy = {core: sum(times) for core, times in watch.core_times.items()}
        rest = [seconds for core, seconds in busy.items() if core not in ours]
        mine = [seconds for core, seconds in busy.items() if core in ours]
        values = {"redis_busy": 100 * self.redis / watch.wall
                  if watch.redis_pid else None}
        if not rest:
            values["load_cores_busy"] = 100 * sum(mine) / (watch.wall
                                                           * len(mine))
        else:
            values["load_cores_busy"] = 100 * sum(rest) / (watch.wall
                                                           * len(rest))
            # Only where the load has cores of its own can it be told apart.
            foreign = sum(mine) - watch.busy_cpu
            values["foreign"] = max(0.0, 100 * foreign
                                    / (watch.wall * len(mine)))
        return values

    @staticmethod
    def _redis(watch):
        if not watch.redis_pid:
            return 0.0
        return sum(procfs.cpu_time([procfs.process(watch.redis_pid)]))
