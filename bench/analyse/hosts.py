"""What each host of a fleet did, from the rows of hosts.csv."""

import statistics

# Costs and rates of a tight cell are known to 5 %. Before the last load tool
# has begun less load arrives; this may add a fifth of that.
SKEW = 0.01         # of the time measured


def of_runs(rows, runs):
    """Return (one dict for each host and role, [sentences]).

    rows    of hosts.csv, runs those of samples.csv, of the same experiment and
            variant
    """
    told = []
    for key in dict.fromkeys((row["host"], row["role"]) for row in rows):
        mine = [row for row in rows if (row["host"], row["role"]) == key]
        one = {"host": key[0], "role": key[1]}
        for column in ("busy", "cores_busy", "rate", "begin_ms"):
            values = [row[column] for row in mine if row[column] is not None]
            one[column] = statistics.median(values) if values else None
        told.append(one)
    skews = [(run["skew_ms"], 1000 * run["seconds"]) for run in runs
             if run.get("skew_ms") is not None and run["seconds"]]
    if not any(skew for skew, _ in skews):      # a single load tool
        return told, []
    late = sum(skew > SKEW * whole for skew, whole in skews)
    said = ["The load tools of a run began "
            f"{statistics.median(skew for skew, _ in skews):.1f} ms apart, "
            f"{max(skews)[0]:.1f} ms at most; clocks are compared by round "
            "trips."]
    if late:
        said.append(f"In {late} of {len(skews)} runs that was more than "
                    f"{100 * SKEW:.0f} % of the time measured, so their rates "
                    "are too low by up to that much.")
    return told, said
