"""What tables and charts read from the points of a summary."""

from bench.analyse.sentences import WHOLE_CORE as BUSY


def figure(point, key):
    """Return (median, low, high) of a figure of a point, None without it.

    key     "rate" (requests/s), "cpu_us" (microseconds of CPU a request), or
            "can_do" (requests/s that one core can do at that cost)
    low, high   the interval of the median; with too few rounds for one, the
            median itself
    """
    if key == "can_do":
        cost = figure(point, "cpu_us")
        return cost and (1e6 / cost[0], 1e6 / cost[2], 1e6 / cost[1])
    if not point["rate"]:
        return None
    median = point["rate"]["median"] if key == "rate" \
        else point["values"].get(key)
    return median and (median, *(point["intervals"][key] or [median] * 2))


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
