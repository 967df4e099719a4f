"""What tables and charts read from the points of a summary."""

BUSY = 95.0     # per cent of its core; below that, something else was the limit


def can_do(point):
    """Return how many requests a second one core can do at the CPU cost of a
    point, None when that cost is not known."""
    cost = point["values"].get("cpu_us")
    return 1e6 / cost if cost else None


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


def interval(point, key):
    """Return [low, high], the interval of the median of a figure ("cpu_us" or
    "rate"), None with too few rounds for one."""
    return (point.get("intervals") or {}).get(key)


def lost(point):
    """Return in words what a point lost, "" for nothing."""
    if not point["hollow"]:
        return ""
    percent = point["values"].get("failed_percent")
    return f"lost {percent:.2g} %" if percent else "lost runs"
