"""A burst as a page that plays it again: the picture, and the source with a hand for each worker
at the line where it stands. One file, which needs nothing else. Pure, but for its form.
"""

import html
import json
from pathlib import Path

from tools.kit import TOP, states
from tools.observe.timeline import lines, svg

_FORM = Path(__file__).with_name("replay.html")
SHORTEST = 20e-6        # seconds: a bar of a worker that is shorter is no step


def data_of(timelines, caption):
    """Return what a page needs, as plain data; `caption`: lines below the picture."""
    files = _files(timelines)
    return {
        "title": svg.heading(timelines).replace("what does each wait for?", "line by line"),
        "caption": caption,
        "kinds": [[words, light, dark] for words, light, dark in states.KINDS.values()],
        "files": [[name, _text(name)] for name in files],
        "servers": [{"title": t.title, "rows": [
            [row.name, row.role, [_bar(bar, t, files) for bar in row.bars
                                  if bar.end - bar.begin >= SHORTEST]]
            for row in t.rows]} for t in timelines]}


def page(data, home=()):
    """Return the page's text; `data` is that of data_of(), `home` (address, name) of the page of a
    book that it belongs to."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    back = '<p id="home"><a href="{}">← {}</a></p>\n'.format(*map(html.escape, home)) \
        if home else ""
    return _FORM.read_text(encoding="utf-8").replace("/*HOME*/", back).replace("/*DATA*/", text)


def _files(timelines):
    """Return the names of the files in which workers stand, or that they came through, main.c
    first."""
    found = {frame.file for t in timelines for row in t.rows if row.role == "worker"
             for bar in row.bars for frame in lines.stack_of(bar)}
    return sorted((name for name in found if (TOP / name).is_file()),
                  key=lambda name: (not name.endswith("main.c"), name))


def _text(name):
    """Return the lines of a source file."""
    return (TOP / name).read_text(encoding="utf-8", errors="replace").splitlines()


def _bar(bar, timeline, files):
    """Return [begin, end, kind, words, stack]: microseconds since the first connect, the place of
    the kind, and [place of the file, line, function] of each frame, innermost first."""
    return [round((bar.begin - timeline.begin) * 1e6), round((bar.end - timeline.begin) * 1e6),
            list(states.KINDS).index(bar.kind), bar.words,
            [[files.index(frame.file), frame.line, frame.function]
             for frame in lines.stack_of(bar) if frame.file in files]]
