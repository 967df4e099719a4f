"""A burst as a page that plays it again: the picture, and the source with a hand for each worker
at the line where it stands. One file, which needs nothing else. Pure, but for its form.
"""

import html
from pathlib import Path

from tools.kit import TOP
from tools.observe.timeline import export, lines, svg

_FORM = Path(__file__).with_name("replay.html")
SHORTEST = 20e-6        # seconds: a bar of a worker that is shorter is no step


def data_of(timelines, caption):
    """Return what a page needs, as plain data; `caption`: lines below the picture."""
    files = _files(timelines)

    def stack(bar):
        """Return [place of the file, line, function] of each frame, innermost first."""
        return [[files.index(frame.file), frame.line, frame.function]
                for frame in lines.stack_of(bar) if frame.file in files]

    title = svg.heading(timelines).replace("what does each wait for?", "line by line")
    return {**export.data(title, caption, timelines, stack, SHORTEST),
            "files": [[name, (TOP / name).read_text("utf-8", "replace").splitlines()]
                      for name in files]}


def page(data, home=()):
    """Return the page's text; `data` is that of data_of(), `home` (address, name) of the page of a
    book that it belongs to."""
    back = '<p id="home"><a href="{}">← {}</a></p>\n'.format(*map(html.escape, home)) \
        if home else ""
    return export.filled(_FORM.read_text(encoding="utf-8").replace("/*HOME*/", back), data)


def _files(timelines):
    """Return the names of the files in which workers stand, or that they came through, main.c
    first."""
    found = {frame.file for t in timelines for row in t.rows if row.role == "worker"
             for bar in row.bars for frame in lines.stack_of(bar)}
    return sorted((name for name in found if (TOP / name).is_file()),
                  key=lambda name: (not name.endswith("main.c"), name))
