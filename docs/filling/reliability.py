"""The tables of docs/reliability.md, made of docs/results/reliability.json
(`make reliability`) and docs/results/soak.json (`make soak`). In expressions: reliability.epoll.redis_away, seconds;
reliability.all.redis_away, the most of the seven.
"""

import json

from filling.blocks import or_dash, table
from filling.costs import Node
from filling.figures import ARCHITECTURES, FigureError

SCHEMA_VERSION = 1

# (what happens, member, form as figures.show() takes it, factor)
ROWS = (
    ("slow clients that drip a request", "slow_clients", "0", 1),
    ("... a normal client waits, ms", "slow_wait", "0", 1000),
    ("behind 500 silent clients a normal one waits, ms", "silent_wait", "1",
     1000),
    ("a killed worker is replaced within, ms", "replaced", "0", 1000),
    ("Redis stopped: a page is a 503 within, ms", "redis_away", "1", 1000),
    ("... back: pages again within, ms", "redis_back", "0", 1000),
    ("Redis frozen: a page is a 503 within, ms", "redis_frozen", "0", 1000),
    ("... thawed: pages again within, ms", "redis_thawed", "0", 1000),
    ("replies cut in the middle: a 503 within, ms", "redis_cut", "1", 1000),
    ("replies 1.5 s late: a 503 within, ms", "redis_slow", "0", 1000),
    ("Redis killed 5 times: remarks thanked for", "thanked", "0", 1),
    ("... of those lost", "lost", "0", 1),
    ("... in the list twice", "twice", "0", 1),
    ("500 clients, 64 descriptors: all served in, ms", "few_descriptors", "0",
     1000),
    ("SIGTERM under 200 clients: ended within, ms", "stop", "0", 1000),
    ("... answers broken off", "stop_broken", "0", 1),
)


def names(docs):
    """Return {"reliability": Node} for expressions, of what was measured.

    Raises FigureError when the file has another schema.
    """
    path = docs / "results" / "reliability.json"
    data = json.loads(path.read_text()) if path.is_file() else {}
    if data and data.get("schema_version") != SCHEMA_VERSION:
        raise FigureError(f"{path}: has another schema")
    servers = dict(data.get("servers", {}))
    most = {}
    for row in servers.values():
        for name, value in row.items():
            most[name] = max(value, most.get(name, value))
    return {"reliability": Node("reliability", {
        **servers, "all": most, "settings": data.get("settings", {})})}


def reliability(ctx):
    """What happened, a column for each server; a dash where it cannot."""
    told = ctx.names.get("reliability")
    servers = [one for one in ARCHITECTURES if told.number(one)]
    rows = []
    for text, member, form, factor in ROWS:
        values = [told.get(one).number(member) for one in servers]
        if values.count(None) == len(values):
            continue        # not measured yet
        rows.append([text] + [
            or_dash(None if value is None else value * factor, form)
            for value in values])
    return table(["", *servers], rows,
                 ["---"] + ["---:"] * len(servers))


def soak(ctx):
    """Memory, descriptors and processes at rest, before and after."""
    path = ctx.docs / "results" / "soak.json"
    rows = []
    for one in json.loads(path.read_text()) if path.is_file() else []:
        first, last = one["first"], one["last"]
        rows.append([one["server"], one["build"], f"{one['requests']:,}",
                     f"{one['faults']:,}"] + [
            f"{first[key]:,} → {last[key]:,}"
            for key in ("memory", "descriptors", "processes")])
    return table(["", "build", "requests", "faults", "KiB", "descriptors",
                  "processes"], rows, ["---", "---"] + ["---:"] * 5)


KINDS = {"reliability": reliability, "soak": soak}
