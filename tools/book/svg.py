"""An SVG of the book as an <img> of a forge shows it: small, and in the colours of both themes."""

import collections
import re

from tools.book import pictures

# What an <img> does not need: names for programs, words for a pointer, colours for the other
# theme, empty shapes.
UNUSED = re.compile(
    r""" (?:aria-\w+|role|class|pointer-events|version|xmlns:xlink)=(["']).*?\1"""
    r"""| (?:stroke-)?opacity="1"(?=[ />])|<style>[^<]*</style>"""
    r"""|(?<=<rect)( [^>]*)><title>[^<]*</title></rect>""")
EMPTY = re.compile(r'<path d="(?:M0,0h0v0h0Z)?"(?: [\w-]+="[^"]*")*/>|<g></g>')
# What a chart draws many times, such as a point, each with its place.
MARK = re.compile(r'<(path|line) (transform="[^"]*")( [^>]*)/>')
MOVED = re.compile(r'^transform="translate\(([^,()]*),([^,()]*)\)"$')
# Lines next to each other that look alike, such as intervals: (where, how far, how they look).
LINE = r'<line transform="translate\(([^)]*)\)" x2="([^"]*)" y2="([^"]*)"'
LINES = re.compile(rf'{LINE}( [^>]*)/>(?:{LINE}\4/>)+')
ATTRIBUTE = re.compile(r"""([\w-]+)=(["'])(.*?)\2""")
COLOURS = ("fill", "stroke", "stop-color")
PLACE = re.compile(r"""(?<= )(?:d|transform|points|[xyr]|[xy][12]|[cr][xy]|width|height)="""
                   r"""(["']).*?\1""")


def small(svg):
    """Return an SVG as an <img> shows it, in fewer bytes, but with the colours of one theme."""
    svg = UNUSED.sub(lambda found: found[2] + "/>" if found[2] else "", svg)
    while svg != (svg := EMPTY.sub("", svg)):
        pass
    svg = PLACE.sub(lambda found: re.sub(
        r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"),
        found[0]), svg).rstrip("\n") + "\n"
    svg = LINES.sub(lambda found: '<path d="' + "".join(
        f"M{one[1]}l{one[2]},{one[3]}" for one in re.finditer(LINE, found[0]))
        + f'"{found[4]}/>', svg)
    often = [mark for mark, times in collections.Counter(
        (one[1], one[3]) for one in MARK.finditer(svg)).items() if times > 3]
    if not often:
        return svg
    svg = MARK.sub(lambda one: '<use ' + MOVED.sub(r'x="\1" y="\2"', one[2])
                   + f' href="#m{often.index((one[1], one[3]))}"/>'
                   if (one[1], one[3]) in often else one[0], svg)
    return re.sub("(<svg[^>]*>)", lambda head: head[1] + "<defs>" + "".join(
        f'<{kind} id="m{number}"{rest}/>' for number, (kind, rest) in enumerate(often))
        + "</defs>", svg, count=1)


def themed(light, dark):
    """Return an SVG whose colours are those of `dark` where the reader's theme is, else those of
    `light`: a rule for each colour, so that one file does for both. Raises ValueError where more
    than colours differs, or one colour has two in the dark."""
    rules = {}
    for one, other in zip(ATTRIBUTE.finditer(light), ATTRIBUTE.finditer(dark), strict=True):
        name, colour = one[1], one[3]
        instead = rules.setdefault((name, colour), other[3]) if name in COLOURS else colour
        if instead != other[3]:
            raise ValueError(f'{one[0]} of the light picture is {other[0]} in the dark one')
    style = "".join(f'[{name}="{colour}"]{{{name}:{instead}}}'
                    for (name, colour), instead in rules.items() if instead != colour)
    return re.sub("(<svg[^>]*>)", lambda head: f"{head[1]}<style>@media "
                  f"(prefers-color-scheme:dark){{{style}}}</style>", light, count=1)


def width(svg):
    """Return how many pixels wide a page shows an SVG: a chart as wide as a drawing."""
    head = re.search("<svg[^>]*>", svg)[0]
    found = re.search(r""" width=['"](\d+)['"]|viewBox=['"]0 0 (\d+)""", head)
    return max(int(found[1] or found[2]), pictures.WIDTH)
