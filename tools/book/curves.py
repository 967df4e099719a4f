"""Charts of the book that the report does not have: published rates, alone and with ours."""

import re

from tools.report import charts, styles, table

DARK = dict(pair[:2] for pair in (
    styles.GROUND, styles.TEXT, styles.QUIET, styles.GRID, styles.AXIS,
    styles.USER, styles.SYSTEM, *styles.ARCHITECTURES.values()))


def dark(text):
    """Return an SVG for a light page in the colours of a dark one."""
    return re.sub('(?<=(?:fill="|roke="))#[0-9a-f]{6}(?=")',
                  lambda found: DARK.get(found[0], found[0]), text)


def page_of(experiment, title, series):
    """Return the charts.Page of {name: {clients: rate}}, so that they are
    drawn as measured curves are. `experiment` is a part of a summary."""
    return charts.Page(
        {"servers": [{"name": name, "title": name} for name in series]},
        {**experiment, "title": f"{experiment['title']}, {title}", "curves": [
            {"server": name, "variant": "", "points": [
                {"x": int(x), "rate": {"middle": rate}, "values": {},
                 "intervals": {"rate": None}, "lost": False}
                for x, rate in rates.items()]}
            for name, rates in series.items()]}, "")


def best(page):
    """Return bars with the best rate of each server of a charts.Page, above
    those published, each as a share of the best of its machine."""
    ours = {page.titles[one["server"]]: max(
        (point for point in one["points"] if point["rate"]),
        key=lambda point: point["rate"]["middle"]) for one in page.curves}
    rows = []
    for who, rates, marks in (
            ("", {name: point["rate"]["middle"] for name, point in ours.items()},
             {name: table.mark(point) for name, point in ours.items()}),
            (", published", page.experiment["published"]["best"], {})):
        rows += [{"server": name + who, "mark": marks.get(name, ""),
                  "y": rate / max(rates.values()), "low": 0, "high": 0,
                  "text": f"{rate:,.0f}"} for name, rate
                 in sorted(rates.items(), key=lambda one: -one[1])]
    return charts.bars(page, rows, "best rates, as shares of the best here "
                       "and of the best published", charts.HOLLOW, form="%")
