"""Tables and pictures for the chapters, made of figures.

Each function here renders one kind of block and returns lines of Markdown;
its arguments are the words of the marker. See KINDS at the end.
"""

import re

from filling import figures, pictures
from filling.figures import ARCHITECTURES, FigureError, show, styles


def table(head, rows, align=None):
    """Return the lines of a Markdown table; numbers stand at the right."""
    align = align or ["---"] + ["---:"] * (len(head) - 1)
    return [f"| {' | '.join(head)} |", f"|{'|'.join(align)}|",
            *(f"| {' | '.join(row)} |" for row in rows)]


def or_dash(value, form=""):
    """Return a figure as text, a dash where there is none."""
    return "–" if value is None else show(value, form)


def rate(cell):
    """Return the rate of a cell (or of None) as text, `~` before it when it
    is noisy."""
    value = cell and cell.values.get("rate")
    if value is None:
        return "–"
    return ("~" if cell.values.get("noisy") else "") + show(value, "0")


def between(cell):
    """Return the slowest and the fastest run of a cell as text."""
    low, high = (cell.values.get(key) for key in ("rate_min", "rate_max"))
    if low is None or low == high:
        return "–"
    return f"{show(low, '0')}–{show(high, '0')}"


def explained(lines):
    """Return the lines of a table, and what `~` means if it is in them."""
    if not any("| ~" in line for line in lines):
        return lines
    return [*lines, "", "`~`: noisy: too few runs, or runs that scatter "
            "widely, or a core that was slow or in use by others."]


def points(text):
    """Return the numbers of "20,100,1000"."""
    return [int(word) for word in text.split(",")]


# -------------------------------------------------------------------- sources

def sources(context, *paths):
    """Files, each with the sentence that its first comment begins with."""
    rows = []
    for path in paths:
        source = context.top / path
        if not source.is_file():
            raise FigureError(f"there is no file {path}")
        found = re.match(r"/\*[\s*]*(?:\d\d )?\w+ - "
                         r"(.*?)(?:;[\s*]+see \w+\.h)?\.[\s*]",
                         source.read_text(), re.DOTALL)
        if not found:
            raise FigureError(f"{path} does not begin with what it is for")
        words = re.sub(r"\s+(?:\* )?", " ", found.group(1))
        rows.append([f"[`{path}`](../{path})", words])
    return table(["file", "what it is"], rows, ["---", "---"])


# --------------------------------------------------------------------- tables

COSTS = (
    # title, key, form
    ("median ms", "p50_ms", "~3"),
    ("99 % below, ms", "p99_ms", "~3"),
    ("failed %", "failed_percent", "~2"),
    ("CPU µs", "cpu_us", "1"),
    ("of it user", "cpu_user_us", "1"),
    ("context switches", "switches", "2"),
    ("queue overflows", "overflows", "0"),
    ("SYN cookies", "syn_cookies", "0"),
    ("threads", "threads", "0"),
    ("memory MiB", "pss_mib", "1"),
)


def costs(context, experiment, server, grid, *variant):
    """What a server's cells cost, a row for each of the points of `grid`."""
    series = _series(context, experiment, server, *variant)
    one = context.experiment(experiment)
    head = [one.x_short, one.unit, "slowest–fastest run",
            *(title for title, _, _ in COSTS), "ended by"]
    rows = []
    for x in points(grid):
        cell = series[x]
        rows.append([show(x, "0"), rate(cell), between(cell)]
                    + [or_dash(cell.values.get(key), form)
                       for _, key, form in COSTS]
                    + [cell.values.get("limit") or "–"])
    return explained(table(head, rows,
                           ["---:"] * (len(head) - 1) + ["---"]))


def beside(context, experiment, server, grid):
    """Measured and published, each also as a share of its own best."""
    mine = _series(context, experiment, server)
    theirs = context.names.get("published").get(experiment).get(server)
    best, published_best = max(mine.get("rate")), max(theirs.get("rate"))
    rows = []
    for x in points(grid):
        cell = mine.cells.get(x)
        own = cell and cell.values.get("rate")
        published = theirs.rates.get(x)
        rows.append([
            show(x, "0"), rate(cell), or_dash(own and 100 * own / best, "0"),
            or_dash(published, "0"),
            or_dash(published and 100 * published / published_best, "0")])
    return explained(table(["clients", "measured", "% of its best",
                            "published", "% of its best"], rows,
                           ["---:"] * 5))


