"""Pictures of where the instructions of a request go, by altair, as SVG for light and dark
pages: a server's parts, and what one server needs more than another of each."""

import textwrap

import altair as alt

from tools.exact import parts
from tools.report import charts, styles

WIDTH, ROW = 130, 15        # of one cell's column, and of a part's row
# Around a picture: readers' letters are up to a fifth wider than those it is laid out with.
PADDING = {"left": 45, "right": 55, "top": 5, "bottom": 5}
LINE = 56                   # characters of a title that fit above a curve
SEEN = 0.05                 # thousands: a part with less in each cell has no row
CALLS, SOFTIRQ = "in the server's calls", "in soft interrupts"


def _figure(rows, title, said, colour):
    """Return the SVG of bars, a column for each cell and a row for each part of `rows`."""
    named = [name for name in parts.NAMES
             if any(one["part"] == name and abs(one["thousands"]) >= SEEN for one in rows)]
    rows = [one for one in rows if one["part"] in named]
    columns = list(dict.fromkeys(one["cell"] for one in rows))
    chart = alt.Chart(alt.Data(values=rows)).mark_bar(height=ROW - 4).encode(
        x=alt.X("thousands:Q", title=None, axis=alt.Axis(tickCount=3)),
        y=alt.Y("part:N", sort=named, title=None, axis=alt.Axis(labelOverlap=False)),
        color=colour, order=alt.Order("place:Q"),
        column=alt.Column("cell:N", sort=columns, title=None, header=alt.Header(
            labelColor=styles.TEXT[0], labelFontSize=12)),
    ).properties(width=WIDTH, height=ROW * len(named),
                 padding=PADDING, title=alt.Title(title, subtitle=said)).resolve_scale(
        x="independent")
    return styles.adapted(charts.svg(chart))


def of_server(name, by_cell):
    """Return the SVG of the parts of the server called `name`; `by_cell` is {cell: Where}."""
    rows = [{"cell": cell, "part": part, "kind": kind, "place": place, "thousands": executed / 1e3}
            for cell, where in by_cell.items() for part, both in where.parts().items()
            for place, (kind, executed) in enumerate(zip((CALLS, SOFTIRQ), both))]
    return _figure(rows, f"{name}: what a request's instructions are for",
                   "Thousands a request. Soft interrupts: for a good part the client's work.",
                   alt.Color("kind:N", sort=[CALLS, SOFTIRQ], title=None, scale=alt.Scale(
                       domain=[CALLS, SOFTIRQ], range=[styles.USER[0], styles.SYSTEM[0]])))


def difference(one, other, by_cell):
    """Return the SVG of what the server called `other` needs more or less than `one` of each part;
    `by_cell` is {cell: (Where of one, Where of other)}."""
    more, less = f"{other} needs more", f"{other} needs less"
    rows = []
    for cell, (first, second) in by_cell.items():
        before, after = first.parts(), second.parts()
        rows += [{"cell": cell, "part": part, "thousands": change / 1e3,
                  "kind": more if change > 0 else less}
                 for part in parts.NAMES if (change := sum(after[part]) - sum(before[part]))]
    return _figure(rows, f"From {one} to {other}", "Thousands of instructions a request.",
                   alt.Color("kind:N", sort=[more, less], title=None, scale=alt.Scale(
                       domain=[more, less], range=[styles.OTHERS[5], styles.OTHERS[2]])))


def of_curve(curve, costs):
    """Return the SVG of lines, one for each {name of a server: (title, {size: instructions})}."""
    rows = [{"server": title, "x": size, "thousands": executed / 1e3}
            for title, by_size in costs.values() for size, executed in by_size.items()]
    titles = [title for title, _ in costs.values()]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", title=curve.x, axis=alt.Axis(format=",~f", tickCount=6)),
        y=alt.Y("thousands:Q", title=None, axis=alt.Axis(format=",~f", tickCount=6)),
        color=alt.Color("server:N", sort=titles, title=None, scale=alt.Scale(
            domain=titles, range=[styles.style(name)["light"] for name in costs])))
    chart = alt.layer(base.mark_line(), base.mark_point(filled=True, size=50)).properties(
        width=charts.WIDTH, height=240, title=alt.Title(
            textwrap.wrap(f"{curve.says[0].upper()}{curve.says[1:]}", LINE),
            subtitle="Thousands of instructions."))
    return styles.adapted(charts.svg(chart))
