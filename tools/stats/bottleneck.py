"""Which limit ended a cell, and the evidence for it.

The checks come in the order in which a finding explains the others: a server
without descriptors has lost requests whatever else was busy.
"""

WHOLE_CORE = 95.0   # per cent from which the server's core was the limit
BUSY = 90.0         # the same for others, whose start and end count too
FOREIGN = 20.0      # per cent of the server's core from which other programs were the limit. Twice
                    # what makes a cell noisy (summary.py): with some kernels, a server that often
                    # falls asleep causes 8 to 12
LOAD = ("load tool", "cores of the load")       # the limits of the load


def core_was_limit(values):
    """Return whether the server's core was the limit, by `server_busy` of the `values` of a row or
    a point; None where that is not known."""
    share = values.get("server_busy")
    return None if share is None else share >= WHOLE_CORE


def judge(row, tool, width=1):
    """Return (limit, evidence) for a measured row of samples.csv. `tool` is its load tool, an
    object with `name`, `busy_waits` and `open_loop`, and `width` how many cores its threads and
    processes could use at most."""
    def value(key):
        return row.get(key) or 0.0

    server = f"server {value('server_busy'):.0f} %"
    lost = any(map(value, ("failed", "unfinished", "failed_percent")))
    at_work, tools = 0.0, ""
    if not tool.busy_waits:     # else its core is busy whatever happens
        at_work = value("load_busy") / width
        tools = f"{tool.name} {at_work:.0f} %" + (f" of {width} cores" if width > 1 else "")
    redis = f"Redis {value('redis_busy'):.0f} %" if row.get("redis_busy") else ""
    shared = row.get("foreign") is None     # server and load have all cores
    queue = (f"{value('overflows'):,.0f} overflows, {value('accept_queue'):,.0f} of "
             f"{value('accept_queue_limit'):,.0f} waiting")
    busy = ", ".join(filter(None, (server, tools, redis)))
    for true, limit, evidence in (
            (row.get("status") == "crashed", "crash", row.get("note")),
            (lost and 0 < 0.98 * value("descriptor_limit") <= value("descriptors"), "descriptors",
             f"{value('descriptors'):,.0f} of {value('descriptor_limit'):,.0f} open"),
            (lost and "fd-unavail" in (row.get("note") or ""), "descriptors of the load tool",
             row.get("note")),
            (lost and value("overflows"), "accept queue", queue),
            (value("redis_busy") >= BUSY, "Redis", redis),
            (core_was_limit(row), "server core", server),
            (value("foreign") >= FOREIGN and value("server_busy") + value("foreign") >= BUSY,
             "other programs",
             f"they had {value('foreign'):.0f} % of the server's core, the {server}"),
            (at_work >= BUSY, "load tool", f"{tools}, {server}"),
            (tool.open_loop and not lost, "none", f"all demanded requests answered, {server}"),
            (value("load_cores_busy") >= BUSY and (shared or not tool.busy_waits),
             "all cores" if shared else "cores of the load",
             f"{value('load_cores_busy'):.0f} % busy: {busy}"),
            # Nothing was lost, but a client that finds it full connects again after a second.
            (value("overflows"), "accept queue", queue)):
        if true:
            return limit, evidence
    return "waiting", f"no core was fully busy: {busy}"
