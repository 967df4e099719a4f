"""A class's predictions as a picture and a page, by altair as in bench."""

import collections
import html
import io

import altair as alt

from bench.draw import charts, styles
from observe.predict import files, group

DOTS = 50                       # places for a dot along the axis
SERVER, TRUE = styles.ARCHITECTURES["epoll"][0], \
    styles.ARCHITECTURES["poll"][0]
PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Predictions</title>
<meta name="viewport" content="width=device-width">
<style>:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 sans-serif; max-width: 60rem; margin: auto;
padding: 1rem }} svg {{ max-width: 100%; height: auto }}
td, th {{ text-align: left; vertical-align: top; padding: 0 1rem 0 0 }}
</style><h1>What was predicted, and what was measured</h1>
{}
</html>
"""


def write(questions, wrong, folder):
    """Write predictions.svg and .html into `folder`; return their paths."""
    svg = draw(questions)
    made = []
    for name, text in (("predictions.svg", svg),
                       ("predictions.html", page(questions, wrong, svg))):
        made.append(folder / name)
        made[-1].write_text(text, encoding="utf-8")
    return made


def draw(questions):
    """Return the SVG: below each question a row of dots for each quantity."""
    rows = [chart(question, key, words) for question in questions
            for key, words in files.QUANTITIES.items()]
    svg = io.StringIO()
    alt.vconcat(*rows).configure(**charts.CONFIG).save(svg, format="svg")
    return styles.adapted(svg.getvalue())


def chart(question, key, words):
    """Return a dot for each prediction, on a log axis; equal ones are stacked.
    A line stands where it was measured."""
    values = [one.values[key] for one in question.predictions]
    true = question.measured[key]
    ends = group.axis([*values, *([true] if true else [])])
    heights, dots = collections.Counter(), []
    for value in sorted(values):
        at = group.place(value, ends, DOTS)
        heights[at] += 1
        dots.append({"y": heights[at], "x": 10 ** (
            ends[0] + (ends[1] - ends[0]) * at / (DOTS - 1))})
    most = max(heights.values())
    x = alt.X("x:Q", title=None, axis=alt.Axis(format="~s", values=[
        10.0 ** one for one in range(ends[0], ends[1] + 1)]),
        scale=alt.Scale(type="log", nice=False,
                        domain=[10.0 ** one for one in ends]))
    layers = [alt.Chart(alt.Data(values=dots)).mark_circle(
        color=SERVER, opacity=1, size=max(8, min(60, 900 / most))).encode(
            x=x, y=alt.Y("y:Q", axis=None, scale=alt.Scale(
                domain=[0, most + 1])))]
    if true:
        layers.append(alt.Chart(alt.Data(values=[{"x": true}])).mark_rule(
            color=TRUE, strokeWidth=2).encode(x=x))
    return alt.layer(*layers).properties(
        width=charts.WIDTH, height=60 + min(100, 8 * most), title=alt.Title(
            f"{question.title}: {words}", fontSize=13,
            subtitle=group.spread(question, key)))


def page(questions, wrong, svg):
    """Return the HTML: the picture, the reasons, what was left out."""
    parts = ["<p>Each dot is a prediction; the line is what was measured.",
             svg[svg.index("<svg"):]]
    for question in questions:
        parts.append(f"<h2>{html.escape(question.title)}</h2>\n<p>What ends "
                     f"the rate: {html.escape(question.limit or '?')}.\n"
                     "<table><tr><th>who<th>expected<th>why")
        parts += [f"<tr><td>{html.escape(one.name)}<td>"
                  f"{html.escape(one.limit)}<td>{html.escape(one.why)}"
                  for one in sorted(question.predictions,
                                    key=lambda one: one.limit)]
        parts.append("</table>")
    if wrong:
        parts.append("<h2>Left out</h2><ul>" + "".join(
            f"<li>{html.escape(why)}" for why in wrong) + "</ul>")
    return PAGE.format("\n".join(parts))
