"""Tables of docs/performance.md, made of the runs in docs/results/cost/.

    cost.json         study cost            redis.json    redis-limit
    where.json              breakdown       store.json    redis-ways
    reuseport.json          reuseport       pacing.json   pacing
    flat.json               flat

They were written before studies left a summary like that of `make compare`.

What they hold can be named in expressions, too:

    cost["keep-alive-100"].epoll.us     where.guestbook.iterative.calls.all
    spread["one queue, calm"].off       guard["epoll one-shot"]
    flat["guestbook epoll"].points["15000"].share
    redis["epoll, kept connections"].us
    store.iterative["TCP, at once"].pages
    pacing.epoll.bbr.timers
    loops["keep-alive-100, one core, one queue"].ratio
"""

import json

from filling.blocks import or_dash, table
from filling.figures import ARCHITECTURES, FigureError, show

FLOORS = ("floor", "floor-threads", "floor-oneshot", "floor-preforked",
          "floor-oneshot-epoll", "floor-guestbook",
          "floor-guestbook-forking", "floor-guestbook-preforking",
          "floor-guestbook-threaded", "floor-guestbook-prethreaded")


class Node:
    """A JSON object: its members by .name or ["name"]."""

    def __init__(self, where, members):
        self.where, self.members = where, members

    def get(self, name):
        """Return a member. Raises FigureError when there is none."""
        if self.members.get(name) is None:
            raise FigureError(f"{self.where}.{name}: there is no such figure")
        found = self.members[name]
        return Node(f"{self.where}.{name}", found) \
            if isinstance(found, dict) else found

    __getitem__ = get

    def items(self):
        """Return [(name, Node or figure)] of all members."""
        return [(name, self.get(name)) for name, value in self.members.items()
                if value is not None]

    def number(self, name):
        """Return a member, or None when there is none."""
        return self.members.get(name)


def names(docs):
    """Return {name: Node} for expressions, of what was measured so far."""
    found = {}
    for kind in ("cost", "where", "reuseport", "flat", "redis", "store",
                 "pacing"):
        path = docs / "results" / "cost" / f"{kind}.json"
        data = json.loads(path.read_text()) if path.is_file() else {}
        if data and data.get("schema_version") != 1:
            raise FigureError(f"{path}: has another schema")
        if kind == "flat":
            data = {f"{one['curve']} {one['server']}": one
                    for one in data.get("curves", [])}
        elif kind == "redis":
            data = data.get("ways", {})
        elif kind in ("store", "pacing"):
            data = data.get("servers", {})
        elif kind in ("cost", "where"):
            if kind == "cost" and data:
                data[kind]["idle"] = {row["server"]: row
                                      for row in data.get("idle", [])}
            data = data.get(kind, {})
        found[kind] = Node(kind, data)
    # Of several numbers of clients, the largest.
    found["spread"] = Node("spread", {
        f"{cell['queue']}, {cell['arrival']}": cell
        for cell in found["reuseport"].members.get("spread", [])})
    found["loops"] = Node("loops", {
        f"{cell['scenario']}, {cell['cores']}, {cell['way']}": cell
        for cell in found["reuseport"].members.get("cost", [])})
    guard = docs.parent / "tests" / "cost" / "instructions.json"
    found["guard"] = Node("guard", json.loads(guard.read_text()))
    return found


def words_first(count, head):
    """Return the alignment of a table that begins with columns of words."""
    return ["---"] * count + ["---:"] * (len(head) - count)


# --------------------------------------------------------------------- goals

def us(scenario, server):
    """Return a function that tells a server's microseconds."""
    return lambda ctx: ctx.names.get("cost").get(scenario).get(server).get(
        "us")


def over(scenario, server, base):
    """Return a function that tells a server's cost over that of `base`."""
    return lambda ctx: us(scenario, server)(ctx) / us(scenario, base)(ctx)


def over_peers(scenario, server="epoll"):
    """Return a function that tells a server's cost over that of the cheapest
    server of others."""
    def ratio(ctx):
        cells = ctx.names.get("cost").get(scenario)
        peers = [cell.get("us") for name, cell in cells.items()
                 if name not in FLOORS and name not in ARCHITECTURES]
        if not peers:
            raise FigureError(f"cost.{scenario}: no peer was measured")
        return us(scenario, server)(ctx) / min(peers)
    return ratio


