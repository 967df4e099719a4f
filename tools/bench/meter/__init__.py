"""What a server costs, from /proc (tools/kit/procfs.py) and control groups (cpu.py)."""


class Metric:
    """A metric that does nothing. The others inherit from it and are in costs.METRICS. `meter`
    is the costs.CostMeter of the run. All methods but finish() run while the server is alive,
    and none of them may keep its core busy."""

    def begin(self, meter):
        """Look at the idle server just before the load starts."""

    def sample(self, meter):
        """Look at the server: once idle, then under load, as often as CostMeter decides."""

    def end(self, meter):
        """Look at the server when the load tool has ended."""

    def finish(self, meter):
        """Return {column: value} when the server has ended; results/columns.toml says what
        each column means. A value that is not known is left out, or None."""
        return {}
