"""Every chart of a run, by altair, as SVG files for light and dark pages.

The report embeds the same files. All charts are WIDTH wide, so that their
labels stay legible on a narrow screen.
"""

import os
import textwrap

import altair as alt

from bench.analyse.sentences import number
from bench.analyse.summary import lost_all, point_at, reference_x
from bench.draw import points, styles

WIDTH, HEIGHT, BAR = 480, 330, 26
WHISKERS = "whiskers: interval of the median"
LOST = "\N{MULTIPLICATION SIGN}: lost requests or runs"
HOLLOW = f"hollow: server core less than {points.BUSY:.0f} % busy, so the " \
         "server was not the limit"


def draw(summary, folder):
    """Write the charts of a summary into `folder`, each as NAME.svg and
    NAME_dark.svg; return [{"experiment", "variant", "title", "light",
    "dark"}, ...], the last two being names of files."""
    made = []
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            name = "_".join(filter(None, (experiment["name"], variant)))
            name = name.replace(", ", "_").replace(" ", "-")
            for kind, maker in (("cost", cost), ("can_do", can_do),
                                ("rate", reached), ("published", published)):
                one = {"experiment": experiment["name"], "variant": variant}
                for theme, end in (("light", ""), ("dark", "_dark")):
                    page = Page(summary, experiment, variant, theme)
                    chart = maker(page)
                    if chart:
                        one["title"] = " ".join(chart.title.text)
                        one[theme] = f"{name}_{kind}{end}.svg"
                        chart.configure(**config(page.look)).save(
                            os.path.join(folder, one[theme]))
                if "title" in one:
                    made.append(one)
    return made


def config(look):
    """Return how all charts look in a theme of styles.THEMES."""
    words = {"labelColor": look["quiet"], "titleColor": look["quiet"],
             "labelFontSize": 12, "titleFontSize": 12,
             "titleFontWeight": "normal"}
    return {
        "background": look["ground"], "aria": False, "padding": 6,
        "font": "Helvetica, Arial, sans-serif", "view": {"stroke": None},
        "axis": {**words, "gridColor": look["grid"], "labelLimit": 210,
                 "domainColor": look["axis"], "tickColor": look["axis"],
                 "labelOverlap": "greedy", "labelSeparation": 8},
        "legend": {**words, "labelColor": look["text"], "orient": "bottom",
                   "columns": 4, "columnPadding": 18, "title": None},
        "title": {"anchor": "start", "frame": "bounds", "fontSize": 14,
                  "color": look["text"], "subtitleColor": look["quiet"],
                  "subtitleFontSize": 11.5, "offset": 10},
        "text": {"color": look["text"], "fontSize": 12},
        "rule": {"color": look["text"], "strokeWidth": 1.5},
    }


class Page:
    """What the charts of a variant are made of, in a theme. `titles` are
    those of the servers, by name; `looks` are their styles, by title."""

    def __init__(self, summary, experiment, variant, theme):
        self.experiment, self.variant = experiment, variant
        self.theme, self.look = theme, styles.THEMES[theme]
        self.curves = [one for one in experiment["curves"]
                       if one["variant"] == variant]
        self.titles = {s["name"]: s["title"] for s in summary["servers"]}
        self.looks = {s["title"]: styles.style(s["name"], place)
                      for place, s in enumerate(summary["servers"])}

    def rows(self, key):
        """Return the points of all curves as rows of a chart. `key` is "rate"
        or "can_do". The line of a curve breaks where nothing was answered:
        `part` counts these points."""
        rows = []
        for one in self.curves:
            part = 0
            for p in one["points"]:
                fallen = key == "rate" and lost_all(p)
                part += fallen
                found = points.figure(p, key) or fallen and (0, 0, 0)
                if found:
                    rows.append(row(self.titles[one["server"]], found, p,
                                    x=p["x"], part=part, fallen=fallen))
        return rows

    def chart(self, layers, text, said, height):
        """Return the chart of these layers. `text` is what is drawn, `said`
        how to read it."""
        name = ", ".join(filter(None, [self.experiment["title"],
                                       self.variant]))
        said = "; ".join(said)
        return alt.layer(*layers).properties(
            width=WIDTH, height=height, title=alt.Title(
                textwrap.wrap(f"{name}: {text}", 50),
                subtitle=textwrap.wrap(said[:1].upper() + said[1:], 68)),
            autosize=alt.AutoSizeParams(type="fit", contains="padding"))


