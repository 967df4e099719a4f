"""SVG pictures of a summary, by altair and vl-convert."""

import os

import altair as alt

from styles import MARKERS, style
from summary import point_at, reference_x

WIDTH, HEIGHT = 620, 360


def draw(summary, folder):
    """Write the pictures of all experiments into `folder`; return their
    names: the curves (or bars) of each variant, the published curves over
    ours, and the CPU time a request costs."""
    names = []
    for experiment in summary["experiments"]:
        for variant in experiment["variants"]:
            suffix = ("_" + variant.replace(", ", "_").replace(" ", "-")
                      if variant else "")
            base = experiment["name"] + suffix
            for kind, maker in (("", rates), ("_cost", costs)):
                picture = maker(summary, experiment, variant)
                if picture:
                    names.append(f"{base}{kind}.svg")
                    save(picture, os.path.join(folder, names[-1]))
        if experiment["published"] and experiment["published"]["series"]:
            picture = published(summary, experiment)
            if picture:
                names.append(f"{experiment['name']}_published.svg")
                save(picture, os.path.join(folder, names[-1]))
    return names


def save(picture, path):
    """Write a chart as SVG, on white so that it reads on any page."""
    picture.configure(background="white").configure_axis(
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal",
        gridColor="#eceff3", domainColor="#b9c1cc", tickColor="#b9c1cc",
    ).configure_view(stroke=None).configure_legend(
        labelFontSize=12, symbolSize=90, title=None,
    ).configure_title(fontSize=14, anchor="start", fontWeight=600,
                      subtitleColor="#5b6675").save(path)


def looks(summary, names):
    """Return the scales of colour and marker for the servers `names`."""
    known = {one["name"]: one for one in summary["servers"]}
    each = [known.get(name) or style(name, place)
            for place, name in enumerate(names)]
    colours = alt.Scale(domain=names, range=[one["light"] for one in each])
    shapes = alt.Scale(domain=names,
                       range=[MARKERS[one["marker"]] for one in each])
    return colours, shapes


def title(experiment, variant, text):
    """Return the title of a picture."""
    name = experiment["title"] + (f", {variant}" if variant else "")
    return alt.Title(f"{name}: {text}")


def axis(values=None):
    """Return an axis that writes 12k for 12,000."""
    return alt.Axis(format="~s", values=values) if values \
        else alt.Axis(format="~s", tickCount=8)


def rates(summary, experiment, variant):
    """Return the curves of a variant, bars when it has one x, None when
    there is no figure."""
    rows = [{"server": one["server"], "x": p["x"],
             "y": p["rate"]["median"], "low": p["rate"]["low"],
             "high": p["rate"]["high"], "lost": p["hollow"]}
            for one in experiment["curves"] if one["variant"] == variant
            for p in one["points"] if p["rate"] and p["rate"]["low"] > 0]
    if not rows:
        return None
    xs = sorted({row["x"] for row in rows})
    names = [one["name"] for one in summary["servers"]
             if any(row["server"] == one["name"] for row in rows)]
    if len(xs) == 1:
        return _bars(summary, experiment, variant, rows, names)
    colours, shapes = looks(summary, names)
    base = alt.Chart(
        alt.Data(values=rows), width=WIDTH, height=HEIGHT,
        title=title(experiment, variant, f"{experiment['unit']} by "
                                         f"{experiment['x_title']}")
    ).encode(
        x=alt.X("x:Q", title=experiment["x_title"],
                axis=axis(xs if len(xs) <= 9 else None),
                scale=alt.Scale(type="log", nice=False, padding=12)),
        color=alt.Color("server:N", scale=colours, sort=names))
    y_scale = alt.Scale(type="log", nice=False, padding=12)
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("y:Q", title=experiment["unit"], scale=y_scale,
                axis=axis()))
    whisker = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("low:Q", title=experiment["unit"], scale=y_scale),
        y2="high:Q")
    shape = alt.Shape("server:N", scale=shapes, sort=names)
    whole = base.mark_point(size=80, filled=True, opacity=1).encode(
        y=alt.Y("y:Q", scale=y_scale), shape=shape
    ).transform_filter("!datum.lost")
    hollow = base.mark_point(size=80, fill="white", opacity=1).encode(
        y=alt.Y("y:Q", scale=y_scale), shape=shape
    ).transform_filter("datum.lost")
    return alt.layer(line, whisker, whole, hollow)


