"""Which limit ended a cell, and the evidence for it.

The checks come in the order in which a finding explains the others: a server
without descriptors has lost requests whatever else was busy.
"""

FULL = 90.0         # per cent of a core that count as all of it


def judge(row, tool, width=1):
    """Return (limit, evidence) for a measured row of samples.csv.

    tool    the load tool: an object with `name`, `busy_waits` and `open_loop`
    width   how many cores its threads and processes could use at most
    """
    def value(key):
        return row.get(key) or 0.0

    server = f"server {value('server_busy'):.0f} %"
    lost = any(value(key) for key in ("failed", "unfinished",
                                      "failed_percent"))
    # A tool that waits in a loop keeps its core busy whatever happens.
    at_work = 0.0 if tool.busy_waits else value("load_busy") / width
    tools = "" if tool.busy_waits else f"{tool.name} {at_work:.0f} %" \
        + (f" of {width} cores" if width > 1 else "")
    queue = "accept queue", (f"{value('overflows'):,.0f} overflows, "
                             f"{value('accept_queue'):,.0f} of "
                             f"{value('accept_queue_limit'):,.0f} waiting")
    if row.get("status") == "crashed":
        return "crash", row["note"]
    if row.get("status") == "hung":
        return "the load tool hung", f"{tool.name} left no report"
    if lost and 0 < 0.98 * value("descriptor_limit") <= value("descriptors"):
        return "descriptors", (f"{value('descriptors'):,.0f} of "
                               f"{value('descriptor_limit'):,.0f} open")
    if lost and "fd-unavail" in row.get("note", ""):
        return "descriptors of the load tool", row["note"]
    if lost and value("overflows"):
        return queue
    if value("redis_busy") >= FULL:
        return "Redis", f"Redis {value('redis_busy'):.0f} % of its core"
    if value("server_busy") >= FULL:
        return "server core", server
    if value("foreign") >= 20 and \
            value("server_busy") + value("foreign") >= FULL:
        return "other programs", (f"they had {value('foreign'):.0f} % of the "
                                  f"server's core, the {server}")
    if at_work >= FULL:
        return "load tool", f"{tools}, {server}"
    if tool.open_loop and not lost:
        return "none", f"all demanded requests answered, {server}"
    if value("load_cores_busy") >= FULL and row.get("foreign") is None:
        return "all cores", (f"server and load share them: "
                             f"{value('load_cores_busy'):.0f} % busy, "
                             f"{tool.name} {value('load_busy'):.0f} % of one")
    if value("load_cores_busy") >= FULL and not tool.busy_waits:
        redis = f", Redis {value('redis_busy'):.0f} %" \
            if row.get("redis_busy") is not None else ""
        return "cores of the load", f"{tools}{redis}, {server}"
    # No request was lost, but a client that finds the queue full connects
    # again after a second.
    if value("overflows"):
        return queue
    return "waiting", ", ".join(filter(None, (
        f"nothing was busy: {server}", tools)))
