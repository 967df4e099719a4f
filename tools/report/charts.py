"""Every chart of a run, by altair, as SVG files for light and dark pages. All are WIDTH wide, so
that their labels stay legible on a narrow screen."""

import math
import pathlib
import statistics as stats
import textwrap

import altair as alt
import vl_convert

from tools.report import styles, table
from tools.stats.bottleneck import WHOLE_CORE, core_was_limit
from tools.stats.sentences import number, points_at, reference_x
from tools.stats.summary import BURST

WIDTH, HEIGHT, BAR = 480, 330, 26
TICKS = (1, 10, 20, 100, 1_000, 10_000, 100_000)    # of x; fewer are easier to read
WHISKERS = "whiskers: 95 % interval"
WITH_INTERVAL = ("rate", "cpu_us", "p99_ms")
HOLLOW = f"hollow: server core less than {WHOLE_CORE:.0f} % busy, so its CPU was not the limit"
LOST = f"{table.LOST}: lost requests or runs"
MODEL = "dashed: the model, from cells with 20 clients or fewer"
BURSTS = f"grey ground: bursts, fewer than {BURST} requests a client"
WORDS = {"labelColor": styles.QUIET[0], "titleColor": styles.QUIET[0], "labelFontSize": 12,
         "titleFontSize": 12, "titleFontWeight": "normal"}
CONFIG = {
    "background": styles.GROUND[0], "aria": False, "padding": 6,
    "font": "Helvetica, Arial, sans-serif", "view": {"stroke": None},
    "axis": {**WORDS, "gridColor": styles.GRID[0], "labelLimit": 210,
             "domainColor": styles.AXIS[0], "tickColor": styles.AXIS[0],
             "labelOverlap": "greedy", "labelSeparation": 8},
    "axisX": {"grid": False},
    "legend": {**WORDS, "labelColor": styles.TEXT[0], "orient": "bottom",
               "columns": 4, "columnPadding": 18, "title": None},
    "title": {"anchor": "start", "frame": "bounds", "fontSize": 14,
              "color": styles.TEXT[0], "subtitleColor": styles.QUIET[0],
              "subtitleFontSize": 11.5, "offset": 10},
    "text": {"color": styles.TEXT[0], "fontSize": 12},
    "rule": {"color": styles.TEXT[0], "strokeWidth": 1.5},
}


def draw(summary, folder):
    """Write the charts into `folder`; return [{"experiment", "variant", "title", "file"}]."""
    made = []
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            page = Page(summary, experiment, variant)
            name = "_".join(filter(None, (experiment["name"], variant)))
            for kind, chart in (("cost", cost(page)), ("rate", by_x(page, "rate")),
                                ("p99_ms", by_x(page, "p99_ms")),
                                ("published_rate", published_curves(page)),
                                ("published", published(page))):
                if chart:
                    path = f"{name}_{kind}.svg".replace(", ", "_").replace(" ", "-")
                    pathlib.Path(folder, path).write_text(styles.adapted(svg(chart)), "utf-8")
                    made.append({"experiment": experiment["name"], "variant": variant,
                                 "file": path, "title": " ".join(chart.title.text)})
    return made


def svg(chart):
    """Return an altair chart as SVG for white ground. Its save() would first compare the chart
    with the schema of Vega-Lite, which takes longer than to draw it."""
    return vl_convert.vegalite_to_svg(
        chart.configure(**CONFIG).to_dict(validate=False),
        vl_version=".".join(alt.SCHEMA_VERSION.split(".")[:2]))


