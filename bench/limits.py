"""Which limit ended a cell, and by what one sees it.

The checks come in the order in which a finding explains the others: who has
run out of descriptors has lost requests whatever else was busy.
"""

FULL = 90.0         # per cent of a core that count as all of it


def judge(row, tool):
    """Return (limit, evidence) for a measured row of samples.csv."""
    def value(key):
        return row.get(key) or 0.0

    lost = value("failed_percent") > 0
    if lost and value("descriptors") >= 0.98 * value("descriptor_limit"):
        return "descriptors", (f"{value('descriptors'):,.0f} of "
                               f"{value('descriptor_limit'):,.0f} open")
    if lost and "fd-unavail" in row.get("note", ""):
        return "descriptors of the load tool", row["note"]
    full = value("accept_queue") >= 0.9 * value("accept_queue_limit")
    if value("overflows") and (full or lost):
        return "accept queue", (f"{value('overflows'):,.0f} overflows, "
                                f"{value('accept_queue'):,.0f} of "
                                f"{value('accept_queue_limit'):,.0f} waiting")
    if value("redis_busy") >= FULL:
        return "Redis", f"Redis {value('redis_busy'):.0f} % of its core"
    if value("server_busy") >= FULL:
        return "server core", f"server {value('server_busy'):.0f} %"
    if value("foreign") >= 20 and \
            value("server_busy") + value("foreign") >= FULL:
        return "other programs", (f"they had {value('foreign'):.0f} % of the "
                                  f"server's core, the server "
                                  f"{value('server_busy'):.0f} %")
    if value("load_busy") >= FULL and not tool.busy_waits:
        return "load tool", (f"{tool.name} {value('load_busy'):.0f} %, server "
                             f"{value('server_busy'):.0f} %")
    if value("load_cores_busy") >= FULL and row.get("foreign") is None:
        return "all cores", (f"server and load share them: "
                             f"{value('load_cores_busy'):.0f} % busy, "
                             f"{tool.name} {value('load_busy'):.0f} % of one")
    if value("load_cores_busy") >= FULL and not tool.busy_waits:
        others = f", Redis {value('redis_busy'):.0f} %" \
            if row.get("redis_busy") is not None else ""
        return "cores of the load", (f"{tool.name} {value('load_busy'):.0f} "
                                     f"%{others}, server "
                                     f"{value('server_busy'):.0f} %")
    if tool.busy_waits and not lost:
        return "none", (f"all demanded requests answered, server "
                        f"{value('server_busy'):.0f} %")
    return "waiting", (f"nothing was busy: server "
                       f"{value('server_busy'):.0f} %, {tool.name} "
                       f"{value('load_busy'):.0f} %")
