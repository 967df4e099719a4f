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
            suffix = variant and "_" + variant.replace(", ", "_").replace(
                " ", "-")
            for kind, maker in KINDS:
                one = {"experiment": experiment["name"], "variant": variant}
                for theme, end in (("light", ""), ("dark", "_dark")):
                    page = Page(summary, experiment, variant, theme)
                    chart = maker(page)
                    if chart is None:
                        break
                    one["title"] = " ".join(chart.title.text)
                    one[theme] = f"{experiment['name']}{suffix}_{kind}" \
                                 f"{end}.svg"
                    chart.configure(**config(page.look)).save(
                        os.path.join(folder, one[theme]))
                else:
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
                 "domainColor": look["axis"], "tickColor": look["axis"]},
        "legend": {**words, "labelColor": look["text"], "orient": "bottom",
                   "columns": 4, "columnPadding": 18, "title": None},
        "title": {"anchor": "start", "frame": "bounds", "fontSize": 14,
                  "color": look["text"], "subtitleColor": look["quiet"],
                  "subtitleFontSize": 11.5, "offset": 10},
        "text": {"color": look["text"], "fontSize": 12},
        "rule": {"color": look["text"], "strokeWidth": 1.5},
    }


class Page:
    """What one chart is made of: the curves of a variant, and a theme."""

    def __init__(self, summary, experiment, variant, theme):
        self.experiment, self.variant = experiment, variant
        self.look, self.theme = styles.THEMES[theme], theme
        self.curves = [one for one in experiment["curves"]
                       if one["variant"] == variant]
        self.titles = {s["name"]: s["title"] for s in summary["servers"]}
        self.published_as = {s["title"]: s.get("published_as") or s["name"]
                             for s in summary["servers"]}
        self.styles = {s["title"]: styles.style(s["name"], place)
                       for place, s in enumerate(summary["servers"])}

    def colour(self, name):
        """Return the colour of a server (its title)."""
        return self.styles[name][self.theme]

    def title(self, text, said):
        """Return the title: the experiment, what is drawn, how to read it."""
        name = ", ".join(filter(None, [self.experiment["title"],
                                       self.variant]))
        return alt.Title(textwrap.wrap(f"{name}: {text}", 50),
                         subtitle=textwrap.wrap(said[:1].upper() + said[1:],
                                                68))

    def rows(self, key):
        """Return the points of all curves as rows of a chart. `key` is "rate"
        or "can_do"; a whisker goes from `low` to `high`. The line of a curve
        breaks where nothing was answered: `part` counts these points."""
        rows = []
        for one in self.curves:
            part = 0
            for p in one["points"]:
                fallen, sign = key == "rate" and lost_all(p), points.mark(p)
                y, ends = points.rate(p) if key == "rate" \
                    else points.can_do(p)
                part += fallen
                if y or fallen:
                    rows.append({
                        "server": self.titles[one["server"]], "x": p["x"],
                        "y": y or 0, "low": ends[0], "high": ends[1],
                        "part": part, "fallen": fallen, "mark": sign
                        if key == "rate" or sign == "lost" else "",
                        "text": points.told(number(y or 0), p)})
        return rows


def cost(page):
    """Return bars of the CPU time a request costs, user and system, at the
    reference; None when there is no figure."""
    x, rows, parts = reference_x(page.experiment, page.variant), [], []
    for one in page.curves:
        point = point_at(one, x)
        total = point and point["values"].get("cpu_us")
        if total:
            name = page.titles[one["server"]]
            low, high = points.interval(point, "cpu_us") or (total, total)
            rows.append({"server": name, "y": total, "low": low, "high": high,
                         "text": points.told(number(total), point)})
            parts += [{"server": name, "part": part,
                       "y": point["values"].get(f"cpu_{part}_us") or 0}
                      for part in ("user", "system")]
    return rows and bars(
        page, rows, f"CPU time a request, {x:,} {page.experiment['x_short']}",
        "; ".join(["children included", *whiskers(rows)]), parts,
        "microseconds of CPU a request", color=alt.Color(
            "part:N", sort=["user", "system"], scale=alt.Scale(
                domain=["user", "system"],
                range=[page.look["user"], page.look["system"]])),
        order=alt.Order("part:N", sort="descending")) or None