def flat(curve, clients, base=None):
    """Return a function that tells a curve's rate at so many clients over its
    best, or over that at `base` clients."""
    def share(ctx):
        points = ctx.names.get("flat").get(curve).get("points")
        return points.get(str(clients)).get("share") / (
            points.get(str(base)).get("share") if base else 1)
    return share


def pages_over_redis(server, pipeline=None):
    """Return a function that tells the best rate of pages on kept connections,
    over that at which redis-benchmark has Redis carry out their commands, with
    so many of them in a pipeline, or with the best number of all."""
    def ratio(ctx):
        ways = ctx.names.get("redis")
        alone = [way.get("pages") for name, way in ways.items()
                 if name.startswith("redis-benchmark")
                 and (pipeline is None
                      or name.endswith(f", {pipeline} in a pipeline"))]
        pages = [way.get("pages") for name, way in ways.items()
                 if name.startswith(f"{server}, kept connections")]
        if not pages or not alone:
            raise FigureError(f"redis: no such figures of {server}")
        return max(pages) / max(alone)
    return ratio


def more_calls(ctx):
    """Return the system calls of a small file beyond those of /answer."""
    where = ctx.names.get("where")
    return (where.get("file-10k").get("epoll").get("calls").get("all")
            - where.get("keep-alive-100").get("epoll").get("calls").get("all"))


def idle(server):
    """Return a function that tells the bytes of an idle connection."""
    return lambda ctx: ctx.names.get("cost").get("idle").get(server).get(
        "bytes")


def spread(ctx):
    """Return how far, at worst, a loop's share is off the mean (median of the
    rounds), in per cent."""
    return max(cell["off"] for cell in
               ctx.names.get("reuseport").get("spread")
               if cell["queue"] == "a queue for each loop")


def two_loops(scenario):
    """Return a function that tells the cost of two loops over that of one, on
    one core."""
    return lambda ctx: ctx.names.get("loops").get(
        f"{scenario}, one core, a queue for each loop").get("ratio")


MOST, LEAST, BELOW = "at most", "at least", "below"
GOALS = (
    # what, target, measured, form
    ("epoll, keep-alive, 100 connections, over the floor", MOST, 1.08,
     over("keep-alive-100", "epoll", "floor"), "3"),
    ("... 1,000 connections", MOST, 1.08,
     over("keep-alive-1000", "epoll", "floor"), "3"),
    ("... over the cheapest other server, 100 connections", BELOW, 1,
     over_peers("keep-alive-100"), "3"),
    ("... 1,000 connections", BELOW, 1, over_peers("keep-alive-1000"), "3"),
    ("epoll, one-shot, over the blocking floor", MOST, 1.12,
     over("one-shot-100", "epoll", "floor-oneshot"), "3"),
    ("... over the cheapest other server", BELOW, 1,
     over_peers("one-shot-100"), "3"),
    *((f"{name}, one-shot, over the blocking floor", MOST, 1.15,
       over("one-shot-100", name, "floor-oneshot"), "3")
      for name in ("iterative", "preforking", "prethreaded")),
    *((f"{name}, keep-alive, over threads that only read and write", MOST,
       1.3, over("threads-100", name, "floor-threads"), "3")
      for name in ("threaded", "prethreaded")),
    ("epoll, 16 requests in a pipeline, µs each", MOST, 1,
     us("pipelined-16", "epoll"), "3"),
    ("epoll, 10 KiB file, over the cheapest other server", BELOW, 1,
     over_peers("file-10k"), "3"),
    ("epoll, 1 MiB file, over the cheapest other server", MOST, 1.05,
     over_peers("file-1m"), "3"),
    ("an unchanged file, system calls beyond `/answer`", MOST, 1,
     more_calls, "2"),
    *((f"{name}, guestbook page, over the guestbook's floor", MOST, 1.5,
       over("guestbook", name, "floor-guestbook"), "3")
      for name in ("iterative", "poll", "epoll")),
    *((f"{name}, guestbook page, over the floor of the same design", MOST, 1.5,
       over("guestbook", name, f"floor-guestbook-{name}"), "3")
      for name in ("forking", "preforking", "threaded", "prethreaded")),
    ("epoll, guestbook, rate at 15,000 clients over its best", LEAST, 0.9,
     flat("guestbook epoll", 15000), "2"),
    ("... with queues for all of them", LEAST, 0.9,
     flat("guestbook-long-queue epoll", 15000), "2"),
    ("epoll, `/answer` with keep-alive, the same", LEAST, 0.75,
     flat("answer-keep-alive epoll", 15000), "2"),
    ("prethreaded, guestbook, the same", LEAST, 0.8,
     flat("guestbook prethreaded", 15000), "2"),
    ("... with queues for all of them", LEAST, 0.8,
     flat("guestbook-long-queue prethreaded", 15000), "2"),
    ("forking, guestbook, rate at 1,000 clients over that at 20", LEAST, 0.9,
     flat("guestbook forking", 1000, base=20), "2"),
    *((f"{name}, pages/s over Redis asked by 50 clients, a page at a time",
       LEAST, 0.9, pages_over_redis(name, 3), "2")
      for name in ("poll", "epoll")),
    *((f"{name}, pages/s over Redis asked in the longest pipeline", LEAST, 0.9,
       pages_over_redis(name), "2") for name in ("poll", "epoll")),
    ("epoll, bytes of an idle connection", MOST, 300, idle("epoll"), "0"),
    ("poll, bytes of an idle connection", MOST, 350, idle("poll"), "0"),
    ("epoll, two loops: clients off the mean, per cent", MOST, 10, spread,
     "1"),
    ("epoll, two loops over one, a request on a kept connection", MOST, 1.05,
     two_loops("keep-alive-100"), "3"),
    ("... on a new one", MOST, 1.05, two_loops("one-shot-100"), "3"),
)