def seven(context, experiment, x, *variant):
    """All architectures at one point."""
    rows = []
    for server in ARCHITECTURES:
        cell = _series(context, experiment, server, *variant)[int(x)]
        value = cell.values.get
        rows.append([
            f"[{server}]({context.chapters[server]})",
            rate(cell), between(cell), or_dash(value("p50_ms"), "~3"),
            or_dash(value("p99_ms"), "~3"), or_dash(value("cpu_us"), "1"),
            or_dash(value("switches"), "2"),
            or_dash(value("calls"), "1"), or_dash(value("faults"), "2"),
            or_dash(value("processes"), "0"), or_dash(value("threads"), "0"),
            or_dash(value("pss_mib"), "1")])
    one = context.experiment(experiment)
    return explained(table(
        ["", one.unit, "slowest–fastest run", "median ms", "99 % below, ms",
         "CPU µs", "context switches",
         f"system calls (at {one.calls_at:,})", "page faults", "processes",
         "threads", "memory MiB"], rows))


def rates(context, experiment, grid, *variant):
    """Requests a second of all architectures, a row for each point."""
    rows = []
    for x in points(grid):
        row = [show(x, "0")]
        for server in ARCHITECTURES:
            series = _series(context, experiment, server, *variant)
            cell = series.cells.get(x)
            row.append(rate(cell)
                       + ("*" if cell and cell.values.get("failed_percent")
                          else ""))
        rows.append(row)
    head = context.experiment(experiment).x_short
    return table([head, *ARCHITECTURES], rows,
                 ["---:"] * (len(ARCHITECTURES) + 1))


def calls(context, experiment, *names):
    """System calls a request, the most frequent first, a column a server.

    Rare ones are put together. Where only the total could be counted (there
    are more threads than perf may watch), the rest of the column is empty.
    """
    counts = {name: context.calls(experiment, name) for name in names}
    each = {call: max(one.get(call, 0) for one in counts.values())
            for one in counts.values() for call in one}
    shown = sorted((call for call in each if each[call] >= 0.1
                    and call not in ("all", "other")),
                   key=lambda call: (-round(each[call], 2), call))
    rows = [[f"`{call}`"] + [or_dash(counts[name].get(call), "2")
                             for name in names] for call in shown]
    rest, total = ["others"], ["**all**"]
    for one in counts.values():
        known = sum(one.get(call, 0) for call in shown)
        rest.append(show(one["all"] - known, "2") if known else "–")
        total.append(show(one["all"], "2"))
    return table(["system call", *names], [*rows, rest, total])


def published(context, experiment):
    """The figures of the publication that an experiment replays."""
    told = context.experiment(experiment).published
    if told.series:
        systems = list(told.series)
        grid = sorted({x for rates in told.series.values() for x in rates})
        grid = sorted({*grid, *(x for rough in told.rough.values()
                                for x in rough)})
        rows = []
        for x in grid:
            rows.append([show(x, "0")] + [
                "~" if x in told.rough.get(name, ()) else
                or_dash(told.series[name].get(x), "0") for name in systems])
        return table([context.experiment(experiment).x_short, *systems],
                     rows, ["---:"] * (len(systems) + 1))
    return table(["system", "best, requests/s"],
                 [[name, show(rate, "0")]
                  for name, rate in told.best.items()])


def accept(context, *variant):
    """The four ways to share accept, from the study accept-ways."""
    told = context.names.get("accept")[" ".join(variant)]
    ways = {way: told.get(way) for way in ("direct", "mutex", "turn", "queue")}
    rows = []
    for x in ways["direct"].get("x"):
        row = [show(x, "0")]
        for key, form in (("rate", "0"), ("cpu_us", "1"), ("switches", "2")):
            row += [show(way[x].get(key), form) for way in ways.values()]
        rows.append(row)
    head = ["clients"] + [f"{way} {what}"
                          for what in ("requests/s", "CPU µs", "switches")
                          for way in ways]
    return table(head, rows, ["---:"] * len(head))


def backlog(context, grid):
    """A long and a short accept queue, from the run in results/backlog10."""
    short = context.names.get("backlog10").get("guestbook")
    rows = []
    for server in ARCHITECTURES:
        if server not in next(iter(short.variants.values())).series:
            continue
        for x in points(grid):
            pair = (_series(context, "guestbook", server)[x],
                    short.get(server)[x])
            rows.append([server, show(x, "0")] + [
                or_dash(cell.values.get(key), form)
                for key, form in (("rate", "0"), ("p50_ms", "~2"),
                                  ("max_ms", "0"), ("overflows", "0"))
                for cell in pair])
    head = ["server", "clients"] + [
        f"{what}, {length}" for what in
        ("pages/s", "median ms", "longest ms", "overflows")
        for length in ("4,096", "10")]
    return table(head, rows)


def idle(context):
    """What idle connections cost the busy ones, from their study."""
    told = context.names.get("idle")
    servers = {name: told.get(name) for name in ("poll", "epoll")}
    rows = []
    for x in servers["poll"].get("x"):
        row = [show(x, "0")]
        for key, form in (("rate", "0"), ("cpu_us", "1"), ("p99_ms", "~3")):
            row += [show(one[x].get(key), form) for one in servers.values()]
        rows.append(row)
    head = ["idle connections"] + [f"{name} {what}" for what in
                                   ("requests/s", "CPU µs", "99 % below, ms")
                                   for name in servers]
    return table(head, rows, ["---:"] * len(head))


