"""What moves in a page of the book: replays of a burst, and the simulator, each in a frame.

    :::{replay} epoll                   the burst of docs/results/replays/epoll.json.xz
    :::{simulator} prethreaded workers  that server, with the one control that the page is about

The pages in the frames are made of committed data, and need nothing else.
"""

import json
import lzma
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools.book.data import RESULTS
from tools.kit import servers
from tools.model import model
from tools.model.simulator import page as simulator
from tools.observe.timeline import replay

REPLAYS = RESULTS / "replays"


class Frame(SphinxDirective):
    """A page in a frame, which loads when the reader comes to it, and a link to it alone."""

    required_arguments, optional_arguments = 1, 1

    def run(self):
        up = "../" * self.env.docname.count("/")
        server = servers.named(self.arguments[0])
        title = server.folder.replace("_", " ")
        if self.name == "replay":
            self.env.note_dependency(str(REPLAYS / f"{server.name}.json.xz"))
            page, what = f"replay-{server.name}.html", f"Eight clients at {title}, line by line"
            plain = "its timeline shows the same burst"
        else:
            control = self.arguments[1]
            page = f"simulator.html#server={server.name}&only={control}"
            what = f"{title} in the simulator"
            plain = "the drawing of its architecture shows what moves there"
        return [nodes.raw("", (
            f'<iframe class="{self.name}" src="{up}{escape(page)}" title="{escape(what)}" '
            f'loading="lazy"></iframe><p class="run-note">{escape(what)}. '
            f'<a href="{up}{escape(page)}">Open it in a page of its own</a>.</p>'
            f'<p class="run-note on-paper">{escape(what)}: on a screen only. '
            f'On paper, {plain}.</p>'),
            format="html", said=(f"<sub>{what}: an animation in the book that `make book` "
                                 f"builds. Here, {plain}.</sub>"))]


def write(app, exception):
    """Put the pages of the frames next to those of the book."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    (out / "simulator.html").write_text(
        simulator.draw(model.load(), home="index.html"), encoding="utf-8")
    for path in REPLAYS.glob("*.json.xz"):
        data = json.loads(lzma.decompress(path.read_bytes()))
        server = servers.named(path.name.partition(".")[0])
        home = f"tutorial/{server.folder}.html", server.folder.replace("_", " ")
        (out / f"replay-{server.name}.html").write_text(replay.page(data, home), encoding="utf-8")


def setup(app):
    """Register both."""
    for name in ("replay", "simulator"):
        app.add_directive(name, Frame)
    app.connect("build-finished", write)
