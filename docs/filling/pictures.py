"""Draw a server's curve as SVG: a picture for its chapter.

Two panels. Left: requests a second of this server over the number of clients,
with those of the other six in grey; both axes logarithmic, a bar from the
slowest to the fastest run of a cell, a hollow point where requests failed (at
the bottom, where none was answered).
Right: its shape beside the published one, each divided by its own best.
Written by hand rather than by a library, so that the same figures always make
the same file.
"""

import math
from xml.sax.saxutils import escape

from filling.figures import styles

WIDTH, HEIGHT = 860, 380
LEFT = (64, 44, 420, 316)       # x0, y0, x1, y1 of the panels' insides
RIGHT = (548, 44, 838, 316)
WIDE = (64, 44, 770, 316)
GREY, LABEL = "#b9bcc2", "#6e7681"
INK = "#24292f"
STYLE = ("text{font:12px system-ui,sans-serif;fill:#24292f}"
         ".title{font-weight:600;font-size:13px}.small{font-size:11px}"
         ".grid{stroke:#e4e6ea}.axis{stroke:#8b949e}"
         "polyline{fill:none;stroke-linejoin:round}")


class Scale:
    """Maps values to pixels, linearly or by the logarithm."""

    def __init__(self, low, high, start, end, logarithmic):
        self.turn = math.log10 if logarithmic else float
        self.low, self.high = self.turn(low), self.turn(high)
        self.start, self.end = start, end

    def __call__(self, value):
        """Return the pixel of a value, rounded so that files stay stable."""
        share = (self.turn(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


def decades(low, high, steps=(1, 2, 5)):
    """Return the round numbers from low to high: 20, 50, 100, 200, ..."""
    marks, power = [], 10 ** math.floor(math.log10(low))
    while power <= high:
        marks += [power * step for step in steps if low <= power * step <= high]
        power *= 10
    return marks


def number(value):
    """Return a number as a mark at an axis shows it."""
    if value >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:g}"


def line(points, color, width, dash=""):
    """Return a polyline through points, [(x, y)] in pixels."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<polyline points="{path}" stroke="{color}" '
            f'stroke-width="{width}"{dash}/>')


def text(x, y, words, anchor="start", kind="", more=""):
    """Return a text element."""
    kind = f' class="{kind}"' if kind else ""
    return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{kind}{more}>'
            f"{escape(words)}</text>")


def frame(panel, title, x_marks, y_marks, to_x, to_y, y_words):
    """Return the grid, the marks and the title of a panel."""
    x0, y0, x1, y1 = panel
    parts = [text(x0, y0 - 22, title, kind="title")]
    for mark in y_marks:
        y = to_y(mark)
        parts.append(f'<line class="grid" x1="{x0}" x2="{x1}" y1="{y:g}" '
                     f'y2="{y:g}"/>')
        parts.append(text(x0 - 7, y + 4, y_words(mark), "end", "small"))
    for mark in x_marks:
        x = to_x(mark)
        parts.append(f'<line class="axis" x1="{x:g}" x2="{x:g}" y1="{y1}" '
                     f'y2="{y1 + 4}"/>')
        parts.append(text(x, y1 + 18, number(mark), "middle", "small"))
    parts.append(f'<line class="axis" x1="{x0}" x2="{x1}" y1="{y1}" '
                 f'y2="{y1}"/>')
    return parts


def point(x, y, style, hollow):
    """Return a point of a curve, in the server's colour and marker."""
    fill = "#fff" if hollow else style["light"]
    path = styles.MARKERS[style["marker"]]
    return (f'<path d="{path}" transform="translate({x:g} {y:g}) scale(4)" '
            f'fill="{fill}" stroke="{style["light"]}" stroke-width=".4"/>')


def curve(name, all_series, published, style, x_title, unit):
    """Return the SVG of one server's curve as a string.

    name: the server; all_series: {server: {x: cell}}, where a cell has "rate"
    and may have "low", "high" (slowest and fastest run) and "failed" (true
    where requests failed); published: {x: rate}, may be empty; style: as
    bench/draw/styles.py has it.
    """
    rates = Rates(LEFT, all_series, x_title, unit)
    for other in all_series:
        if other != name:
            rates.line(other, GREY, 1.2)
    rates.labels({other: style["light"] if other == name else LABEL
                  for other in all_series}, name)
    rates.server(name, style)
    mine = all_series[name]
    return svg(f"{name}: {unit} over {x_title}",
               rates.parts + shape(mine, published, style["light"], x_title))


def together(all_series, server_styles, x_title, unit):
    """Return the SVG of all curves in one panel as a string.

    all_series: as for curve(); server_styles: {server: style}.
    """
    rates = Rates(WIDE, all_series, x_title, unit)
    rates.labels({name: style["light"]
                  for name, style in server_styles.items()})
    for name, style in server_styles.items():
        rates.server(name, style)
    return svg(f"all seven: {unit} over {x_title}", rates.parts)


def svg(title, parts):
    """Return a whole file with this title and these elements."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff"/>',
        *parts, "</svg>", ""])


class Rates:
    """A panel with requests a second over the number of clients."""

    def __init__(self, panel, all_series, x_title, unit):
        self.panel, self.all_series = panel, all_series
        rates = [cell["rate"] for cells in all_series.values()
                 for cell in cells.values() if cell["rate"] > 0]
        points = sorted({x for cells in all_series.values() for x in cells})
        low_x, high_x = points[0], max(points[-1], points[0] * 1.01)
        self.low = max(1, 10 ** math.floor(math.log10(min(rates))))
        high = max(rates) * 1.15
        self.to_x = Scale(low_x, high_x, panel[0] + 8, panel[2] - 8, True)
        self.to_y = Scale(self.low, high, panel[3], panel[1], True)
        self.parts = frame(panel, f"{unit}, all seven",
                           decades(low_x, high_x), decades(self.low, high),
                           self.to_x, self.to_y, number)
        self.parts.append(text((panel[0] + panel[2]) / 2, panel[3] + 40,
                               x_title, "middle"))

    def pixels(self, name):
        """Return the points of a server's curve; what lies below the panel,
        for nothing was answered, at its lower edge."""
        return [(self.to_x(x), self.to_y(max(self.low, cell["rate"])))
                for x, cell in self.all_series[name].items()]

    def line(self, name, color, width):
        """Draw a curve without its points."""
        if self.all_series[name]:
            self.parts.append(line(self.pixels(name), color, width))

    def server(self, name, style):
        """Draw a curve with its points and the spread of their runs."""
        color = style["light"]
        self.line(name, color, 2.2)
        for x, cell in self.all_series[name].items():
            at = self.to_x(x)
            if min(cell.get("low") or 0, cell["rate"]) >= self.low:
                self.parts.append(
                    f'<line x1="{at:g}" x2="{at:g}" '
                    f'y1="{self.to_y(cell["low"]):g}" '
                    f'y2="{self.to_y(cell["high"]):g}" stroke="{color}"/>')
            self.parts.append(point(at, self.to_y(max(self.low, cell["rate"])),
                                    style, cell.get("failed")))

    def labels(self, colors, bold=None):
        """Write each curve's name at its right end, moved apart."""
        ends = sorted((self.pixels(name)[-1][1], name) for name in colors
                      if self.all_series[name])
        places, ceiling, floor = [], self.panel[1] - 14, self.panel[3] + 4
        for y, _ in ends:
            places.append(max(y + 4, (places or [ceiling])[-1] + 12))
        for n in reversed(range(len(places))):      # none below the panel
            places[n] = floor = min(places[n], floor)
            floor -= 12
        for y, (_, name) in zip(places, ends):
            weight = ' font-weight="600"' if name == bold else ""
            self.parts.append(text(
                self.panel[2] + 6, y, name, kind="small",
                more=f' style="fill:{colors[name]}"{weight}'))


def shape(mine, published, color, x_title):
    """Return the right panel: both curves divided by their own best."""
    mine = {x: cell["rate"] for x, cell in mine.items()}
    points = sorted({*mine, *published})
    to_x = Scale(points[0], max(points[-1], points[0] * 1.01),
                 RIGHT[0] + 8, RIGHT[2] - 8, True)
    to_y = Scale(0, 1.05, RIGHT[3], RIGHT[1], False)
    parts = frame(RIGHT, "shape: share of its own best",
                  [m for m in decades(points[0], points[-1], (1,))
                   or points[:1]],
                  [0, 0.25, 0.5, 0.75, 1], to_x, to_y,
                  lambda share: f"{100 * share:.0f} %")
    parts.append(text((RIGHT[0] + RIGHT[2]) / 2, RIGHT[3] + 40, x_title,
                      "middle"))
    for rates, dash, ink in ((published, "5 4", INK), (mine, "", color)):
        if rates:
            best = max(rates.values())
            parts.append(line([(to_x(x), to_y(rate / best))
                               for x, rate in rates.items()], ink, 2, dash))
    y = RIGHT[3] + 58
    for x, words, dash, ink in ((RIGHT[0] + 30, "measured", "", color),
                                (RIGHT[0] + 150, "published", "5 4", INK)):
        parts.append(line([(x, y - 4), (x + 26, y - 4)], ink, 2, dash))
        parts.append(text(x + 32, y, words, kind="small"))
    return parts
