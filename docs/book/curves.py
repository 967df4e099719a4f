"""Charts of the book that the report does not have: published curves, and the
shape of a curve with that of the published one."""

import io
import re

import altair as alt

from bench.draw import charts, styles, table

DARK = dict(pair[:2] for pair in (
    styles.GROUND, styles.TEXT, styles.QUIET, styles.GRID, styles.AXIS,
    styles.USER, styles.SYSTEM, *styles.ARCHITECTURES.values()))


def svg(chart):
    """Return an altair chart as SVG."""
    text = io.StringIO()
    chart.configure(**charts.CONFIG).save(text, format="svg")
    return text.getvalue()


def dark(text):
    """Return an SVG for a light page in the colours of a dark one."""
    return re.sub('(?<=(?:fill="|roke="))#[0-9a-f]{6}(?=")',
                  lambda found: DARK.get(found[0], found[0]), text)


def published(experiment):
    """Return the charts.Page of what was published of an experiment (a part of
    a summary), so that it is drawn as ours are."""
    given = experiment["published"]["series"]
    return charts.Page(
        {"servers": [{"name": who, "title": who} for who in given]},
        {**experiment, "title": f"{experiment['title']}, as published",
         "curves": [{"server": who, "variant": "", "points": [
             {"x": int(x), "rate": {"median": rate}, "values": {},
              "intervals": {"rate": None}, "hollow": False}
            for x, rate in rates.items()]} for who, rates in given.items()]},
        "")


def best(page):
    """Return bars with the best rate of each server of a charts.Page, above
    those published, each as a share of the best of its machine."""
    ours = {page.titles[one["server"]]: max(
        (point for point in one["points"] if point["rate"]),
        key=lambda point: point["rate"]["median"]) for one in page.curves}
    marks = {who: table.mark(point) for who, point in ours.items()}
    rows = []
    for who, rates in (
            ("", {name: point["rate"]["median"]
                  for name, point in ours.items()}),
            (", published", page.experiment["published"]["best"])):
        rows += [{"server": name + who, "mark": marks.get(name, ""),
                  "y": rate / max(rates.values()), "low": 0, "high": 0,
                  "text": f"{rate:,.0f}"} for name, rate
                 in sorted(rates.items(), key=lambda one: -one[1])]
    return charts.bars(page, rows, "best rates, as shares of the best here "
                       "and of the best published", charts.HOLLOW, form="%")


def shares(series, colours):
    """Return a chart of curves as shares of their best.

    series    {name: {clients: rate}}
    colours   {name: colour on a light page}
    """
    rows = [{"what": name, "clients": x, "share": rate / max(rates.values())}
            for name, rates in series.items() for x, rate in rates.items()]
    xs = sorted({row["clients"] for row in rows})
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("clients:Q", title="concurrent clients",
                axis=alt.Axis(format=",", values=xs), scale=alt.Scale(
                    type="log", domain=[xs[0] / 1.1, xs[-1] * 1.1])),
        y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1.05])),
        color=alt.Color("what:N", sort=list(series), scale=alt.Scale(
            domain=list(series), range=[colours[one] for one in series])),
        strokeDash=alt.StrokeDash("what:N", sort=list(series), legend=None))
    return alt.layer(base.mark_line(strokeWidth=2),
                     base.mark_point(filled=True, size=45)).properties(
        width=charts.WIDTH, height=240, title=alt.Title(
            "Rate, as a share of the best", subtitle="here and as published: "
            "the shape can be compared, not the figures"),
        autosize=alt.AutoSizeParams(type="fit", contains="padding"))