class Page:
    """What the charts of a variant are made of: `titles` of the servers by name, `looks` (their
    styles) by title. Curves have a logarithmic scale, or a `linear` one from 0."""

    linear = False

    def __init__(self, summary, experiment, variant):
        self.experiment, self.variant = experiment, variant
        self.curves = [one for one in experiment["curves"] if one["variant"] == variant]
        self.titles = {s["name"]: s["title"] for s in summary["servers"]}
        self.looks = {s["title"]: styles.style(s["name"], place)
                      for place, s in enumerate(summary["servers"])}

    def rows(self, key):
        """Return the points of all curves as rows of a chart, `key` by x. A curve breaks where
        there is no figure."""
        return [self.row(one["server"], point, key)
                for one in self.curves for point in one["points"]]

    def row(self, server, point, key):
        """Return a row of a chart, with a whisker from `low` to `high`; `key` is as for
        table.known(). A cost is a cost, whatever the limit was."""
        y, low, high = table.known(point, key) or (None, None, None)
        mark = table.mark(point)
        mark = mark if key == "rate" or mark == "lost" else ""
        return {"server": self.titles[server], "x": point["x"], "y": y, "low": low,
                "high": high, "mark": mark, "text": table.SIGNS[mark] + number(y),
                "burst": point.get("burst", False),
                "model": point.get("predicted") if key == "rate" else None}

    def chart(self, layers, text, said, height, right=6):
        """Return the chart of these layers, with `right` pixels of room beyond them.
        `text` is what is drawn, `said` how to read it."""
        return alt.layer(*layers).properties(
            width=WIDTH, height=height, title=self.title(text, said),
            padding={"left": 6, "top": 6, "bottom": 6, "right": right},
            autosize=alt.AutoSizeParams(type="fit", contains="padding"))

    def title(self, text, said):
        """Return the title of a chart, in lines that fit."""
        name = ", ".join(filter(None, [self.experiment["title"], self.variant]))
        return alt.Title(textwrap.wrap(f"{name}: {text}", 50),
                         subtitle=textwrap.wrap(said[:1].upper() + said[1:], 68))

    def lines(self, rows, ends, text, said):
        """Return the chart of these rows as curves, on a scale that holds all of `ends`."""
        domain = [0, max(ends) * 1.05] if self.linear else [min(ends) / 1.15, max(ends) * 1.15]
        said += f"; {BURSTS}" if any(one.get("burst") for one in rows) else ""
        title = self.title(text, said)
        # What is left of the height below the title and above the axis, at least.
        inner = HEIGHT - 70 - 18 * len(title.text) - 15 * len(title.subtitle)
        return self.chart(
            [*curves(self, rows, domain), *labels(self, rows, domain, inner)], text, said, HEIGHT,
            # The letters of some machines are wider than those that the chart is made for.
            6 + 1.5 * max(len(one["server"]) for one in rows))


def cost(page):
    """Return bars of the CPU time a request costs at the reference; None without a figure, and
    where costs are compared at an equal rate."""
    if page.experiment["drawn"]:
        return None
    x = reference_x(page.experiment, page.variant)
    found = {server: point for server, point in points_at(
        page.experiment, page.variant, x).items() if table.known(point, "cpu_us")}
    return bars(
        page, [page.row(*one, "cpu_us") for one in found.items()],
        f"CPU microseconds a request, {x:,} {page.experiment['x_short']}",
        f"with children; {WHISKERS}",
        alt.Data(values=[{"server": page.titles[server], "part": part,
                          "y": point["values"].get(f"cpu_{part}_us") or 0}
                         for server, point in found.items() for part in ("user", "system")]),
        order=alt.Order("part:N", sort="descending"),
        color=alt.Color("part:N", sort=["user", "system"], scale=alt.Scale(
            domain=["user", "system"], range=[styles.USER[0], styles.SYSTEM[0]]))
    ) if found else None


def by_x(page, key):
    """Return the rates that were reached ("rate"), what a request costs ("cpu_us"), within which
    time 99 % of the answers came ("p99_ms"), the mean time ("mean_ms", which httperf rounds: 0 is
    not drawn) or the per cent that failed ("failed_percent", on a linear scale): curves by x, bars
    when there is one x only. None without figures, for "p99_ms" in a closed loop, whose response
    times are its rate once more, and for the rate where all get the same."""
    text, said = {
        "cpu_us": ("CPU microseconds a request", "with children"),
        "rate": (f"{page.experiment['unit']} reached", HOLLOW),
        "p99_ms": ("99 % of the answers come within this time, ms",
                   "from sending, or from when it was due, if its connection was busy"
                   if "h2load-rate" in page.experiment["latency"]
                   else "from the time when a request was due"),
        "mean_ms": ("mean response time, ms", "shorter than 0.05 ms: not drawn"),
        "failed_percent": ("requests that failed or timed out, %", "of all that were due")}[key]
    said = f"{said}; {WHISKERS}; {LOST}" if key in WITH_INTERVAL else f"{said}; {LOST}"
    page.linear = key == "failed_percent"
    rows = [{**one, "y": one["y"] if one["y"] or page.linear else None} for one in page.rows(key)]
    known = [one for one in rows if one["y"] is not None]
    if not known or key == "p99_ms" and not page.experiment["open_loop"] \
            or key == "rate" and page.experiment["of"]:
        return None
    if len({one["x"] for one in rows}) == 1:
        return bars(page, known, f"{text}, {rows[0]['x']:,} {page.experiment['x_short']}", said)
    ends = [one[end] for one in known for end in ("low", "high")]
    said += f"; {MODEL}" if any(one["model"] for one in rows) else ""
    return page.lines(rows, ends, text, said)


