"""CPU time a request costs the server, children included."""

from metrics import Base, Column


class Metric(Base):
    """User and system time between two looks at the process tree.

    Resolution: nanoseconds for living threads, 10 ms in all for children and
    threads that have ended. How it divides into user and system comes from
    wait4 at the server's end, which is finer than the ticks of /proc.
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
        share = watch.server_user / total if total else 0.5
        ended = watch.live.exit
        if watch.live.clean and ended.cpu > total:
            share = ended.usage.ru_utime / ended.cpu
        load = watch.load
        each = 1e6 * total / load.good if load.good else None
        cores = len(watch.live.start.cores)
        return {
            "cpu_us": each,
            "cpu_user_us": each * share if each is not None else None,
            "cpu_system_us": each * (1 - share) if each is not None else None,
            "server_busy": 100 * total / (watch.wall * cores),
            "load_busy": 100 * load.cpu / load.wall if load.wall else None,
        }
