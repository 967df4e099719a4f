"""The picture that the book and the README begin with: eight clients at each of the seven.

    :::{overview}                       the picture, on a telephone a narrow one
    python3 -m tools.book.overview      writes those of the README

It is drawn from the recordings of docs/results/replays/, as the replays of the chapters are.
Pure, but for its data.
"""

import json
import lzma
from dataclasses import dataclass
from html import escape

from tools.kit import TOP, states
from tools.kit.servers import ARCHITECTURES
from tools.observe.timeline import svg
from tools.observe.timeline.export import duration

RESULTS = TOP / "docs" / "results"
README = {theme: RESULTS / "timelines" / f"overview{end}.svg"
          for theme, end in (("light", ""), ("dark", "-dark"))}
LESSONS = {
    "iterative": "one process; the others wait for it",
    "forking": "a process for each client",
    "preforking": "a pool of four processes",
    "threaded": "a thread for each client",
    "prethreaded": "a pool of four threads",
    "poll": "one loop asks about all of them",
    "epoll": "one loop is told which are ready",
}
TITLE = "Eight clients ask each server for a page"
SUBTITLE = "A page needs three replies from Redis, 50 ms each."
ALT = ("Timeline of the seven servers with the same eight clients. 01 iterative serves one after "
       "the other. The pools 03 and 05 serve them in two waves. The others serve all of them at "
       "the same time.")
THIN = 1.5              # units: a bar that is narrower joins its neighbour
PITCH, HEIGHT, GAP = 5, 4, 9


@dataclass(frozen=True)
class Layout:
    """How wide the picture is, and whether names stand next to the bars or above them."""

    width: int
    left: int
    above: int          # units above the bars for the name
    step: float         # seconds between ticks


WIDE, NARROW = Layout(800, 136, 0, 0.2), Layout(400, 16, 18, 0.3)


def recorded(name):
    """Return the clients of a recording, [[(begin, end, kind)]] with times in seconds."""
    data = json.loads(lzma.decompress((RESULTS / "replays" / f"{name}.json.xz").read_bytes()))
    kinds = list(states.KINDS)
    return [[(begin / 1e6, end / 1e6, kinds[kind]) for begin, end, kind, *_ in bars]
            for _, role, bars in data["servers"][0]["rows"] if role == "client"]


def joined(bars, thin):
    """Return the bars that can be seen; each lasts until the next one begins."""
    seen = bars[:1]
    for begin, end, kind in bars[1:]:
        start, until, before = seen[-1]
        if kind == before or end - begin < thin:
            seen[-1] = start, end, before
        elif until - start < thin:
            seen[-1] = start, end, kind
        else:
            seen.append((until, end, kind))
    return seen


def draw(layout):
    """Return the SVG text for light ground; in_both() has its twin."""
    clients = {one: recorded(one.name) for one in ARCHITECTURES}
    span = max(bars[-1][1] for rows in clients.values() for bars in rows)
    scale = (layout.width - layout.left - svg.RIGHT) / span
    parts, y, seen = [], 82, set()
    for server, rows in clients.items():
        rows = [joined(bars, THIN / scale) for bars in rows]
        seen |= {kind for bars in rows for *_, kind in bars}
        parts += _block(server, rows, layout, y, scale)
        y += layout.above + len(rows) * PITCH + GAP
    height = y + 22
    return "\n".join([
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {layout.width} {height}' "
        f"width='{layout.width}' height='{height}' font-family='system-ui,sans-serif' "
        f"role='img'><title>{escape(TITLE)}</title>", svg.patterns(),
        f"<rect width='100%' height='100%' fill='{svg.GROUND}'/>",
        _text(16, 20, TITLE, svg.TEXT, "font-size='15' font-weight='600'"),
        _text(16, 40, SUBTITLE), *_legend(seen, layout),
        *_axis(span, scale, layout, y), *parts, "</svg>\n"])


_SMALL, _BOLD = f"font-size='{svg.SMALL}'", "font-size='13' font-weight='600'"


def _text(x, y, words, colour=svg.QUIET, more=_SMALL):
    return f"<text x='{x:.1f}' y='{y}' fill='{colour}' {more}>{escape(words)}</text>"


def _legend(seen, layout):
    parts, x = [], 16
    for kind, (words, *_) in states.KINDS.items():
        if kind not in seen:
            continue
        parts += [f"<rect x='{x:.1f}' y='53' width='14' height='9' fill='{svg.fill(kind)}'/>",
                  _text(x + 19, 62, words, svg.TEXT)]
        x += (30 if layout.above else 40) + svg.LETTER * len(words)
    return parts


def _axis(span, scale, layout, bottom):
    parts = []
    for tick in range(int(span / layout.step) + 1):
        x = layout.left + tick * layout.step * scale
        anchor = "end" if x > layout.width - 30 else "middle" if tick else "start"
        words = f"{tick * layout.step * 1000:.0f}" + ("" if tick else " ms")
        parts += [f"<path d='M{x:.1f} 74V{bottom - 2}' stroke='{svg.GRID}'/>",
                  _text(x, bottom + 12, words, more=_SMALL + f" text-anchor='{anchor}'")]
    return parts


def _block(server, rows, layout, y, scale):
    """Return a server's name, its eight clients, and how long all of them took."""
    seconds = max(bars[-1][1] for bars in rows)
    said = f"{duration(seconds)}: {LESSONS[server.name]}"
    name = server.folder.replace("_", " ")
    end = layout.left + seconds * scale
    if layout.above:
        parts = [_text(layout.left, y + 12, name, svg.TEXT, _BOLD),
                 _text(layout.left + 122, y + 12, said)]
    elif end > layout.width / 2:    # there is room where the first clients have left
        parts = [_text(16, y + 24, name, svg.TEXT, _BOLD), _text(
            layout.width - svg.RIGHT, y + 10, said, more=_SMALL + " text-anchor='end'")]
    else:
        parts = [_text(16, y + 24, name, svg.TEXT, _BOLD), _text(end + 12, y + 24, said)]
    for place, bars in enumerate(rows):
        top = y + layout.above + place * PITCH
        parts += [f"<rect x='{layout.left + begin * scale:.1f}' y='{top}' "
                  f"width='{(until - begin) * scale:.1f}' height='{HEIGHT}' "
                  f"fill='{svg.fill(kind)}'/>" for begin, until, kind in bars]
    return parts


def in_both(layout=WIDE):
    """Return {theme: the SVG}."""
    light = draw(layout)
    return {"light": light, "dark": states.dark(light)}


def html(folder):
    """Write the pictures into the folder _images; return the elements that show them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, layout in (("wide", WIDE), ("narrow", NARROW)):
        for theme, text in in_both(layout).items():
            (folder / f"overview-{name}-{theme}.svg").write_text(text, encoding="utf-8")
    return "\n".join(
        f'<picture class="overview only-{theme}"><source media="(max-width: 600px)" '
        f'srcset="_images/overview-narrow-{theme}.svg"><img alt="{escape(ALT)}" '
        f'src="_images/overview-wide-{theme}.svg"></picture>' for theme in README)


def main():
    """Write the pictures of the README."""
    for theme, text in in_both().items():
        README[theme].write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
