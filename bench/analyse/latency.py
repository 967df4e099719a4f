"""Can the percentiles of a load tool be believed? Little's law knows the mean.

In a closed loop each client always waits for one answer, so
clients = rate * mean wait. Where the tool's own mean says something else, its
percentiles describe other waits than those of its clients.
"""

import statistics

from bench.analyse.bottleneck import BUSY, LOAD

AGREES = (0.9, 1.1)
PERCENTILES = ("p50_ms", "p99_ms", "max_ms")


def judge(rows, clients, keep_alive=None):
    """Return (little, flag) of the rows of a point of a closed loop.

    little      the tool's mean * rate / clients, the median of the rows: 1
                where the law holds; None where the tool gives no mean
    flag        why percentiles are not to be read, or ""
    keep_alive  as the variant has it, None if that is not known
    """
    known = [row["mean_ms"] / 1000 * row["rate"] / clients for row in rows
             if row.get("mean_ms") and row["rate"]]
    if not known:
        return None, ""
    little = statistics.median(known)
    if AGREES[0] <= little <= AGREES[1]:
        return little, ""
    return little, (f"the mean of {rows[0]['tool']} is {little:.2f} of "
                    f"clients / rate: {_cause(rows, little, keep_alive)}")


def _cause(rows, little, keep_alive):
    """Return where the time went, as far as the rows tell."""
    if any(row["status"] == "lossy" for row in rows):
        return "requests were lost"
    if little > 1:
        return "it is corrected for coordinated omission" \
            if rows[0]["tool"] == "wrk" else \
            "it counts more than its clients can have waited"
    if any(row.get("limit") in LOAD
           or (row.get("load_cores_busy") or 0) >= BUSY for row in rows):
        return "the tool is busy and does not count the time until it sends"
    return "it does not count the time to connect" if keep_alive is False \
        else "with kept connections it counts only from the time it sends"
