"""Page faults a request costs the server: fork pays in these."""

from bench.meter.metrics import Base, Column


class Metric(Base):
    """Minor and major faults, those of reaped children included."""

    columns = (Column("faults", "page faults", "/request", 2,
                      "pages touched for the first time or copied after "
                      "fork"),)

    def begin(self, watch):
        """Count."""
        self.before = sum(one.faults for one in watch.tree)

    def end(self, watch):
        """Count again."""
        self.count = sum(one.faults for one in watch.tree) - self.before

    def finish(self, watch):
        """Return faults a request."""
        if not watch.answered:
            return {}
        return {"faults": max(0, self.count) / watch.answered}
