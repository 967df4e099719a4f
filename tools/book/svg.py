"""An SVG of the book as an <img> of a forge shows it: small, and in the colours of both themes."""

import collections
import re

from tools.book import pictures

# What an <img> does not need: names for programs, tooltips, colours for the other theme, empty
# shapes, and attributes with their default value.
UNUSED = re.compile(
    r""" (?:aria-\w+|role|class|pointer-events|version|xmlns:xlink)=".*?"|<style>[^<]*</style>"""
    r"""| (?:(?:stroke-)?opacity="1"|stroke-width="1"|text-anchor="start"|font-weight="normal")"""
    r"""(?=[ />])|(?<=<g) transform="translate\(0,0\)"(?=>)"""
    r"""|(?<=<rect)( [^>]*)><title>[^<]*</title></rect>|(?<=<g>)<title>[^<]*</title>""")
EMPTY = re.compile(r'<path d="(?:M0,0h0v0h0Z)?"(?: [\w-]+="[^"]*")*/>|<text [^>]*></text>')
# In a chart of Vega: what is around all it draws, a background without a colour, and points that
# follow each other: (where, how they look).
CHART = ' fill="none" stroke-miterlimit="10"'
GROUND = re.compile(r'<path d="M0,0h[\d.]+v[\d.]+h-[\d.]+Z"/>')
POINT = r'<path transform="translate\(([^)]*)\)"'
POINTS = re.compile(rf"{POINT}( [^>]*)/>(?:{POINT}\2/>){{3,}}")
# Lines next to each other that look alike, such as intervals: (where, how far, how they look).
LINE = r'<line transform="translate\(([^)]*)\)" x2="([^"]*)" y2="([^"]*)"'
LINES = re.compile(rf'{LINE}( [^>]*)/>(?:{LINE}\4/>)+')
# A bar of a timeline: (x, y, width, height, fill).
BAR = re.compile(r'^<rect x="(\S*)" y="(\S*)" width="(\S*)" height="(\S*)" fill="(\S*)"/>\n',
                 re.MULTILINE)
WORDS = re.compile(r'(<text[^>]*) transform="translate\(([^,()]*),([^,()]*)\)"([^>]*>[^<]*</text>)')
CLIP = re.compile(r'<clipPath id="(clip\d+)">(.*?)</clipPath>')
ATTRIBUTE = re.compile(r"""([\w-]+)=(["'])(.*?)\2""")
COLOURS = ("fill", "stroke", "stop-color")
PLACE = re.compile(
    r"""(?<= )(?:d|transform|points|[xyr]|[xy][12]|[cr][xy]|width|height)=".*?\"""")


def small(svg):
    """Return an SVG as an <img> shows it, in fewer bytes, but with the colours of one theme."""
    svg = re.sub("<[^>]*>", lambda tag: tag[0] if '"' in tag[0] else tag[0].replace("'", '"'), svg)
    svg = UNUSED.sub(lambda found: found[1] + "/>" if found[1] else "", svg)
    svg = EMPTY.sub("", GROUND.sub("", svg) if CHART in svg else svg)
    while svg != (svg := re.sub("<g/>|<g></g>", "", svg)):
        pass
    svg = PLACE.sub(lambda found: re.sub(
        r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"),
        found[0]), _ungrouped(svg)).rstrip("\n") + "\n"
    svg = LINES.sub(lambda found: '<path d="' + "".join(
        f"M{one[1]}" + (f"h{one[2]}" if one[3] == "0" else f"v{one[3]}" if one[2] == "0" else
                        f"l{one[2]},{one[3]}") for one in re.finditer(LINE, found[0]))
        + f'"{found[4]}/>', svg)
    svg = WORDS.sub(r'\1 x="\2" y="\3"\4', svg)
    for step in (_points, _clips, _bars, _named_once):
        svg = step(svg)
    return svg


