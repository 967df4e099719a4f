"""Timelines as one HTML page that needs nothing else. Pure, but for its form.
"""

import json
from pathlib import Path

from tools.observe.timeline import export, svg

LIMIT = 400_000                 # bytes of a page
_FORM = Path(__file__).with_name("page.html")


def draw(timelines, caption):
    """Return the page's text: zoom, tooltips, light and dark. Where it would be larger than LIMIT,
    its tooltips say less, and the shortest bars are left out."""
    form = _FORM.read_text(encoding="utf-8")
    span = max(t.end - t.begin for t in timelines)
    for calls, arguments, parts in (
            (export.CALLS, export.ARGUMENTS, 0), (3, 50, 0), (1, 30, 5000),
            (0, 0, 2000), (0, 0, 500), (0, 0, 100)):
        data = {"title": svg.heading(timelines), "caption": caption,
                **export.data(timelines, calls, arguments, span / parts if parts else 0)}
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        page = form.replace("/*DATA*/", text.replace("<", "\\u003c"))
        if len(page.encode()) < LIMIT:
            break
    return page
