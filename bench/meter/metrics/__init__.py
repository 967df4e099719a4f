"""What a cell costs, a file a metric.

A file here defines a class `Metric` with

    columns             (Column, ...) that it fills
    begin(self, watch)  just before the load starts
    sample(self, watch) about twice a second while it lasts
    end(self, watch)    when the load tool has ended, the server still runs
    finish(self, watch) when the server has ended: return {key: value}

`watch` is the cost_meter.Watch: it has the server (`live`), the process tree
of this moment (`tree`), whether the load holds its connections open, so that
they are to be counted (`count_connections`), the load tool's Result (`load`),
the private Redis (`redis_pid`), and from `end` on the seconds measured
(`wall`), the CPU seconds of the server (`busy_cpu`) and of each core
(`core_times`, {core: (user, system)}) in just these seconds, and what the
server used until all that it still had to do was done (`server_cpu`). In
`finish` it has the number of requests that the costs are divided among
(`answered`, None when it is not known). All methods but `finish` may
be left out by inheriting from Base. A value that is not known is None.
"""

import importlib
import pkgutil
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column of samples.csv and of the report."""

    key: str
    title: str
    unit: str = ""
    digits: int = 1
    explain: str = ""


class Base:
    """A metric that does nothing at any time."""

    columns = ()

    def begin(self, watch):
        """Called just before the load starts."""

    def sample(self, watch):
        """Called about twice a second under load."""

    def end(self, watch):
        """Called when the load tool has ended."""

    def finish(self, watch):
        """Return {key: value} for `columns`."""
        return {}


def all_metrics():
    """Return a fresh Metric of each file here, by file name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}").Metric()
            for name in names]
