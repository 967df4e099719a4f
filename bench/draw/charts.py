"""Every chart of a run, by altair, as SVG files for light and dark pages.

The report embeds the same files. All charts are WIDTH wide, so that their
labels stay legible on a narrow screen.
"""

import math
import os
import textwrap

import altair as alt

from bench.analyse.sentences import number
from bench.analyse.summary import lost_all, point_at, reference_x
from bench.draw import points, styles

WIDTH, HEIGHT, BAR = 480, 330, 26
FONT = "Helvetica, Arial, sans-serif"
WHISKERS = "whiskers: interval of the median"
LOST = "\N{MULTIPLICATION SIGN}: lost requests or runs"
HOLLOW = f"hollow: server core less than {points.BUSY:.0f} % busy, the " \
         "load was the limit"


def draw(summary, folder):
    """Write the charts of a summary into `folder`, each as NAME.svg and
    NAME_dark.svg; return [{"experiment", "variant", "title", "light",
    "dark"}, ...], the last two being names of files."""
    made = []
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            base = "_".join([experiment["name"], *filter(None, [
                variant.replace(", ", "_").replace(" ", "-")])])
            for kind, maker in KINDS:
                one = {"experiment": experiment["name"], "variant": variant}
                for theme, suffix in (("light", ""), ("dark", "_dark")):
                    chart = maker(Page(summary, experiment, variant, theme))
                    if chart is None:
                        break
                    one[theme] = f"{base}_{kind}{suffix}.svg"
                    one["title"] = " ".join(chart.title.text)
                    chart.configure(**config(theme)).save(
                        os.path.join(folder, one[theme]))
                else:
                    made.append(one)
    return made


def config(theme):
    """Return the look of all charts in a theme, "light" or "dark"."""
    look = styles.THEMES[theme]
    words = {"labelColor": look["quiet"], "titleColor": look["quiet"],
             "labelFontSize": 12, "titleFontSize": 12,
             "titleFontWeight": "normal"}
    return {
        "background": look["ground"], "font": FONT, "aria": False,
        "view": {"stroke": None}, "padding": 6,
        "axis": {**words, "gridColor": look["grid"], "labelLimit": 150,
                 "domainColor": look["axis"], "tickColor": look["axis"]},
        "legend": {**words, "labelColor": look["text"], "orient": "bottom",
                   "columns": 4, "symbolSize": 80, "title": None},
        "title": {"anchor": "start", "frame": "bounds", "fontSize": 14,
                  "color": look["text"], "subtitleColor": look["quiet"],
                  "subtitleFontSize": 11.5, "offset": 10},
        "text": {"color": look["text"], "fontSize": 12},
        "rule": {"color": look["text"]},
    }


