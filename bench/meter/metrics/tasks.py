"""How many processes and threads the server had at its peak."""

from bench.meter.metrics import Base, Column


class Metric(Base):
    """The largest number seen."""

    columns = (
        Column("processes", "processes", "at peak", 0),
        Column("threads", "threads", "at peak", 0,
               "of all its processes together"),
    )

    def begin(self, watch):
        """Begin with those that were there before the load."""
        self.processes = self.threads = 0
        self.sample(watch)

    def sample(self, watch):
        """Look whether there are more; zombies are no longer processes."""
        alive = [one for one in watch.tree if one.state != "Z"]
        self.processes = max(self.processes, len(alive))
        self.threads = max(self.threads, sum(one.threads for one in alive))

    def finish(self, watch):
        """Return both."""
        return {"processes": self.processes, "threads": self.threads}