def met(relation, target, value):
    """Return whether a goal is reached."""
    return {MOST: value <= target, LEAST: value >= target,
            BELOW: value < target}[relation]


def goals(ctx):
    """The project's targets, what was measured, and whether that is met."""
    rows = []
    for what, relation, target, measured, form in GOALS:
        try:
            value = measured(ctx)
        except FigureError:
            value = None
        verdict = "not measured" if value is None else \
            "yes" if met(relation, target, value) else "**no**"
        rows.append([what, f"{relation} {target:g}", or_dash(value, form),
                     verdict])
    return table(["", "target", "measured", "met?"], rows,
                 ["---", "---", "---:", "---"])


# --------------------------------------------------------------------- tables

def cost(ctx, scenario):
    """What a request costs each server, the cheapest first."""
    cells = ctx.names.get("cost").get(scenario).items()
    rows = []
    for name, cell in sorted(cells, key=lambda one: one[1].get("us")):
        label = f"**{name}**" if name in ARCHITECTURES else \
            f"*{name}*" if name in FLOORS else name
        rows.append([label, show(cell.get("us"), "2"),
                     f"{show(cell.get('min'), '2')} to "
                     f"{show(cell.get('max'), '2')}",
                     or_dash(cell.number("ratio"), "2"),
                     show(cell.get("rps"), "0")])
    return table(["", "CPU µs", "range", "ratio", "requests/s"], rows)


def where(ctx, scenario):
    """Where a request's time goes, a row for each design and floor."""
    rows = []
    for name, cell in ctx.names.get("where").get(scenario).items():
        value = cell.number
        rows.append([f"*{name}*" if name in FLOORS else f"**{name}**"] + [
            or_dash(value(key), form) for key, form in (
                ("cpu_us", "1"), ("cpu_user_us", "1"), ("cpu_system_us", "1"),
                ("instructions", "0"))]
            + [show(cell.get("calls").get("all"), "2")]
            + [or_dash(value(key), "3") for key in ("switches", "faults")])
    return table(["", "CPU µs", "user code", "kernel", "user instructions",
                  "system calls", "context switches", "page faults"], rows)


def where_calls(ctx, scenario):
    """System calls of a request by name, a column for each design."""
    cells = ctx.names.get("where").get(scenario)
    counts = {name: cell.get("calls") for name, cell in cells.items()
              if name in ARCHITECTURES}
    each = {}
    for one in counts.values():
        for call, number in one.items():
            each[call] = max(number, each.get(call, 0))
    shown = sorted((call for call, most in each.items()
                    if most >= 0.05 and call not in ("all", "other")),
                   key=lambda call: (-round(each[call], 2), call))
    rows = [[f"`{call}`"] + [or_dash(one.number(call), "2")
                             for one in counts.values()] for call in shown]
    rows.append(["others"] + [
        show(one.get("all") - sum(one.number(call) or 0 for call in shown),
             "2") for one in counts.values()])
    return table(["system call", *counts], rows)


