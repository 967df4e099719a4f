"""CPU time a request costs the server, children included."""

from bench.meter.metrics import Base, Column


class Metric(Base):
    """User and system time between two looks at the process tree.

    Resolution: nanoseconds in a control group, see meter.py; else nanoseconds
    for living threads, 10 ms in all for children and threads that have ended.

    How it divides into user and system is taken from the server's cores. A
    process's own division is worth nothing if it lives for milliseconds: the
    kernel samples it at its clock tick, and what was never hit counts as
    user time. Only where others use these cores too is it taken from wait4.
    """

    columns = (
        Column("cpu_us", "CPU", "us/request", 1,
               "user and system time of the server and all its children"),
        Column("cpu_user_us", "user", "us/request", 1, "outside the kernel"),
        Column("cpu_system_us", "system", "us/request", 1,
               "inside system calls and page faults"),
        Column("server_busy", "server core busy", "%", 0,
               "CPU time of the server over the time of its cores"),
        Column("load_busy", "load tool busy", "%", 0,
               "CPU time of the load tool over wall time; one thread can "
               "reach 100"),
    )

    def finish(self, watch):
        """Return the cost of a request."""
        total = watch.server_cpu
        load = watch.load
        each = 1e6 * total / watch.answered if watch.answered else None
        share = self._user_share(watch)
        cores = len(watch.live.start.cores)
        return {
            "cpu_us": each,
            "cpu_user_us": each * share if each is not None else None,
            "cpu_system_us": each * (1 - share) if each is not None else None,
            # Clock ticks of 10 ms can make a little more than there is.
            "server_busy": min(100.0, 100 * watch.busy_cpu
                               / (watch.wall * cores)),
            "load_busy": 100 * load.cpu / load.wall if load.wall else None,
        }

    @staticmethod
    def _user_share(watch):
        """Return which part of the CPU time was user time, 0 to 1."""
        cores = [watch.core_times.get(core, (0.0, 0.0))
                 for core in watch.live.start.cores]
        user, system = (sum(times) for times in zip(*cores))
        if user + system <= 1.15 * watch.server_cpu + 0.02:
            return user / (user + system) if user + system else 0.0
        usage = watch.live.exit.usage
        both = usage.ru_utime + usage.ru_stime
        return usage.ru_utime / both if both else 0.0