def can_do(page):
    """Return what one core can do: 1,000,000 / CPU microseconds a request."""
    return by_x(page, "can_do", "requests a second that one core can do",
                ["1,000,000 / CPU microseconds a request"])


def reached(page):
    """Return the rates that were reached."""
    return by_x(page, "rate", f"{page.experiment['unit']} reached",
                ["dotted: what was demanded"]
                if page.experiment["open_loop"] else [])


def by_x(page, key, text, said):
    """Return curves by x, bars when there is one x only, None without
    figures."""
    rows = page.rows(key)
    if not any(row["y"] for row in rows):
        return None
    marks = {row["mark"] for row in rows}
    said = "; ".join([*said, *whiskers(rows), *[HOLLOW] * ("load" in marks),
                      *[LOST] * ("lost" in marks)])
    if len({row["x"] for row in rows}) == 1:
        for row in rows:
            row["colour"] = page.colour(row["server"])
        return bars(page, rows, f"{text}, {rows[0]['x']:,} "
                    f"{page.experiment['x_short']}",
                    said.replace("; " + LOST, ""),
                    color=alt.Color("colour:N", scale=None),
                    stroke=alt.Stroke("colour:N", scale=None),
                    fillOpacity=alt.condition("datum.mark == ''",
                                              alt.value(1), alt.value(0.12)))
    # Both charts of a variant have one scale, so that they can be compared.
    both = [row[end] for which in ("rate", "can_do")
            for row in page.rows(which) for end in ("low", "high") if row[end]]
    low, high = min(both) / 1.15, max(both) * 1.15
    for row in rows:
        row.update({end: max(row[end], low) for end in ("y", "low", "high")})
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    layers = curves(page, rows, alt.Y("y:Q", title=None, scale=scale,
                                      axis=axis(low, high)), 70)
    if page.experiment["open_loop"] and key == "rate":
        layers.insert(0, alt.Chart(alt.Data(values=[
            {"x": row["x"], "y": row["x"]} for row in rows
            if low <= row["x"] <= high])).mark_line(
                strokeDash=[2, 3], color=page.look["quiet"]).encode(
                    x="x:Q", y="y:Q"))
    return whole(page, layers, text, said, HEIGHT)


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
    said = f"not drawn, because the core was never {points.BUSY:.0f} % busy: " \
        + ", ".join(absent) if absent else ""
    if not ours:
        return None
    if not given["series"]:
        return best(page, given["best"], ours, said)
    known = {name: title for title, name in page.published_as.items()}
    theirs = {known.get(name, name): dict(each)
              for name, each in given["series"].items()}
    for name in theirs:
        page.styles.setdefault(name, styles.style(name, len(page.styles)))
    xs = [x for each in (*theirs.values(), *ours.values()) for x in each]
    y = alt.Y("y:Q", axis=alt.Axis(format="%", tickCount=5),
              scale=alt.Scale(domain=[0, 1.04]))
    panels = [alt.layer(*curves(page, [
        {"server": name, "x": x, "y": at / max(each.values()), "low": 0,
         "high": 0, "mark": "", "part": 0, "fallen": False}
        for name, each in series.items() for x, at in each.items()],
        y.title(who), 40, xs, {**theirs, **ours})).properties(
            width=WIDTH - 80, height=150)
        for who, series in (("published", theirs), ("measured here", ours))]
    return alt.vconcat(*panels, spacing=14, title=page.title(
        "share of the best rate, published and measured here", said))


def best(page, theirs, ours, said):
    """Return bars of the best figures, ours above the published ones."""
    ours = {name: max(each.values()) for name, each in ours.items()}
    rows = []
    for who, series in (("", ours), (", published", theirs)):
        for name, rate in sorted(series.items(), key=lambda one: -one[1]):
            share = rate / max(series.values())
            rows.append({"server": name + who, "y": share, "low": share,
                         "high": share, "text": f"{100 * share:.0f} %",
                         "colour": page.look["other"] if who
                         else page.colour(name)})
    return bars(page, rows, "best rates, as a share of the best measured here "
                "and of the best published", said, form="%",
                color=alt.Color("colour:N", scale=None))


