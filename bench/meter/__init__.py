"""What a server costs: the only place that reads /proc and control groups.

costs.CostMeter runs the metrics of costs.METRICS around one load. Each metric
is a class below, in the module of its subject.
"""


class Metric:
    """A metric that does nothing; the others inherit from it. `watch` is the costs.Watch of
    the run. All methods but finish() run while the server is alive, and none of them may
    keep its core busy."""

    def begin(self, watch):
        """Look at the idle server just before the load starts."""

    def sample(self, watch):
        """Look at the server under load, twice a second at most."""

    def end(self, watch):
        """Look at the server when the load tool has ended."""

    def finish(self, watch):
        """Return {column: value} when the server has ended; store/columns.toml says what
        each column means. A value that is not known is left out, or None."""
        return {}