def row(name, figure, point, **more):
    """Return a row of a chart, with a whisker from `low` to `high`; `figure`
    is as points.figure() returns it."""
    text, percent = number(figure[0]), point["values"].get("failed_percent")
    if point["hollow"]:
        text += ", lost " + (f"{percent:.2g} %" if percent else "runs")
    return {"server": name, **dict(zip(("y", "low", "high"), figure)),
            "mark": points.mark(point), "text": text, **more}


def cost(page):
    """Return bars of the CPU time a request costs, user and system, at the
    reference; None when there is no figure."""
    x, rows, parts = reference_x(page.experiment, page.variant), [], []
    for one in page.curves:
        point = point_at(one, x)
        if point and points.figure(point, "cpu_us"):
            name = page.titles[one["server"]]
            rows.append(row(name, points.figure(point, "cpu_us"), point))
            parts += [{"server": name, "part": part,
                       "y": point["values"].get(f"cpu_{part}_us") or 0}
                      for part in ("user", "system")]
    return bars(
        page, rows, "microseconds of CPU time a request, "
        f"{x:,} {page.experiment['x_short']}", ["children included"],
        alt.Data(values=parts), order=alt.Order("part:N", sort="descending"),
        color=alt.Color("part:N", sort=["user", "system"], scale=alt.Scale(
            domain=["user", "system"],
            range=[page.look["user"], page.look["system"]]))
    ) if rows else None


def can_do(page):
    """Return what one core can do: 1,000,000 / CPU microseconds a request."""
    rows = page.rows("can_do")
    for one in rows:        # whatever the limit was, a cost is a cost
        one["mark"] = one["mark"].replace("load", "")
    return by_x(page, rows, "requests a second that one core can do",
                ["1,000,000 / CPU microseconds a request"])


def reached(page):
    """Return the rates that were reached."""
    return by_x(page, page.rows("rate"),
                f"{page.experiment['unit']} reached", [])


def by_x(page, rows, text, said):
    """Return curves by x, bars when there is one x only, None without
    figures."""
    marks = {one["mark"] for one in rows}
    said = said + [HOLLOW] * ("load" in marks)
    if not any(one["y"] for one in rows):
        return None
    if len({one["x"] for one in rows}) == 1:
        return bars(page, rows, f"{text}, {rows[0]['x']:,} "
                    f"{page.experiment['x_short']}", said)
    # Both charts of a variant have one scale, so that they can be compared.
    both = [one[end] for key in ("rate", "can_do") for one in page.rows(key)
            for end in ("low", "high") if one[end]]
    low, high = min(both) / 1.15, max(both) * 1.15
    for one in rows:
        one.update({end: max(one[end], low) for end in ("y", "low", "high")})
    return page.chart(curves(page, rows, [low, high]), text,
                      said + whiskers(rows) + [LOST] * ("lost" in marks),
                      HEIGHT)


def published(page):
    """Return the best figure of each server, ours above the published ones,
    each as a share of the best. Of ours, only points count at which the
    server was the limit: the best rate of the others is not known. None when
    that leaves none."""
    given = page.experiment["published"]
    ours = {page.titles[one["server"]]: max((
        p["rate"]["median"] for p in one["points"]
        if p["rate"] and points.busy(p)), default=0) for one in page.curves}
    if not given or not any(ours.values()) \
            or page.variant != page.experiment["variants"][0]:
        return None
    theirs = given["best"] or {name: max(rate for _, rate in series)
                               for name, series in given["series"].items()}
    rows = [{"server": page.titles.get(name, name) + who, "mark": "",
             "y": rate / max(figures.values()), "low": 0, "high": 0,
             "text": f"{100 * rate / max(figures.values()):.0f} %"}
            for who, figures in (("", ours), (", published", theirs))
            for name, rate in sorted(figures.items(), key=lambda one: -one[1])
            if rate]
    absent = ", ".join(name for name, rate in ours.items() if not rate)
    return bars(page, rows, "best rates, as a share of the best measured here "
                "and of the best published",
                [f"not drawn, because the core was never {points.BUSY:.0f} % "
                 f"busy: {absent}"] if absent else [], form="%")


