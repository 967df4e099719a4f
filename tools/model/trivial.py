"""Two predictions that need no queues. A model that is no better than these explains nothing."""

import statistics

from tools.model.model import demands

WAYS = ("model", "constant", "bound")


def bound(costs, setting):
    """Return the pages a second that no server with these costs exceeds: one over the busiest
    station, all workers or all clients over the time of a page that never waits (Lazowska et al.,
    chapter 5). Raises ValueError as model.demands() does."""
    need = demands(costs, setting)
    shared = need.redis if setting.machines > 1 else need.redis + need.load
    stations = (need.server / setting.used_cores, shared, need.load / setting.machines)
    inside = need.server + need.redis + need.delay
    return min(1 / max(stations), setting.slots / inside, setting.clients / (inside + need.load))


def errors(points):
    """Return {one of WAYS: by how many per cent its rate is off, in the middle}, from the points
    of a curve of the summary. The constant is the rate of the first point, which calibrated the
    model; so all are judged by the points after it. {} without a second point or a prediction."""
    known = [point for point in points if point["rate"] and "predicted" in point]
    if len(known) < 2:
        return {}
    first = known[0]["rate"]["middle"]
    return {way: statistics.median(
        100 * abs(told(point) / point["rate"]["middle"] - 1) for point in known[1:])
            for way, told in zip(WAYS, (
                lambda point: point["predicted"], lambda _: first, lambda point: point["bound"]))}
