"""The cost table of the end, for the terminal."""

from bench.analyse import summary as summaries
from bench.analyse.sentences import number
from bench.draw.live import grid
from bench.draw.text import chart

COLUMNS = (
    # key, title
    ("rate", "rate"), ("p50_ms", "p50 ms"), ("p99_ms", "p99 ms"),
    ("failed_percent", "lost %"), ("cpu_us", "CPU us"),
    ("cpu_user_us", "user"), ("cpu_system_us", "system"),
    ("switches", "switches"), ("calls", "calls (at {calls_at:,})"),
    ("tasks", "proc/thr"), ("pss_mib", "PSS MiB"),
    ("overflows", "overflows"), ("limit", "limit"),
)


def cost(experiment, variant):
    """Return the lines of the cost table of a variant. `o` before a rate: it
    lost requests or runs; 2/3 behind it: so many runs gave a figure."""
    x = summaries.reference_x(experiment, variant)
    if x is None:
        return []
    rows = []
    for one in experiment["curves"]:
        point = summaries.point_at(one, x)
        if one["variant"] != variant or not point or not point["rate"]:
            continue
        rows.append([one["server"], *(_value(key, point, experiment, one)
                                      for key, _ in COLUMNS)])
    used = [i for i in range(len(COLUMNS))
            if any(row[i + 1] not in ("", "-") for row in rows)]
    name = f"{experiment['title']}, {variant}" if variant \
        else experiment["title"]
    head = [f"{name} at {x:,}",
            *(COLUMNS[i][1].format(**experiment) for i in used)]
    return grid([head, *([row[0], *(row[i + 1] for i in used)]
                         for row in rows)])


def _value(key, point, experiment, one):
    """Return the text of one cell of the table."""
    if key == "rate":
        mark = "o " if point["hollow"] else ""
        runs = f" {point['runs']}/{point['planned']}" \
            if point["runs"] < point["planned"] else ""
        return mark + number(point["rate"]["median"]) + runs
    if key == "limit":
        return point["limit"] or ""
    if key == "tasks":
        return "/".join(number(point["values"].get(each))
                        for each in ("processes", "threads"))
    if key == "calls":
        counted = experiment["calls"].get(
            f"{one['server']}/{one['variant']}", {})
        return number(counted.get("all")) if counted else "-"
    value = point["values"].get(key)
    return "-" if value is None else number(value)


def curves(experiment, variant):
    """Return the lines of the plain-text chart of a variant."""
    series = {}
    for one in experiment["curves"]:
        if one["variant"] == variant:
            series[one["server"]] = [
                (p["x"], p["rate"]["median"] if p["rate"] else 0, p["hollow"])
                for p in one["points"]
                if p["rate"] or summaries.lost_all(p)]
    series = {name: points for name, points in series.items() if points}
    return chart(series, experiment["x_title"], experiment["unit"])