def curves(page, rows, y, size, xs=None, names=None):
    """Return the layers of curves: lines, whiskers, and points that are full,
    hollow, or crossed out. `xs` and `names` are those of another chart that
    shall have the same axis and legend."""
    xs = xs or [row["x"] for row in rows]
    names = names or {row["server"] for row in rows}
    names = [name for name in page.styles if name in names]
    shapes = [styles.MARKERS[page.styles[name]["marker"]] for name in names]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", title=page.experiment["x_title"],
                axis=axis(min(xs), max(xs)),
                scale=alt.Scale(type="log", nice=False,
                                domain=[min(xs) / 1.1, max(xs) * 1.1])),
        y=y, color=alt.Color("server:N", sort=names, scale=alt.Scale(
            domain=names, range=[page.colour(name) for name in names])))
    shape = alt.Shape("server:N", sort=names, scale=alt.Scale(
        domain=names, range=shapes))
    return [
        base.mark_line(strokeWidth=2).encode(detail="part:N")
        .transform_filter("!datum.fallen"),
        base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q")
        .transform_filter("datum.high > datum.low"),
        base.mark_point(size=size, filled=True, opacity=1).encode(shape=shape)
        .transform_filter("datum.mark == ''"),
        base.mark_point(size=size, fill=page.look["ground"], opacity=1,
                        strokeWidth=1.5).encode(shape=shape)
        .transform_filter("datum.mark == 'load'"),
        base.mark_point(size=size, shape=styles.LOST, opacity=1,
                        strokeWidth=2.2)
        .transform_filter("datum.mark == 'lost'")]


def bars(page, rows, text, said, parts=None, title=None, form=",~f",
         **channels):
    """Return a bar for each of `rows`, or of stacked `parts`, with whiskers
    and a figure at its end. `channels` colour it."""
    names = [row["server"] for row in rows]
    # Room for names and figures in any font.
    y = alt.Y("server:N", sort=names, title=None, axis=alt.Axis(
        minExtent=min(210, 7.5 * max(map(len, names)) + 8)))
    share = 1 - min(0.5, 0.024 * max(len(row["text"]) + 2 for row in rows))
    top = max(max(row["high"], row["y"]) for row in rows) / share
    data = alt.Data(values=rows)
    bar = alt.Chart(alt.Data(values=parts or rows)).mark_bar(
        height=16, strokeWidth=1.5).encode(x=alt.X(
            "y:Q", title=title, axis=alt.Axis(format=form, tickCount=5),
            scale=alt.Scale(domain=[0, top], nice=False)), y=y, **channels)
    whisker = alt.Chart(data).mark_rule().encode(
        x="low:Q", x2="high:Q", y=y).transform_filter("datum.high > datum.low")
    figure = alt.Chart(data).transform_calculate(
        end="max(datum.y, datum.high)").mark_text(align="left", dx=6).encode(
            x="end:Q", y=y, text="text:N")
    return whole(page, [bar, whisker, figure], text, said,
                 90 + BAR * len(rows))


def whiskers(rows):
    """Return what explains the whiskers of rows, in a list, if any has one."""
    return [WHISKERS] * any(row["high"] > row["low"] for row in rows)


def axis(low, high):
    """Return a logarithmic axis with ticks at 1, 2 and 5 of each decade, or
    at 1 only where these would be too many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    ticks = [step * 10 ** power for power in decades for step in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    if len(inside) > 11:
        inside = [tick for tick in inside if str(tick)[0] == "1"]
    return alt.Axis(values=inside, format=",", labelOverlap="greedy")


def whole(page, layers, text, said, height):
    """Return the chart of these layers with its title and size."""
    return alt.layer(*layers).properties(
        width=WIDTH, height=height, title=page.title(text, said),
        autosize=alt.AutoSizeParams(type="fit", contains="padding"))


KINDS = (("cost", cost), ("can_do", can_do), ("rate", reached),
         ("published", published))
