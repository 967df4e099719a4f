"""SVG pictures of a summary, by altair and vl-convert."""

import os

import altair as alt

from bench.draw.styles import MARKERS, style
from bench.analyse.summary import lost_all, point_at, reference_x

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


def title(experiment, variant, text, rows=()):
    """Return the title of a picture, which explains what is hollow in it."""
    name = experiment["title"] + (f", {variant}" if variant else "")
    said = [words for key, words in (
        ("lost", "hollow or pale: lost requests, or runs"),
        ("fallen", "at the lower edge: nothing was answered"))
        if any(row[key] for row in rows)]
    return alt.Title(f"{name}: {text}", **(
        {"subtitle": "; ".join(said)} if said else {}))


def axis(values=None):
    """Return an axis that writes 12k for 12,000."""
    return alt.Axis(format="~s", values=values) if values \
        else alt.Axis(format="~s", tickCount=8)


def rows_of(one, bottom=0.0):
    """Return the points of a curve as rows of a chart. Who lost everything
    stands at the `bottom`; the line is in one `part` up to there and in
    another one after it, so that it does not join the neighbours."""
    rows, part = [], 0
    for p in one["points"]:
        fallen = lost_all(p)
        part += fallen
        if fallen or p["rate"]:
            rate = p["rate"] or {"median": 0, "low": 0, "high": 0}
            rows.append({
                "server": one["server"], "x": p["x"], "fallen": fallen,
                "part": part, "lost": p["hollow"] or fallen,
                "y": max(rate["median"], bottom),
                "low": max(rate["low"], bottom),
                "high": max(rate["high"], bottom)})
    return rows


def rates(summary, experiment, variant):
    """Return the curves of a variant, bars when it has one x, None when
    there is no figure."""
    curves = [c for c in experiment["curves"] if c["variant"] == variant]
    heights = [row[key] for c in curves for row in rows_of(c)
               for key in ("low", "high") if row[key] > 0]
    if not heights:
        return None
    xs = sorted({p["x"] for c in curves for p in c["points"] if p["rate"]})
    single = len(xs) == 1
    bottom, top = min(heights) / 1.15, 1.1 * max(heights)
    rows = [row for c in curves
            for row in rows_of(c, 0.0 if single else bottom)]
    names = [one["name"] for one in summary["servers"]
             if any(row["server"] == one["name"] for row in rows)]
    if single:
        return _bars(summary, experiment, variant, rows, names)
    colours, shapes = looks(summary, names)
    base = alt.Chart(
        alt.Data(values=rows), width=WIDTH, height=HEIGHT,
        title=title(experiment, variant, f"{experiment['unit']} by "
                                         f"{experiment['x_title']}", rows)
    ).encode(
        x=alt.X("x:Q", title=experiment["x_title"],
                axis=axis(xs if len(xs) <= 9 else None),
                scale=alt.Scale(type="log", nice=False, padding=12)),
        color=alt.Color("server:N", scale=colours, sort=names))
    y_scale = alt.Scale(type="log", nice=False, domain=[bottom, top])
    y = alt.Y("y:Q", title=experiment["unit"], scale=y_scale, axis=axis())
    line = base.mark_line(strokeWidth=2).encode(
        y=y, detail="part:N").transform_filter("!datum.fallen")
    whisker = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("low:Q", title=experiment["unit"], scale=y_scale),
        y2="high:Q")
    return alt.layer(line, whisker, *markers(
        base.encode(y=y, shape=alt.Shape("server:N", scale=shapes,
                                         sort=names)), 80))


def markers(base, size):
    """Return the layers of full points, and of hollow ones, which have lost
    something."""
    return (base.mark_point(size=size, filled=True, opacity=1)
            .transform_filter("!datum.lost"),
            base.mark_point(size=size, fill="white", opacity=1)
            .transform_filter("datum.lost"))


def _bars(summary, experiment, variant, rows, names):
    """Return bars with the spread of the runs: pale ones have lost
    something, and a hollow point is all that is left of who lost all."""
    colours, _ = looks(summary, names)
    base = alt.Chart(
        alt.Data(values=rows), width=WIDTH, height=28 * len(names),
        title=title(experiment, variant, f"{experiment['unit']}, "
                    f"{rows[0]['x']:,} {experiment['x_short']}", rows)
    ).encode(y=alt.Y("server:N", sort=names, title=None))
    bar = base.mark_bar(height=17).encode(
        x=alt.X("y:Q", title=experiment["unit"], axis=axis()),
        color=alt.Color("server:N", scale=colours, legend=None),
        opacity=alt.condition("datum.lost", alt.value(0.35), alt.value(1)))
    whisker = base.mark_rule(strokeWidth=1.5, color="#1d2430").encode(
        x="low:Q", x2="high:Q")
    nothing = base.mark_point(size=80, fill="white", opacity=1).encode(
        x="y:Q", color=alt.Color("server:N", scale=colours, legend=None)
    ).transform_filter("datum.fallen")
    return bar + whisker + nothing


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
        rows += [{"server": name, "x": x, "y": y / best, "who": "published",
                  "part": 0, "lost": False, "fallen": False}
                 for x, y in points]
    for one in experiment["curves"]:
        mine = rows_of(one) if one["variant"] == variant else []
        best = max((row["y"] for row in mine), default=0)
        if best:
            rows += [{**row, "y": row["y"] / best, "who": "measured here"}
                     for row in mine]
    if not any(row["who"] == "measured here" for row in rows):
        return None
    names = list(dict.fromkeys(
        [one["name"] for one in summary["servers"]]
        + list(experiment["published"]["series"])))
    names = [n for n in names if any(row["server"] == n for row in rows)]
    colours, _ = looks(summary, names)
    base = alt.Chart(
        alt.Data(values=rows), width=WIDTH, height=HEIGHT,
        title=title(experiment, "", "published and measured here, each as a "
                                    "share of its own best", rows)
    ).encode(
        x=alt.X("x:Q", title=experiment["x_title"], axis=axis(),
                scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("y:Q", title="share of its best",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1.04], nice=False)),
        color=alt.Color("server:N", scale=colours, sort=names))
    line = base.mark_line(strokeWidth=2).encode(
        strokeDash=alt.StrokeDash("who:N", sort=["measured here",
                                                 "published"],
                                  scale=alt.Scale(
                                      domain=["measured here", "published"],
                                      range=[[1, 0], [3, 4]])),
        detail=["who:N", "part:N"]).transform_filter("!datum.fallen")
    return alt.layer(line, *markers(base, 18))