class Page:
    """What one chart is made of: the curves of a variant, in a theme."""

    def __init__(self, summary, experiment, variant, theme):
        self.experiment, self.variant = experiment, variant
        self.look, self.theme = styles.THEMES[theme], theme
        self.curves = [one for one in experiment["curves"]
                       if one["variant"] == variant]
        self.titles = {s["name"]: s["title"] for s in summary["servers"]}
        self.published_as = {s["name"]: s.get("published_as") or s["name"]
                             for s in summary["servers"]}
        self.styles = {s["title"]: styles.style(s["name"], place)
                       for place, s in enumerate(summary["servers"])}
        self.at = reference_x(experiment, variant)

    def title(self, text, *said):
        """Return a title: the experiment, what is drawn, how to read it."""
        name = self.experiment["title"] + (f", {self.variant}"
                                           if self.variant else "")
        return alt.Title(textwrap.wrap(f"{name}: {text}", 58), subtitle=[
            line for one in filter(None, said)
            for line in textwrap.wrap(one, 76)])

    def colour(self, names):
        """Return the channels of colour and shape for servers (titles)."""
        each = [self.styles[name] for name in names]
        return (alt.Color("server:N", sort=names, scale=alt.Scale(
                    domain=names, range=[one[self.theme] for one in each])),
                alt.Shape("server:N", sort=names, scale=alt.Scale(
                    domain=names,
                    range=[styles.MARKERS[one["marker"]] for one in each])))

    def rows(self, key):
        """Return the points of all curves as rows of a chart. `key` is "rate"
        or "can_do"; a whisker ends at `low` and `high`. The line of a curve
        breaks where nothing was answered: before and after it, its `part` is
        another one."""
        rows = []
        for one in self.curves:
            part = 0
            for p in one["points"]:
                fallen = key == "rate" and lost_all(p)
                part += fallen
                ends = points.interval(p, "rate" if key == "rate"
                                       else "cpu_us")
                if key == "rate":
                    y = p["rate"]["median"] if p["rate"] else 0
                else:
                    y = p["rate"] and points.can_do(p)
                    ends = ends and [1e6 / end for end in ends[::-1] if end]
                if y or fallen:
                    sign = points.mark(p)
                    rows.append({
                        "server": self.titles[one["server"]], "x": p["x"],
                        "y": y, "part": part, "fallen": fallen,
                        "mark": "" if key != "rate" and sign == "load"
                                else sign,
                        "low": ends[0] if ends else y,
                        "high": ends[-1] if ends else y,
                        "text": ", ".join(filter(None, [
                            number(y), points.lost(p)]))})
        return rows

    def names(self, rows):
        """Return the servers (titles) of rows in the order of the tables."""
        return [name for name in self.styles
                if any(row["server"] == name for row in rows)]


def cost(page):
    """Return bars of the CPU time a request costs, user and system, at the
    reference; None when there is no figure."""
    rows, ends = [], []
    for one in page.curves:
        point = point_at(one, page.at)
        total = point and point["rate"] and point["values"].get("cpu_us")
        if not total:
            continue
        name = page.titles[one["server"]]
        low, high = points.interval(point, "cpu_us") or (total, total)
        for part in ("user", "system"):
            us = point["values"].get(f"cpu_{part}_us") or 0
            rows.append({"server": name, "part": part, "us": us})
        ends.append({"server": name, "low": low, "high": high,
                     "end": max(high, total),
                     "text": ", ".join(filter(None, [number(total),
                                                     points.lost(point)]))})
    if not rows:
        return None
    names = page.names(rows)
    y = alt.Y("server:N", sort=names, title=None)
    bar = alt.Chart(alt.Data(values=rows)).mark_bar(height=16).encode(
        x=alt.X("us:Q", title="microseconds of CPU a request",
                scale=room(ends)),
        y=y, order=alt.Order("part:N", sort="descending"),
        color=alt.Color("part:N", sort=["user", "system"], scale=alt.Scale(
            domain=["user", "system"],
            range=[page.look["user"], page.look["system"]])))
    return whole(alt.layer(bar, *over_bars(alt.Data(values=ends), y)), page,
                 len(names), f"CPU time a request, "
                 f"{page.at:,} {page.experiment['x_short']}",
                 "Children included" + (f"; {WHISKERS}" if any(
                     one["high"] > one["low"] for one in ends) else ""))


def can_do(page):
    """Return what one core can do: 1,000,000 / CPU microseconds a request."""
    return _by_x(page, "can_do", "requests a second that one core can do",
                 "1,000,000 / CPU microseconds a request")


def reached(page):
    """Return the rates that were reached."""
    return _by_x(page, "rate", f"{page.experiment['unit']} reached", "")


