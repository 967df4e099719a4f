"""From the rows of a run to the costs that bench/analyse/model.py predicts
with. Only cells with few clients count; all else is prediction."""

import statistics

from bench.analyse.model import TRIPS, WORKERS

MOST = 20       # clients of a cell that counts; idle ones come in addition
KINDS = {("guestbook", None): "guestbook",
         ("answer", "new connections"): "answer",
         ("answer", "keep-alive"): "answer kept"}


def calibrate(rows, costs):
    """Return `costs` with what rows of samples.csv tell: CPU times, the delay
    of a wake-up, poll's scan. Only rows of guestbook and answer with at most
    MOST clients count, and rows of poll whose other clients are idle. Raises
    ValueError when there are none."""
    cells = {}      # {(server, page, clients): [row, ...]}
    for row in rows:
        page = KINDS.get((row["experiment"], row["variant"] or None))
        if page and row["rate"] and row["x"] <= MOST \
                and row["server"] in WORKERS:
            cells.setdefault((row["server"], page, row["x"]), []).append(row)
    if not cells:
        raise ValueError("no row has guestbook or answer with at most "
                         f"{MOST} clients")
    found = {"machine": dict(costs["machine"]), "servers": {}}
    for (server, page, _), some in sorted(cells.items()):   # the most last
        rate = middle(some, "rate")
        found["servers"].setdefault(server, {})[page] = {
            "server_us": round(middle(some, "cpu_us"), 3),
            "redis_us": round(1e4 * middle(some, "redis_busy") / rate, 3)
            if page in TRIPS else 0.0,
            "load_us": round(1e4 * middle(some, "load_busy") / rate, 3)}
    one = max((key for key in cells if key[:2] == ("iterative", "guestbook")),
              default=None)
    if one and one[2] > 1:      # its only worker is always occupied
        cost, rate = found["servers"]["iterative"]["guestbook"], \
            middle(cells[one], "rate")
        slower = 1 + min(1, 1e-6 * rate * cost["load_us"])
        found["machine"]["wake_us"] = round(max(0.0, (
            1e6 / rate - cost["server_us"] - cost["redis_us"] * slower)
            / TRIPS["guestbook"]), 3)
    scans = list(scan_costs(rows))
    if scans:
        found["machine"]["scan_us"] = round(statistics.median(scans), 4)
    return {**costs, **found}


def middle(rows, key):
    """Return the median of a column, 0 without figures."""
    return statistics.median([row[key] for row in rows
                              if row.get(key) is not None] or [0.0])


def scan_costs(rows, busy=10):
    """Yield what poll takes for each idle descriptor (us), from the study of
    idle connections with `busy` clients that ask."""
    mine = [row for row in rows if row["experiment"] == "idle-connections"
            and row["server"] == "poll" and row["rate"]]
    least = min((row["x"] for row in mine), default=0)
    base = middle([row for row in mine if row["x"] == least], "cpu_us")
    for row in mine:
        # Little's law: those that are not at the load tool share a turn.
        ready = max(1.0, busy - row["load_busy"] / 100)
        if row["x"] >= 1000:
            yield max(0.0, row["cpu_us"] - base) * ready / row["x"]