def _in_head(svg, attributes, what=""):
    """Return an SVG with more attributes in its first tag, and with `what` after that tag."""
    return re.sub("(<svg[^>]*)>", lambda head: f"{head[1]}{attributes}>{what}", svg, count=1)


def _ungrouped(svg):
    """Return an SVG without the groups that have no attributes."""
    kept = []

    def tag(found):
        if found[0] != "</g>":
            kept.append(found[0] != "<g>")
            return found[0] if kept[-1] else ""
        return found[0] if kept.pop() else ""

    return re.sub("<g(?: [^>]*)?>|</g>", tag, svg)


def _points(svg):
    """Return a chart with the points of a curve as one polyline with a marker at each."""
    looks = []
    if CHART not in svg:
        return svg

    def curve(found):
        if found[2] not in looks:
            looks.append(found[2])
        return (f'<polyline points="{" ".join(one[1] for one in re.finditer(POINT, found[0]))}" '
                f'style="marker:url(#m{looks.index(found[2])})"/>')

    svg = POINTS.sub(curve, svg)
    return _in_head(svg, "", f"<defs{CHART}>" + "".join(
        f'<marker id="m{number}" markerUnits="userSpaceOnUse" overflow="visible"><path{look}/>'
        "</marker>" for number, look in enumerate(looks)) + "</defs>") if looks else svg


def _clips(svg):
    """Return an SVG that keeps one of each set of equal clip paths."""
    clips = dict(CLIP.findall(svg))
    shapes = list(dict.fromkeys(clips.values()))
    svg = re.sub(r"url\(#(clip\d+)\)", lambda found: f"url(#c{shapes.index(clips[found[1]])})",
                 CLIP.sub("", svg)).replace("<defs></defs>", "")
    return _in_head(svg, "", "".join(f'<clipPath id="c{number}">{shape}</clipPath>'
                                     for number, shape in enumerate(shapes)))


def _bars(svg):
    """Return a timeline with the bars of a colour and height as one path, whose stroke is as wide
    as they are high. A bar still covers the bars that it covered."""
    paths = []      # (height, fill, [(x, y, width)])
    for bar in BAR.finditer(svg):
        x, y, width, height = map(float, bar.groups()[:4])
        last = next((path for path in reversed(paths) if path[:2] == (height, bar[5]) or any(
            x < left + wide and left < x + width and y < top + path[0] and top < y + height
            for left, top, wide in path[2])), None)     # of its look, or with a bar that it covers
        if last and last[:2] == (height, bar[5]):
            last[2].append((x, y, width))
        else:
            paths.append((height, bar[5], [(x, y, width)]))
    made = "".join(
        f'<path stroke="{fill}" stroke-width="{height:g}" d="'
        + "".join(f"M{x:g},{y + height / 2:g}h{width:g}" for x, y, width in bars) + '"/>\n'
        for height, fill, bars in paths)
    first = BAR.search(svg)
    return BAR.sub(lambda bar: made if bar.start() == first.start() else "", svg)


def _named_once(svg):
    """Return an SVG that names the font and the size of most of its words once."""
    for name in ("font-family", "font-size"):
        has = re.compile(rf'(<text[^>]*) {name}="([^"]*)"')
        often = collections.Counter(one[2] for one in has.finditer(svg)).most_common(1)
        if often and f" {name}=" not in re.search("<svg[^>]*>", svg)[0] \
                and len(has.findall(svg)) == svg.count("<text"):
            svg = _in_head(has.sub(lambda found: found[1] if found[2] == often[0][0] else found[0],
                                   svg), f' {name}="{often[0][0]}"')
    return svg


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
    return _in_head(light, "", f"<style>@media (prefers-color-scheme:dark){{{style}}}</style>")


def width(svg):
    """Return how many pixels wide a page shows an SVG: a chart as wide as a drawing."""
    head = re.search("<svg[^>]*>", svg)[0]
    found = re.search(r""" width=['"](\d+)['"]|viewBox=['"]0 0 (\d+)""", head)
    return max(int(found[1] or found[2]), pictures.WIDTH)