def counted(page, figure):
    """Return (curves of a figure that a hook of a study counted, medians by x; the same in words).
    Raises ValueError without any."""
    rows = [{"server": page.titles[one["server"]], "x": one["x"], "y": one["median"],
             "low": one["median"], "high": one["median"], "mark": "", "model": None}
            for one in page.experiment.get("counted", ())
            if (one["variant"], one["figure"]) == (page.variant, figure)]
    ends = [one["y"] for one in rows]
    return page.lines(rows, ends, figure, "medians of all rounds"), "; ".join(
        f"{one['server']} {one['x']:,}: {number(one['y'])}" for one in rows)


def published(page):
    """Return the best figure of each server, ours above the published ones, each as a share
    of the best. Of ours, only points count at which the server was the limit: the best rate
    of the others is not known. None when that leaves none."""
    given = page.experiment["published"]
    ours = {page.titles[one["server"]]: max((
        p["rate"]["middle"] for p in one["points"] if p["rate"]
        and core_was_limit(p["values"])), default=0) for one in page.curves}
    if not given or not any(ours.values()) or page.variant != page.experiment["variants"][0]:
        return None
    theirs = given["best"] or {name: max(series.values())
                               for name, series in given["series"].items()}
    rows = [{"server": page.titles.get(name, name) + who, "mark": "",
             "y": rate / max(figures.values()), "low": 0, "high": 0,
             "text": f"{100 * rate / max(figures.values()):.0f} %"}
            for who, figures in (("", ours), (", published", theirs))
            for name, rate in sorted(figures.items(), key=lambda one: -one[1]) if rate]
    absent = ", ".join(name for name, rate in ours.items() if not rate)
    return bars(
        page, rows, "best rates, as a share of the best measured here and of the best published",
        f"not drawn, because the core was never {WHOLE_CORE:.0f} % busy: {absent}"
        if absent else "", form="%")


def published_curves(page):
    """Return the published rates of our servers by x, in their colours and as far as x was measured
    here, to stand next to what was reached; None where one x was measured, or none published."""
    given = page.experiment["published"]
    xs = {point["x"] for one in page.curves for point in one["points"]}
    rows = [{"server": page.titles[one["server"]], "x": int(x), "y": rate, "low": rate,
             "high": rate, "mark": "", "model": None}
            for one in page.curves if given
            for x, rate in given["series"].get(one["server"], {}).items()
            if min(xs) <= int(x) <= max(xs)]
    if len(xs) < 2 or not rows or page.variant != page.experiment["variants"][0]:
        return None
    return page.lines(rows, [one["y"] for one in rows],
                       f"{page.experiment['unit']} published", given["where"])


def ticks(xs):
    """Return the values of x that an axis names."""
    found = [x for x in TICKS if xs[0] <= x <= xs[-1] and x != 20 or x == xs[0]]
    if len(found) < 2 or not xs[0]:
        return xs
    return found + [xs[-1]] * (xs[-1] > 2.5 * found[-1])


def levels(page, low, high):
    """Return the values of y that an axis names, up to five; or Undefined."""
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10 ** power for power in range(-3, 8) for step in steps
                 if low <= step * 10 ** power <= high]
        if 2 <= len(found) <= 5 and not page.linear:
            return found
    return alt.Undefined


def spread(places, room, apart=14):
    """Return increasing places, in pixels, at which labels are `apart` or more from each other and
    within `room`. Labels that would touch move together, and the middle of them stays."""
    groups = [[place] for place in places]
    while True:
        close = next((n for n in range(1, len(groups))
                      if stats.mean(groups[n]) - stats.mean(groups[n - 1])
                      < apart / 2 * len(groups[n - 1] + groups[n])), None)
        if close is None:
            break
        groups[close - 1:close + 1] = [groups[close - 1] + groups[close]]
    made = [stats.mean(group) + apart * (n - (len(group) - 1) / 2)
            for group in groups for n in range(len(group))]
    return [place - max(0, made[-1] - room) for place in made]


def labels(page, rows, domain, inner):
    """Return the layers that name each curve next to its end, with its marker. `inner` is the
    height of the scale in pixels."""
    last = {one["server"]: one["y"] for one in rows if one["y"]}
    along, back = (float, float) if page.linear else (math.log, math.exp)
    low, high = map(along, domain)
    names = sorted(last, key=last.get)
    places = spread([inner * (along(last[name]) - low) / (high - low) for name in names], inner)
    base = alt.Chart(alt.Data(values=[
        {"server": name, "x": max(one["x"] for one in rows),
         "y": back(low + place * (high - low) / inner)} for name, place in zip(names, places)]
        )).encode(x="x:Q", y="y:Q")
    layers = []
    for name in names:
        look, one = page.looks[name], base.transform_filter(alt.datum.server == name)
        grey = look["light"] == styles.AXIS[0]
        layers += [one.mark_point(filled=True, size=70, opacity=1, xOffset=14, color=look["light"],
                                  shape=styles.MARKERS[look["marker"]]),
                   one.mark_text(align="left", dx=22, color=(
                       styles.QUIET if grey else styles.TEXT)[0]).encode(text="server:N")]
    return layers