def _by_x(page, key, text, said):
    """Return curves by x, or bars when there is one x only."""
    rows = page.rows(key)
    if not any(row["y"] for row in rows):
        return None
    said = "; ".join(filter(None, [
        said, any(row["high"] > row["low"] for row in rows) and WHISKERS,
        any(row["mark"] == "load" for row in rows) and HOLLOW,
        any(row["mark"] == "lost" for row in rows) and LOST]))
    names = page.names(rows)
    if len({row["x"] for row in rows}) == 1:
        return _bars(page, rows, names, text, said)
    # Both charts of a variant have one scale, so that they can be compared.
    both = [row[end] for which in ("rate", "can_do")
            for row in page.rows(which) for end in ("low", "high", "y")
            if row[end]]
    low, high = min(both) / 1.15, max(both) * 1.15
    for row in rows:
        row.update({end: max(row[end], low) for end in ("y", "low", "high")})
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    colour, shape = page.colour(names)
    base = curves(page, rows).encode(color=colour)
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis(low, high))
    line = base.mark_line(strokeWidth=2).encode(
        y=y, detail="part:N").transform_filter("!datum.fallen")
    whisker = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("low:Q", scale=scale), y2="high:Q")
    layers = [line, whisker, *markers(base.encode(y=y), shape, page, 70)]
    if page.experiment["open_loop"] and key == "rate":
        layers.insert(0, alt.Chart(alt.Data(values=[
            {"x": row["x"], "y": row["x"]} for row in rows
            if low <= row["x"] <= high])).mark_line(
                strokeDash=[2, 3], color=page.look["quiet"]).encode(
                    x="x:Q", y="y:Q"))
        said = f"Dotted: what was demanded; {said}"
    return whole(alt.layer(*layers), page, 0, text, said)


def _bars(page, rows, names, text, said):
    """Return a bar for each server, at the only x."""
    for row in rows:
        row["end"] = max(row["high"], row["y"])
    data = alt.Data(values=rows)
    y = alt.Y("server:N", sort=names, title=None)
    bar = alt.Chart(data).mark_bar(height=16, strokeWidth=1.5).encode(
        x=alt.X("y:Q", title=None, scale=room(rows),
                axis=alt.Axis(format=",", tickCount=5)), y=y,
        color=page.colour(names)[0].legend(None),
        stroke=alt.Stroke("server:N", scale=page.colour(names)[0]["scale"],
                          legend=None),
        fillOpacity=alt.condition("datum.mark == ''", alt.value(1),
                                  alt.value(0.12)))
    return whole(alt.layer(bar, *over_bars(data, y)), page, len(names),
                 f"{text}, {rows[0]['x']:,} {page.experiment['x_short']}",
                 said.replace("; " + LOST, ""))


def published(page):
    """Return the published figures above ours, each as a share of its best.
    Of ours, only points count at which the server was the limit: the best
    rate of the others is not known. None when that leaves none."""
    given = page.experiment["published"]
    if not given or page.variant != page.experiment["variants"][0]:
        return None
    ours = {page.titles[one["server"]]: {
        p["x"]: p["rate"]["median"] for p in one["points"]
        if p["rate"] and points.busy(p)} for one in page.curves}
    absent = [name for name, each in ours.items() if not each]
    ours = {name: each for name, each in ours.items() if each}
    if not ours:
        return None
    said = ("Not drawn, because the load was always the limit: "
            + ", ".join(absent)) if absent else ""
    known = {page.published_as.get(name, name): title
             for name, title in page.titles.items()}
    theirs = {known.get(name, name): dict(each)
              for name, each in given["series"].items()}
    if not theirs:
        return _best(page, given["best"], ours, said)
    for name in sorted(set(theirs) - set(page.styles)):
        page.styles[name] = styles.style(name, len(page.styles))
    panels = []
    for who, series in (("published", theirs), ("measured here", ours)):
        rows = [{"server": name, "x": x, "y": y / max(each.values()),
                 "mark": "", "who": who}
                for name, each in series.items() for x, y in each.items()]
        panels.append((who, rows))
    names = page.names([row for _, rows in panels for row in rows])
    colour, shape = page.colour(names)
    xs = [row["x"] for _, rows in panels for row in rows]
    made = []
    for who, rows in panels:
        base = curves(page, rows, min(xs), max(xs), who).encode(
            color=colour, y=alt.Y("y:Q", title=who, axis=alt.Axis(
                format="%", tickCount=5), scale=alt.Scale(domain=[0, 1.04])))
        made.append(alt.layer(base.mark_line(strokeWidth=2), *markers(
            base, shape, page, 40)).properties(width=WIDTH - 80, height=150))
    return alt.vconcat(*made, spacing=14, title=page.title(
        "share of the best rate, published and measured here", said))


