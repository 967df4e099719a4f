"""Timelines as an SVG picture for light ground; states.dark() makes its twin. Pure."""

import textwrap
from html import escape

from tools.kit import states
from tools.observe.timeline import lines
from tools.observe.timeline.export import duration

# A page of the book is 736 pixels wide: at this width, its smallest text has eleven of them.
WIDTH, LEFT, RIGHT, SMALL = 800, 112, 16, 12
LETTER = 6.4                                     # units that a letter of this size takes
LETTERS = 112                                    # of a line of the caption
ROW = {"worker": (15, 11), "client": (13, 9)}    # pitch, height of the bar
GROUND, TEXT, QUIET, GRID = (pair[0] for pair in (
    states.GROUND, states.TEXT, states.QUIET, states.GRID))
LESSONS = {
    "01": "one process waits for Redis; the other clients wait for the process",
    "02": "a process for each client: they wait at the same time",
    "03": "four workers wait at the same time; further clients wait for one",
    "04": "a thread for each client: they wait at the same time",
    "05": "four threads wait at the same time; further clients wait for one",
    "06": "one loop waits for all clients together",
    "07": "one loop waits for all clients together",
}
HEAD, TITLE, AXIS, LINE = 44, 26, 34, 18


def draw(timelines, caption):
    """Return the SVG text: the servers stacked on one time axis. `caption`: lines below the
    picture."""
    span = max(t.end - t.begin for t in timelines)
    scale = (WIDTH - LEFT - RIGHT) / span
    legend, top = _legend(timelines)
    parts, y = [], top
    for timeline in timelines:
        block, y = _block(timeline, y, scale)
        parts += block
    return whole(heading(timelines), [*legend, *_axis(span, scale, top, y), *parts], caption,
                 y + AXIS + 14)


def whole(title, parts, caption, y):
    """Return the SVG text of a picture: `title` above its `parts`, and below them, from y on, the
    lines `caption`, wrapped to its width."""
    caption = [line for one in caption for line in textwrap.wrap(one, LETTERS)]
    height = y + LINE * len(caption) - 4
    return "\n".join([
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' "
        f"height='{height}' font-family='system-ui,sans-serif' role='img'>",
        f"<title>{escape(title)}</title>", patterns(),
        f"<rect width='100%' height='100%' fill='{GROUND}'/>",
        f"<text x='16' y='24' font-size='16' font-weight='600' fill='{TEXT}'>"
        f"{escape(title)}</text>", *parts, *(
            f"<text x='16' y='{y + LINE * i}' font-size='{SMALL}' fill='{QUIET}'>"
            f"{escape(line)}</text>" for i, line in enumerate(caption)), "</svg>\n"])


def name_line(timeline, said, y):
    """Return the line of text above the rows of a server, at y: its title, then `said`, which is
    not escaped."""
    return (f"<text x='16' y='{y}' font-size='{SMALL}' fill='{QUIET}'><tspan font-size='14' "
            f"font-weight='600' fill='{TEXT}'>{escape(timeline.title)}</tspan>"
            f"<tspan dx='12'>{said}</tspan></text>")


def who(timelines):
    """Return whose picture it is, and how many clients ask, for a title."""
    count = sum(row.role == "client" for row in timelines[0].rows)
    names = [timelines[0].title]
    if len(timelines) == 7:
        names = ["Seven servers"]
    elif timelines[0].lesson:       # real software
        names = list(dict.fromkeys(t.title.partition(",")[0].split()[0] for t in timelines))
    said = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{said}, {count} client{'s' if count != 1 else ''}"


def heading(timelines):
    """Return the picture's title."""
    return f"{who(timelines)}: what does each wait for?"


def patterns():
    colour = states.KINDS["queue"][1]
    return ("<defs><pattern id='queue' width='5' height='5' "
            "patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
            f"<rect width='1.6' height='5' fill='{colour}'/></pattern></defs>")


def fill(kind):
    return "url(#queue)" if kind == "queue" else states.KINDS[kind][1]


def _legend(timelines):
    """Return what the colours mean, in as many lines as it needs, and where they end."""
    shown = {bar.kind for t in timelines for row in t.rows
             for bar in row.bars if (bar.end - bar.begin) * 300 > t.end - t.begin}
    parts, x, y = [], 16, HEAD
    for kind, (words, *_) in states.KINDS.items():
        if kind not in shown:
            continue
        words = words.replace("Redis", timelines[0].peer)
        width = 19 + LETTER * len(words)
        if x + width > WIDTH - RIGHT:
            x, y = 16, y + LINE
        parts.append(f"<rect x='{x:.1f}' y='{y - 6}' width='14' height='9' "
                     f"fill='{fill(kind)}'/><text x='{x + 19:.1f}' y='{y + 2.5}' "
                     f"font-size='{SMALL}' fill='{TEXT}'>{words}</text>")
        x += width + 14
    return parts, y + LINE


def _axis(span, scale, top, bottom):
    step = next(s for s in (.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20) if span / s <= 10)
    parts, tick = [], 0
    while tick * step <= span:
        x = LEFT + tick * step * scale
        parts.append(f"<path d='M{x:.1f} {top - 4}V{bottom + 6}' stroke='{GRID}'/><text "
                     f"x='{x:.1f}' y='{bottom + 20}' font-size='{SMALL}' text-anchor='middle' "
                     f"fill='{QUIET}'>{tick * step * 1000:.0f}{' ms' if tick == 0 else ''}</text>")
        tick += 1
    return parts


def _block(timeline, y, scale):
    number, *more = timeline.title.split()
    lesson = timeline.lesson or (LESSONS.get(number, "") if len(more) == 1 else "")
    parts = [name_line(
        timeline, f"{duration(timeline.seconds)}{lesson and ': ' + lesson}", y + 15)]
    y, role = y + TITLE, "worker"
    for row in timeline.rows:
        pitch, height = ROW[row.role]
        if row.role != role:
            y, role = y + 5, row.role
        parts.append(f"<text x='{LEFT - 8}' y='{y + height - 1}' font-size='{SMALL}' "
                     "text-anchor='end' "
                     f"fill='{TEXT if row.role == 'worker' else QUIET}'>{escape(row.name)}</text>")
        parts += _bars(row, timeline, y, height, scale)
        y += pitch
    return parts, y + 12


def _where(bar):
    """Return the line that a bar was spent in, as the end of its title."""
    frame = lines.of_bar(bar)
    return f", {escape(str(frame))}" if frame else ""


def _bars(row, timeline, y, height, scale):
    """Return the row's bars; those narrower than 0.16 units join the next."""
    parts = []
    for bar in row.bars:
        begin = max(bar.begin, timeline.begin)
        x, width = LEFT + (begin - timeline.begin) * scale, (bar.end - begin) * scale
        if width < 0.16:
            continue
        thin = bar.kind == "idle"
        parts.append(
            f"<rect x='{x:.1f}' y='{y + (height / 2 - 1 if thin else 0):.1f}' "
            f"width='{max(width, 0.6):.1f}' height='{2 if thin else height}' "
            f"fill='{fill(bar.kind)}'><title>{escape(bar.words)}, "
            f"{duration(bar.end - bar.begin)}{_where(bar)}</title></rect>")
    return parts
