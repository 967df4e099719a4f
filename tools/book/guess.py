"""Guess by drawing: the reader draws the curve that they expect, then sees the measured one.

    :::{guess} guestbook forking        the rate of a server by clients
    :known: iterative                   others whose curves the reader has met: drawn in grey
    :claim: EXPRESSION                  what the sentences need to hold
    close: ...                          a sentence for each kind of guess that
    high: ...                           tools/observe/predict/guess.py tells apart
    low: ...
    :::

Without a known curve, the first measured point is given. The page has the data as JSON, and
static/guess.js draws. Without script there is the plain curve, or a link to it if the page has
it anyway.
"""

import json

from docutils import nodes
from docutils.parsers.rst import directives

from tools.book import figures
from tools.book.extension import Block
from tools.kit import servers
from tools.observe.predict import guess
from tools.report import styles

NICE = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)      # ends of an axis, times a power of ten
ROOM = 1.2                                      # for a guess above the highest curve


class Guess(Block):
    """A box in which the reader draws."""

    has_content = True
    required_arguments, optional_arguments = 2, 0
    option_spec = {"known": directives.unchanged, "claim": directives.unchanged}

    def guess(self, name, server):
        """Return the data, and what a page without script shows."""
        said = guess.sentences(self.content)
        told = {**self.curves(name, server), "said": said if self.holds() else {}}
        light, dark = styles.ARCHITECTURES[server]
        self.options["key"] = "rate"
        plain = self.curve(name, server)
        for one in plain:
            one["plain"] = True
        data = json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")
        return [nodes.raw("", (
            f'<div class="guess" style="--light: {light}; --dark: {dark}">'
            f'<script type="application/json">{data}</script><noscript>'), format="html"),
            *plain, nodes.raw("", "</noscript></div>", format="html")]

    def holds(self):
        """Return whether the claim holds; warn if not."""
        claim = " ".join(self.options.get("claim", "True").split())
        if figures.evaluate(claim, self.data.names):
            return True
        self.refuse(f"the claim does not hold: {claim}")
        return False

    def curves(self, name, server):
        """Return what static/guess.js draws. Raises GuessError when a curve is too short."""
        page = self.page(name)
        points = {one: rates(self.cells(name, one)) for one in
                  (server, *self.options.get("known", "").split())}
        measured = points.pop(server)
        ticks = [x for x in guess.TICKS if x in measured] or [*measured]
        if len(ticks) < 2:
            raise guess.GuessError(f"{server} was measured with one number of clients only")
        highest = max(max(rates(self.cells(name, one["server"])).values(), default=0)
                      for one in page.curves)
        return {"title": title(server), "unit": page.experiment["unit"].replace("/s", " a second"),
                "axis": page.experiment["x_title"], "ticks": ticks, "top": top(highest * ROOM),
                "start": None if points else measured[min(measured)],
                "points": [*measured.items()], "known": [
                    {"title": title(one), "points": [*known.items()]}
                    for one, known in points.items()]}


def rates(cells):
    """Return {x: whole rate} of those cells that have one."""
    return {x: round(cell["rate"]) for x, cell in sorted(cells.items()) if cell.get("rate")}


def title(server):
    """Return "05 prethreaded"."""
    return servers.named(server).folder.replace("_", " ")


def top(value):
    """Return the end of an axis: a round number, `value` or more."""
    power = 10 ** (len(str(int(value))) - 1)
    return next(int(one * power) for one in NICE if one * power >= value)


def link_to_the_same(_app, doctree):
    """Where the page has the same curve further down, put a link to it in place of the first."""
    raw = [*doctree.findall(nodes.raw)]
    for one in raw:
        same = [other for other in raw if other is not one and other.astext() == one.astext()]
        if one.get("plain") and same:
            section = same[0].parent
            while not isinstance(section, nodes.section):
                section = section.parent
            one.replace_self(nodes.raw("", (
                f'<p class="run-note">What do you expect? <a href="#{section["ids"][0]}">The '
                'measured curve</a> is below.</p>'), format="html", said=(
                    "<sub>What do you expect? The measured curve is below, and in the book that "
                    "`make book` builds, you can draw yours first.</sub>")))


def add_script(app, _page, _template, context, _doctree):
    """Load the script only where there is something to draw."""
    if '<div class="guess"' in context.get("body", ""):
        app.add_js_file("guess.js", defer="defer")


def setup(app):
    """Register it."""
    app.add_directive("guess", Guess)
    app.connect("doctree-read", link_to_the_same)
    app.connect("html-page-context", add_script)
