"""Timelines as one HTML page that needs nothing else. Pure, but for its form.
"""

import functools
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
            (5, 90, 0), (3, 50, 0), (1, 30, 5000), (0, 0, 2000), (0, 0, 500), (0, 0, 100)):
        tooltip = functools.partial(export.details, calls=calls, arguments=arguments)
        page = export.filled(form, export.data(
            svg.heading(timelines), caption, timelines, tooltip, span / parts if parts else 0))
        if len(page.encode()) < LIMIT:
            break
    return page
