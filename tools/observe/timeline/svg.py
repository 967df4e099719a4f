"""Timelines as an SVG picture, for light or dark ground. Pure."""

from html import escape

from tools.kit import states
from tools.observe.timeline.export import duration

WIDTH, LEFT, RIGHT = 960, 150, 16
ROW = {"worker": (13, 9), "client": (11, 7)}     # pitch, height of the bar
LOOKS = {       # ground, text, quiet text, grid
    "light": ("#ffffff", "#1d2430", "#5b6675", "#e3e7ec"),
    "dark": ("#14181e", "#e6eaf0", "#9aa7b6", "#2a323c"),
}
LESSONS = {
    "01": "one process waits for Redis; the other clients wait for the process",
    "02": "a process for each client: they wait at the same time",
    "03": "four workers wait at the same time; further clients wait for one",
    "04": "a thread for each client: they wait at the same time",
    "05": "four threads wait at the same time; further clients wait for one",
    "06": "one loop waits for all clients together",
    "07": "one loop waits for all clients together",
}
HEAD, TITLE, AXIS = 62, 24, 34
_FONT = "font-family='system-ui,sans-serif'"


def draw(timelines, caption, look="light"):
    """Return the SVG text: the servers stacked on one time axis.

    `caption`: lines below the picture; `look`: a key of LOOKS.
    """
    ground, text, quiet, _ = LOOKS[look]
    span = max(t.end - t.begin for t in timelines)
    scale = (WIDTH - LEFT - RIGHT) / span
    parts, y = [], HEAD
    for timeline in timelines:
        block, y = _block(timeline, y, scale, look)
        parts += block
    height = y + AXIS + 16 * len(caption) + 10
    return "\n".join([
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} "
        f"{height}' width='{WIDTH}' height='{height}' {_FONT} role='img'>",
        f"<title>{escape(heading(timelines))}</title>", _patterns(look),
        f"<rect width='100%' height='100%' fill='{ground}'/>",
        f"<text x='16' y='24' font-size='16' font-weight='600' fill='{text}'>"
        f"{escape(heading(timelines))}</text>",
        *_legend(timelines, look), *_axis(span, scale, y, look), *parts,
        *(f"<text x='16' y='{y + AXIS + 14 + 16 * i}' font-size='11' "
          f"fill='{quiet}'>{escape(line)}</text>"
          for i, line in enumerate(caption)), "</svg>\n"])


def heading(timelines):
    """Return the picture's title."""
    count = sum(row.role == "client" for row in timelines[0].rows)
    who = "Seven servers" if len(timelines) == 7 else timelines[0].title
    return f"{who}, {count} client{'s' if count != 1 else ''}: " \
        "what does each wait for?"


def _patterns(look):
    colour = states.KINDS["queue"][1 + (look == "dark")]
    return ("<defs><pattern id='queue' width='5' height='5' "
            "patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
            f"<rect width='1.6' height='5' fill='{colour}'/></pattern></defs>")


def _fill(kind, look):
    return "url(#queue)" if kind == "queue" else \
        states.KINDS[kind][1 + (look == "dark")]


def _legend(timelines, look):
    shown = {bar.kind for t in timelines for row in t.rows
             for bar in row.bars if (bar.end - bar.begin) * 300 >
             t.end - t.begin}
    parts, x = [], 16
    for kind, (words, *_) in states.KINDS.items():
        if kind not in shown:
            continue
        parts.append(f"<rect x='{x}' y='38' width='14' height='9' "
                     f"fill='{_fill(kind, look)}'/><text x='{x + 19}' y='46.5' "
                     f"font-size='11.5' fill='{LOOKS[look][1]}'>{words}</text>")
        x += 36 + 6.1 * len(words)
    return parts


def _axis(span, scale, bottom, look):
    _, _, quiet, grid = LOOKS[look]
    step = next(s for s in (.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20)
                if span / s <= 10)
    parts, tick = [], 0
    while tick * step <= span:
        x = LEFT + tick * step * scale
        parts.append(f"<path d='M{x:.1f} {HEAD - 4}V{bottom + 6}' "
                     f"stroke='{grid}'/><text x='{x:.1f}' y='{bottom + 20}' "
                     f"font-size='11' text-anchor='middle' fill='{quiet}'>"
                     f"{tick * step * 1000:.0f}"
                     f"{' ms' if tick == 0 else ''}</text>")
        tick += 1
    return parts


def _block(timeline, y, scale, look):
    _, text, quiet, _ = LOOKS[look]
    number, *more = timeline.title.split()
    lesson = LESSONS.get(number, "") if len(more) == 1 else ""
    parts = [f"<text x='16' y='{y + 15}' font-size='13' font-weight='600' "
             f"fill='{text}'>{escape(timeline.title)}</text>"
             f"<text x='{LEFT}' y='{y + 15}' font-size='11' fill='{quiet}'>"
             f"{duration(timeline.seconds)}{lesson and ': ' + lesson}"
             "</text>"]
    y, role = y + TITLE, "worker"
    for row in timeline.rows:
        pitch, height = ROW[row.role]
        if row.role != role:
            y, role = y + 5, row.role
        size = 10.5 if row.role == "worker" else 9.5
        parts.append(f"<text x='{LEFT - 8}' y='{y + height - 0.5}' "
                     f"font-size='{size}' text-anchor='end' fill='"
                     f"{text if row.role == 'worker' else quiet}'>"
                     f"{escape(row.name)}</text>")
        parts += _bars(row, timeline, y, height, scale, look)
        y += pitch
    return parts, y + 12


def _bars(row, timeline, y, height, scale, look):
    """Return the row's bars; those narrower than 0.2 units join the next."""
    parts = []
    for bar in row.bars:
        begin = max(bar.begin, timeline.begin)
        x, width = LEFT + (begin - timeline.begin) * scale, \
            (bar.end - begin) * scale
        if width < 0.2:
            continue
        thin = bar.kind == "idle"
        parts.append(
            f"<rect x='{x:.1f}' y='{y + (height / 2 - 1 if thin else 0):.1f}' "
            f"width='{max(width, 0.6):.1f}' height='{2 if thin else height}' "
            f"fill='{_fill(bar.kind, look)}'><title>{escape(bar.words)}, "
            f"{duration(bar.end - bar.begin)}</title></rect>")
    return parts
