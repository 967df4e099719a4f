"""What each host of a fleet did, from the rows of hosts.csv."""

import statistics

from tools.stats.summary import figures, median

# Of the time measured. Costs and rates of a tight cell are known to 5 %. Before the last load
# tool has begun less load arrives; this may add a fifth of that.
SKEW = 0.01


def of_runs(rows, runs):
    """Return (one dict for each host and role, [sentences]) for `rows` of hosts.csv and `runs`
    of samples.csv, of the same experiment and variant."""
    told = []
    for host, role in dict.fromkeys((row["host"], row["role"]) for row in rows):
        mine = [row for row in rows if (row["host"], row["role"]) == (host, role)]
        told.append({"host": host, "role": role, **{
            key: median(figures(mine, key)) for key in ("busy", "cores_busy", "rate", "begin_ms")}})
    skews = [(run["skew_ms"], 1000 * run["seconds"]) for run in runs
             if run.get("skew_ms") is not None and run["seconds"]]
    if not any(skew for skew, _ in skews):      # a single load tool
        return told, []
    said = [f"The load tools of a run began {statistics.median(skew for skew, _ in skews):.1f} ms "
            f"apart, {max(skews)[0]:.1f} ms at most; clocks are compared by round trips."]
    late = sum(skew > SKEW * whole for skew, whole in skews)
    if late:
        said.append(f"In {late} of {len(skews)} runs that was more than {100 * SKEW:.0f} % of the "
                    "time measured, so their rates are too low by up to that much.")
    return told, said
