"""What tables and charts read from the points of a summary."""

from bench.analyse.sentences import WHOLE_CORE as BUSY


def rate(point):
    """Return (the median rate, or None; [low, high] of its interval)."""
    median = point["rate"] and point["rate"]["median"]
    return median, interval(point, "rate") or [median or 0] * 2


def can_do(point):
    """Return the same for the requests a second that one core can do at the
    CPU cost of a point."""
    cost = point["values"].get("cpu_us")
    low, high = interval(point, "cpu_us") or [cost or 0] * 2
    return 1e6 / cost if cost else None, \
        [1e6 / high, 1e6 / low] if low else [0, 0]


def interval(point, key):
    """Return [low, high], the interval of the median of a figure ("cpu_us" or
    "rate"), None with too few rounds for one."""
    return (point.get("intervals") or {}).get(key)


def busy(point):
    """Return whether the server's core was the limit: at least 95 % busy."""
    return (point["values"].get("server_busy") or 0) >= BUSY


def mark(point):
    """Return "lost" for a point that lost requests or runs, "load" for one
    that the load ended before the server's core was busy, else ""."""
    if point["hollow"]:
        return "lost"
    known = point["values"].get("server_busy") is not None
    return "load" if known and not busy(point) else ""


def told(figure, point):
    """Return a figure (text) with what the point lost."""
    if not point["hollow"]:
        return figure
    percent = point["values"].get("failed_percent")
    return f"{figure}, lost " + (f"{percent:.2g} %" if percent else "runs")