def _bars(summary, experiment, variant, rows, names):
    """Return bars with the spread of the runs."""
    colours, _ = looks(summary, names)
    base = alt.Chart(
        alt.Data(values=rows), width=WIDTH, height=28 * len(names),
        title=title(experiment, variant, f"{experiment['unit']}, "
                    f"{rows[0]['x']:,} {experiment['x_short']}")
    ).encode(y=alt.Y("server:N", sort=names, title=None))
    bar = base.mark_bar(height=17).encode(
        x=alt.X("y:Q", title=experiment["unit"], axis=axis()),
        color=alt.Color("server:N", scale=colours, legend=None),
        opacity=alt.condition("datum.lost", alt.value(0.35), alt.value(1)))
    whisker = base.mark_rule(strokeWidth=1.5, color="#1d2430").encode(
        x="low:Q", x2="high:Q")
    return bar + whisker


def costs(summary, experiment, variant):
    """Return bars of the CPU time a request costs, user and system, at the
    reference; None when there is no figure."""
    x = reference_x(experiment, variant)
    rows, names = [], []
    for one in experiment["curves"]:
        point = point_at(one, x) if one["variant"] == variant else None
        if point and point["rate"] and point["values"]["cpu_us"]:
            names.append(one["server"])
            for part, key in (("user", "cpu_user_us"),
                              ("system", "cpu_system_us")):
                rows.append({"server": one["server"], "part": part,
                             "us": point["values"][key]})
    if not rows:
        return None
    return alt.Chart(
        alt.Data(values=rows), width=WIDTH, height=28 * len(names),
        title=title(experiment, variant, "CPU time of a request at "
                    f"{x:,} {experiment['x_short']}")
    ).mark_bar(height=17).encode(
        x=alt.X("us:Q", title="microseconds, children included"),
        y=alt.Y("server:N", sort=names, title=None),
        color=alt.Color("part:N", sort=["user", "system"], scale=alt.Scale(
            domain=["user", "system"], range=["#0072b2", "#a9c8e2"])),
        order=alt.Order("part:N", sort="descending"))


def published(summary, experiment):
    """Return the published curves over ours, each as a share of its own
    best; None when there is none of ours."""
    variant = experiment["variants"][0]
    rows = []
    for name, points in experiment["published"]["series"].items():
        best = max(y for _, y in points)
        rows += [{"server": name, "x": x, "y": y / best, "who": "published"}
                 for x, y in points]
    for one in experiment["curves"]:
        figures = [(p["x"], p["rate"]["median"]) for p in one["points"]
                   if p["rate"] and p["rate"]["median"] > 0]
        if one["variant"] == variant and figures:
            best = max(y for _, y in figures)
            rows += [{"server": one["server"], "x": x, "y": y / best,
                      "who": "measured here"} for x, y in figures]
    if not any(row["who"] == "measured here" for row in rows):
        return None
    names = list(dict.fromkeys(
        [one["name"] for one in summary["servers"]]
        + list(experiment["published"]["series"])))
    names = [n for n in names if any(row["server"] == n for row in rows)]
    colours, _ = looks(summary, names)
    return alt.Chart(
        alt.Data(values=rows), width=WIDTH, height=HEIGHT,
        title=title(experiment, "", "published and measured here, each as a "
                                    "share of its own best")
    ).mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18)).encode(
        x=alt.X("x:Q", title=experiment["x_title"], axis=axis(),
                scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("y:Q", title="share of its best",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1.04], nice=False)),
        color=alt.Color("server:N", scale=colours, sort=names),
        strokeDash=alt.StrokeDash("who:N", sort=["measured here",
                                                 "published"],
                                  scale=alt.Scale(
                                      domain=["measured here", "published"],
                                      range=[[1, 0], [3, 4]])),
        detail="who:N")