def machine(context):
    """The machine of the reference run, and the parts it was joined from."""
    env = context.environment
    facts, limits = env["machine"], env["machine"]["limits"]
    rows = [
        ("processor", f"{facts['cores']} × {facts['cpu']}"),
        ("memory", f"{facts['memory_mib']:,} MiB"),
        ("system", f"{facts['system']}, Linux {facts['kernel']}"),
        ("cores", "server " + ", ".join(map(str, env["cores"]["server"]))
         + "; load and Redis " + ", ".join(map(str, env["cores"]["load"]))),
        ("descriptor limit", f"{limits['descriptors']:,}"),
        ("`net.core.somaxconn`", f"{limits['somaxconn']:,}"),
        *((one["what"], one["value"]) for one in env["preflight"]
          if one["what"] == "idle cores"),
    ]
    parts = [_part(context, part) for part in env.get("joined", [env])]
    return [*table(["", ""], [list(row) for row in rows], ["---", "---"]), "",
            *table(["experiments", "measured", "commit", "seconds a cell",
                    "runs of a cell", "points of the grid",
                    "warnings before it began"], parts, ["---"] * 7)]


def _part(context, part):
    """Return the row of one run, of which the reference was joined."""
    settings, source = part["settings"], part["source"] or {}
    names = part.get("experiments") or settings["experiments"]
    warned = [f"{one['what']}: {one['value']}"
              for one in part["preflight"] if not one["ok"]]
    return [
        ", ".join(names), part["started"],
        source.get("commit", "unknown")[:12]
        + (" with uncommitted changes" if source.get("changed") else ""),
        _each(names, {name: f"{settings['seconds'][name]:g}"
                      for name in names}),
        _each(names, {name: str(settings["repeat"][name])
                      for name in names}),
        _each(names, {name: _grid(context.experiment(name), settings)
                      for name in names}),
        "; ".join(warned) or "none"]


def _each(names, texts):
    """Return what all names have in common, or what each has."""
    if len(set(texts.values())) == 1:
        return texts[names[0]]
    return ", ".join(f"{name} {texts[name]}" for name in names)


def _grid(experiment, settings):
    """Return how much of an experiment's published grid was measured."""
    variant = experiment.variants[0]
    there = settings["points"] or (variant.full if settings["full"]
                                   else variant.quick)
    count = len(set(there) & set(variant.full))
    return "all" if count == len(variant.full) \
        else f"{count} of {len(variant.full)}"


# ------------------------------------------------------------------- pictures

def curve(context, experiment, server):
    """The server's curve, as an SVG file of its own."""
    all_series = _all_series(context, experiment)
    one = context.experiment(experiment)
    published = one.published.series.get(server, {}) if one.published else {}
    path = f"pictures/{experiment}-{server}.svg"
    context.files[path] = pictures.curve(
        server, all_series, published, styles.style(server), one.x_title,
        one.unit)
    return [f"![Curve of {_told(server, all_series[server], one)}. All "
            f"figures are in the table below.]({path})"]


def together(context, experiment):
    """All curves in one picture."""
    all_series = _all_series(context, experiment)
    one = context.experiment(experiment)
    path = f"pictures/{experiment}.svg"
    context.files[path] = pictures.together(
        all_series, {name: styles.style(name) for name in all_series},
        one.x_title, one.unit)
    told = "; ".join(_told(name, cells, one)
                     for name, cells in all_series.items())
    return [f"![Curves of {told}. All figures are in the table below.]"
            f"({path})"]


def _all_series(context, experiment):
    """Return {server: {x: cell}} as pictures takes them."""
    return {name: {
        x: {"rate": cell.get("rate"), "low": cell.get("rate_min"),
            "high": cell.get("rate_max"), "failed": cell.get("hollow")}
        for x, cell in _series(context, experiment, name).cells.items()
        if cell.values.get("rate") is not None} for name in ARCHITECTURES}


def _told(name, cells, one):
    """Return a curve in words, for who cannot see it."""
    first, last = min(cells), max(cells)
    best = max(cells, key=lambda x: cells[x]["rate"])
    return (f"{name}: {cells[first]['rate']:,.0f} {one.unit} at {first:,} "
            f"{one.x_short}, at most {cells[best]['rate']:,.0f} at {best:,}, "
            f"{cells[last]['rate']:,.0f} at {last:,}")


def _series(context, experiment, server, *variant):
    """Return a figures.Series."""
    measured = context.names.get(experiment)
    if variant:
        measured = measured[" ".join(variant)]
    return measured.get(server)


KINDS = {
    "table": {"sources": sources, "costs": costs, "beside": beside,
              "seven": seven, "rates": rates, "calls": calls,
              "published": published, "accept": accept, "idle": idle,
              "backlog": backlog,
              "machine": machine},
    "picture": {"curve": curve, "together": together},
}