def _best(page, best, ours, said):
    """Return bars of the best figures, ours above the published ones."""
    rows = []
    for who, series in (("", {name: max(each.values())
                              for name, each in ours.items()}),
                        (", published", best)):
        rows += [{"server": name + who, "y": y / max(series.values()),
                  "mine": name if not who else "",
                  "text": f"{100 * y / max(series.values()):.0f} %"}
                 for name, y in sorted(series.items(), key=lambda s: -s[1])]
    for row in rows:
        row.update(low=row["y"], high=row["y"], end=row["y"],
                   fill=page.styles[row["mine"]][page.theme]
                   if row["mine"] else page.look["other"])
    y = alt.Y("server:N", sort=[row["server"] for row in rows], title=None)
    data = alt.Data(values=rows)
    bar = alt.Chart(data).mark_bar(height=16).encode(
        x=alt.X("y:Q", title=None, scale=room(rows),
                axis=alt.Axis(format="%", tickCount=5)),
        y=y, color=alt.Color("fill:N", scale=None))
    return whole(alt.layer(bar, *over_bars(data, y)), page, len(rows),
                 "best rates, as a share of the best measured here and of "
                 "the best published", said)


def curves(page, rows, low=None, high=None, who=""):
    """Return the base of a chart of curves, with its x axis."""
    xs = [row["x"] for row in rows]
    low, high = low or min(xs), high or max(xs)
    return alt.Chart(alt.Data(values=rows)).encode(x=alt.X(
        "x:Q", axis=axis(low, high),
        title=None if who == "published" else page.experiment["x_title"],
        scale=alt.Scale(type="log", nice=False,
                        domain=[low / 1.1, high * 1.1])))


def markers(base, shape, page, size):
    """Return the layers of points: full, hollow, and crossed out."""
    full = base.mark_point(size=size, filled=True, opacity=1).encode(
        shape=shape).transform_filter("datum.mark == ''")
    hollow = base.mark_point(size=size, filled=True, opacity=1,
                             strokeWidth=1.5).encode(
        shape=shape, color=alt.value(page.look["ground"]),
        stroke=alt.Stroke("server:N", legend=None,
                          scale=base.encoding.color["scale"])).transform_filter(
            "datum.mark == 'load'")
    lost = base.mark_point(shape=styles.LOST, size=size, opacity=1,
                           strokeWidth=2.2).transform_filter(
                               "datum.mark == 'lost'")
    return full, hollow, lost


def over_bars(data, y):
    """Return the layers of whiskers and figures at the ends of bars."""
    whisker = alt.Chart(data).mark_rule(strokeWidth=1.5).encode(
        x="low:Q", x2="high:Q", y=y).transform_filter("datum.high > datum.low")
    text = alt.Chart(data).mark_text(align="left", dx=6).encode(
        x="end:Q", y=y, text="text:N")
    return whisker, text


def room(rows):
    """Return the scale of bars that leaves room for the longest figure."""
    longest = max(len(row["text"]) for row in rows)
    share = 1 - min(0.5, 0.022 * (longest + 1))
    return alt.Scale(domain=[0, max(row["end"] for row in rows) / share],
                     nice=False)


def axis(low, high):
    """Return a logarithmic axis with ticks at 1, 2 and 5 of each decade, or
    at 1 only where these would be too many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    ticks = [step * 10 ** power for power in decades for step in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    if len(inside) > 11:
        inside = [tick for tick in inside if str(tick)[0] == "1"]
    return alt.Axis(values=inside, format=",", labelOverlap="greedy")


def whole(chart, page, bars, text, said):
    """Return a chart with its title and size; `bars` is their number, 0 for
    curves."""
    return chart.properties(
        width=WIDTH, height=90 + BAR * bars if bars else HEIGHT,
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
        title=page.title(text, said))


KINDS = (("cost", cost), ("can_do", can_do), ("rate", reached),
         ("published", published))
