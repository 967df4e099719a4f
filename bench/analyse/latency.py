"""Can the percentiles of a load tool be believed? Little's law knows the mean.

In a closed loop each client always waits for one answer, so clients = rate * mean wait. Where
the tool's own mean says something else, its percentiles describe other waits.

A run cuts off one wait of each client when it ends, on average in the middle, and the tool
leaves these out. So its mean is expected to be lower by clients / (2 * answers).
"""

import statistics

from bench.analyse.bottleneck import BUSY, LOAD

AGREES = (0.9, 1.1)
PERCENTILES = ("p50_ms", "p99_ms", "max_ms")


def judge(rows, clients):
    """Return (little, flag) of the rows of a point of a closed loop.

    little      the tool's mean over the one that is expected, the median of
                the rows: 1 where the law holds; None where the tool gives no
                mean, or not every client had an answer
    flag        why percentiles are not to be read, or ""
    """
    known = [row for row in rows if row.get("mean_ms") and row["rate"]]
    shares = [row["mean_ms"] / 1000 * row["rate"] / clients / (1 - clients / (2 * row["requests"]))
              for row in known if row["requests"] > clients]
    if not shares:
        return None, "the run ended before each client had an answer" * bool(known)
    little = statistics.median(shares)
    if AGREES[0] <= little <= AGREES[1]:
        return little, ""
    return little, (f"the mean of {rows[0]['tool']} is {little:.2f} of what its clients waited: "
                    f"{_cause(rows, little)}")


def _cause(rows, little):
    """Return where the time went, as far as the rows tell."""
    if any(row["status"] == "lossy" for row in rows):
        return "requests were lost"
    if little > 1:
        return "it counts more than its clients can have waited"
    if any(row.get("limit") in LOAD or (row.get("load_cores_busy") or 0) >= BUSY
           for row in rows):
        return "the tool is busy and does not count the time until it sends"
    return "the waits that the end of the run cut off were longer than others"
