"""Can the percentiles of a load tool be believed? Little's law knows the mean.

In a closed loop each client always waits for one answer, so clients = rate * mean wait. Where
the tool's own mean says something else, its percentiles describe other waits.

A run cuts off one wait of each client when it ends, on average in the middle, and the tool
leaves these out. So its mean is expected to be lower by clients / (2 * answers). Where each
client asks once, fewer and fewer of them wait, and the law says nothing.
"""

import statistics

from bench.analyse.bottleneck import BUSY, LOAD

AGREES = (0.9, 1.1)
PERCENTILES = ("p50_ms", "p99_ms", "max_ms")


def judge(rows, clients):
    """Return why percentiles are not to be read, from the rows of a point of a closed loop; ""
    where the tool's mean is the expected one, or there is none."""
    known = [row for row in rows if row.get("mean_ms") and row["rate"]]
    shares = [row["mean_ms"] / 1000 * row["rate"] / clients / (1 - clients / (2 * row["requests"]))
              for row in known if row["requests"] > clients]
    if not shares:
        return "the run ended before each client had an answer" * any(
            row["requests"] < clients for row in known)
    share = statistics.median(shares)
    if AGREES[0] <= share <= AGREES[1]:
        return ""
    cause = "the waits that the end of the run cut off were longer than others"
    if any(row["status"] == "lossy" for row in rows):
        cause = "requests were lost"
    elif share > 1:
        cause = "it counts more than its clients can have waited"
    elif any(row.get("limit") in LOAD or (row.get("load_cores_busy") or 0) >= BUSY
             for row in rows):
        cause = "the tool is busy and does not count the time until it sends"
    return f"the mean of {rows[0]['tool']} is {share:.2f} of what its clients waited: {cause}"