def burst_start(rows):
    """Return where the bursts of a chart begin: between the last x without one and the next; at 0
    if all are bursts; None without any."""
    bursts = {one["x"] for one in rows if one.get("burst")}
    others = {one["x"] for one in rows} - bursts
    if not bursts:
        return None
    before = max((x for x in others if x < min(bursts)), default=0)
    return math.sqrt(before * min(bursts))


def curves(page, rows, domain):
    """Return the layers of curves: lines, whiskers, points that are full, hollow, or crossed
    out, and dashed lines of what the model predicts, cut where they leave the `domain`."""
    xs = sorted({one["x"] for one in rows})
    order = list(dict.fromkeys(one["server"] for one in rows))
    looks = [page.looks[name] for name in order]
    across = {"title": page.experiment["x_title"],
              "axis": alt.Axis(values=ticks(xs), format=","),
              "scale": alt.Scale(type="log" if xs[0] else "symlog", nice=False,
                                 domain=[xs[0] / 1.1, xs[-1] * 1.1])}
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", **across),
        y=alt.Y("y:Q", title=None, axis=alt.Axis(
            format=",~r", tickCount=5, values=levels(page, *domain)),
                scale=alt.Scale(type="linear" if page.linear else "log", domain=domain,
                                nice=False)),
        color=alt.Color("server:N", sort=order, legend=None, scale=alt.Scale(
            domain=order, range=[one["light"] for one in looks])))
    shape = alt.Shape("server:N", sort=order, legend=None, scale=alt.Scale(
        domain=order, range=[styles.MARKERS[one["marker"]] for one in looks]))
    marks = {"": {"filled": True}, "lost": {"strokeWidth": 2.2},
             "load": {"fill": styles.GROUND[0], "strokeWidth": 1.5}}
    start = burst_start(rows)
    return [
        *([alt.Chart(alt.Data(values=[{"from": max(start, xs[0] / 1.1), "to": xs[-1] * 1.1}]))
           .mark_rect(color=styles.GRID[0]).encode(x=alt.X("from:Q", **across), x2="to:Q")]
          if start is not None else []),
        base.mark_line(strokeWidth=2), base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q")
        .transform_filter("datum.high > datum.low"),
        *(base.mark_point(size=70, opacity=1, **how).encode(
            shape=alt.value(styles.LOST) if mark == "lost" else shape)
          .transform_filter(f"datum.mark == '{mark}'") for mark, how in marks.items()),
        *([base.mark_line(strokeWidth=1.5, strokeDash=[5, 4], clip=True).encode(y="model:Q")
          .transform_filter("datum.model")] if any(one["model"] for one in rows) else [])]


def bars(page, rows, text, said, parts=None, form=",~f", **channels):
    """Return a bar for each of `rows` in the colour of its server, or of stacked `parts`
    coloured by `channels`, with whiskers and a figure at its end."""
    for one in rows:        # grey: a published one
        one["colour"] = page.looks.get(one["server"], {"light": styles.AXIS[0]})["light"]
    channels = channels or {
        "color": alt.Color("colour:N", scale=None),
        "stroke": alt.Stroke("colour:N", scale=None),
        "fillOpacity": alt.condition("datum.mark == 'load'", alt.value(0.12), alt.value(1))}
    names = [one["server"] for one in rows]
    # Room for names and figures in any font.
    y = alt.Y("server:N", sort=names, title=None, axis=alt.Axis(
        minExtent=min(210, 7.5 * max(map(len, names)) + 8)))
    share = 1 - min(0.5, 0.024 * max(len(one["text"]) + 2 for one in rows))
    top = max(max(one["high"], one["y"]) for one in rows) / share
    data = alt.Data(values=rows)
    bar = alt.Chart(parts or data).mark_bar(height=16, strokeWidth=1.5).encode(
        x=alt.X("y:Q", title=None, axis=alt.Axis(
            format=form, tickCount=5,
            values=[0, .25, .5, .75, 1] if form == "%" else alt.Undefined),
                scale=alt.Scale(domain=[0, top], nice=False)), y=y, **channels)
    whisker = alt.Chart(data).mark_rule().encode(
        x="low:Q", x2="high:Q", y=y).transform_filter("datum.high > datum.low")
    figure = alt.Chart(data).transform_calculate(
        end="max(datum.y, datum.high)").mark_text(align="left", dx=6).encode(
            x="end:Q", y=y, text="text:N")
    return page.chart([bar, whisker, figure], text, said, 90 + BAR * len(rows))