def curves(page, rows, domain):
    """Return the layers of curves: lines, whiskers, and points that are full,
    hollow, or crossed out."""
    xs = sorted({one["x"] for one in rows})
    names = list(dict.fromkeys(one["server"] for one in rows))
    looks = [page.looks[name] for name in names]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", title=page.experiment["x_title"],
                axis=alt.Axis(values=xs, format=","),
                scale=alt.Scale(type="log", nice=False,
                                domain=[xs[0] / 1.1, xs[-1] * 1.1])),
        y=alt.Y("y:Q", title=None, axis=alt.Axis(format=",", tickCount=6),
                scale=alt.Scale(type="log", domain=domain, nice=False)),
        color=alt.Color("server:N", sort=names, scale=alt.Scale(
            domain=names, range=[one[page.theme] for one in looks])))
    shape = alt.Shape("server:N", sort=names, scale=alt.Scale(
        domain=names, range=[styles.MARKERS[one["marker"]] for one in looks]))
    return [
        base.mark_line(strokeWidth=2).encode(detail="part:N")
        .transform_filter("!datum.fallen"),
        base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q")
        .transform_filter("datum.high > datum.low"),
        base.mark_point(size=70, filled=True, opacity=1).encode(shape=shape)
        .transform_filter("datum.mark == ''"),
        base.mark_point(size=70, fill=page.look["ground"], opacity=1,
                        strokeWidth=1.5).encode(shape=shape)
        .transform_filter("datum.mark == 'load'"),
        base.mark_point(size=70, shape=styles.LOST, opacity=1,
                        strokeWidth=2.2)
        .transform_filter("datum.mark == 'lost'")]


def bars(page, rows, text, said, parts=None, form=",~f", **channels):
    """Return a bar for each of `rows` in the colour of its server, or of
    stacked `parts` coloured by `channels`, with whiskers and a figure at its
    end."""
    for one in rows:
        other = {page.theme: page.look["axis"]}     # published
        one["colour"] = page.looks.get(one["server"], other)[page.theme]
    channels = channels or {
        "color": alt.Color("colour:N", scale=None),
        "stroke": alt.Stroke("colour:N", scale=None),
        "fillOpacity": alt.condition("datum.mark == 'load'",
                                     alt.value(0.12), alt.value(1))}
    names = [one["server"] for one in rows]
    # Room for names and figures in any font.
    y = alt.Y("server:N", sort=names, title=None, axis=alt.Axis(
        minExtent=min(210, 7.5 * max(map(len, names)) + 8)))
    share = 1 - min(0.5, 0.024 * max(len(one["text"]) + 2 for one in rows))
    top = max(max(one["high"], one["y"]) for one in rows) / share
    data = alt.Data(values=rows)
    bar = alt.Chart(parts or data).mark_bar(height=16, strokeWidth=1.5).encode(
        x=alt.X("y:Q", title=None, axis=alt.Axis(format=form, tickCount=5),
                scale=alt.Scale(domain=[0, top], nice=False)), y=y, **channels)
    whisker = alt.Chart(data).mark_rule().encode(
        x="low:Q", x2="high:Q", y=y).transform_filter("datum.high > datum.low")
    figure = alt.Chart(data).transform_calculate(
        end="max(datum.y, datum.high)").mark_text(align="left", dx=6).encode(
            x="end:Q", y=y, text="text:N")
    return page.chart([bar, whisker, figure], text, said + whiskers(rows),
                      90 + BAR * len(rows))


def whiskers(rows):
    """Return what explains the whiskers of rows, in a list, if any has one."""
    return [WHISKERS] * any(one["high"] > one["low"] for one in rows)
