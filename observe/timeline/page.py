"""Timelines as one HTML page that needs nothing else. Pure, but for its form.
"""

import json
from pathlib import Path

from observe.timeline import export, svg

LIMIT = 400_000                 # bytes of a page
_FORM = Path(__file__).with_name("page.html")


def draw(timelines, caption):
    """Return the page's text: zoom, tooltips, light and dark.

    Where the page would be larger than LIMIT, its tooltips say less.
    """
    form = _FORM.read_text(encoding="utf-8")
    for calls, arguments in ((export.CALLS, export.ARGUMENTS), (3, 50),
                             (1, 30), (0, 0)):
        data = {"title": svg.heading(timelines), "caption": caption,
                **export.data(timelines, calls, arguments)}
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        page = form.replace("/*DATA*/", text.replace("<", "\\u003c"))
        if len(page.encode()) < LIMIT:
            break
    return page