def spread_table(ctx):
    """Who gets the clients, with two loops."""
    cells = ctx.names.get("reuseport").get("spread")
    rows = [[cell["queue"], cell["arrival"], show(cell["connections"], "0"),
             " and ".join(show(one, "0") for one in
                          max(cell["clients"], key=max)),
             show(cell["off"], "1"), show(cell["off_max"], "1")]
            for cell in cells]
    head = ["", "arrival", "clients", "the worst round",
            "off the mean, %, median", "at worst"]
    return table(head, rows, words_first(2, head))


def loops_table(ctx):
    """What a request costs with one loop and with two."""
    cells = ctx.names.get("reuseport").get("cost")
    rows = [[cell["scenario"], cell["cores"], cell["way"],
             show(cell["us"], "2"), show(cell["ratio"], "3")]
            for cell in cells]
    head = ["", "the server has", "", "CPU µs", "over one loop"]
    return table(head, rows, words_first(3, head))


def flat_table(ctx):
    """The rate of each curve, by the number of clients, and what an answer
    costs. No row of cookies where there was none, nor of segments where a
    connection is opened for each answer, or Redis asked."""
    curves = ctx.names.get("flat").items()
    numbers = sorted({int(clients) for _, curve in curves
                      for clients, _ in curve.get("points").items()})
    rows = []
    for name, curve in curves:
        points = curve.get("points")
        for key, what, form in (("rate", "answers/s", "0"),
                                ("min", "at least", "0"),
                                ("max", "at most", "0"),
                                ("share", "of its best", "2"),
                                ("us", "CPU µs", "1"),
                                ("tool_us", "the tool's", "1"),
                                ("cookies", "SYN cookies", "2"),
                                ("segments", "TCP segments", "2")):
            cells = [points.get(str(clients)).get(key)
                     if points.number(str(clients)) else None
                     for clients in numbers]
            if key == "cookies" and not any(cells) or \
                    key == "segments" and "keep-alive" not in name:
                continue
            rows.append([name if key == "rate" else "", what] + [
                "" if cell is None else show(cell, form) for cell in cells])
    head = ["", "clients", *(show(clients, "0") for clients in numbers)]
    return table(head, rows, words_first(2, head))


def redis_table(ctx):
    """Whose core a page fills first, Redis' or the server's."""
    rows = [[name, show(way.get("pages"), "0"), show(way.get("us"), "1"),
             or_dash(way.number("server_us"), "1")]
            for name, way in ctx.names.get("redis").items()]
    head = ["", "pages/s", "Redis, CPU µs a page", "the server, CPU µs a page"]
    return table(head, rows, words_first(1, head))


def store_table(ctx):
    """Pages a second and the server's CPU time for a page, by the way that its
    commands take to Redis."""
    servers = ctx.names.get("store").items()
    ways = [way for way, _ in servers[0][1].items()]
    rows = [[name if key == "pages" else "", what]
            + [show(cells.get(way).get(key), form) for way in ways]
            for name, cells in servers
            for key, what, form in (("pages", "pages/s", "0"),
                                    ("server_us", "CPU µs", "1"),
                                    ("us", "Redis, CPU µs", "1"))]
    head = ["", "", *ways]
    return table(head, rows, words_first(2, head))


def pacing_table(ctx):
    """What a large file costs each server, and how many timers go off for it,
    by congestion control."""
    servers = ctx.names.get("pacing").items()
    controls = [name for name, _ in servers[0][1].items()]
    rows = []
    for name, cells in sorted(servers, key=lambda one: one[1].get(
            controls[0]).get("us")):
        row = [f"**{name}**" if name in ARCHITECTURES else name]
        for control in controls:
            cell = cells.get(control)
            row += [show(cell.get("us"), "1"),
                    show(cell.get("min"), "0") + " to "
                    + show(cell.get("max"), "0"),
                    or_dash(cell.number("timers"), "1")]
        rows.append(row)
    head = [""]
    for control in controls:
        head += [f"{control.upper()}, CPU µs", "range", "timers"]
    return table(head, rows, words_first(1, head))


def guard(ctx):
    """The committed figures that CI compares with."""
    return table(["", "user instructions"],
                 [[name, show(number, "0")]
                  for name, number in ctx.names.get("guard").items()])


KINDS = {"goals": goals, "cost": cost, "where": where,
         "where-calls": where_calls,
         "spread": spread_table, "loops": loops_table, "guard": guard,
         "flat": flat_table, "redis": redis_table,
         "store": store_table,
         "pacing": pacing_table}
