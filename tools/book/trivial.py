"""Whether the model of the seven beats two predictions that need no model.

    :::{errors} guestbook           a table, and a sentence that says which of them is best
"""

from docutils import nodes

from tools.book.extension import Block
from tools.model import trivial
from tools.report import table

WORDS = {"model": "the model", "constant": "the rate at the fewest clients", "bound": "the bound"}
ALIKE = 0.1         # percentage points: errors that differ by less are equal


class Errors(Block):
    """The directive."""

    def errors(self, name):
        """Median errors of each prediction in per cent, a row a server."""
        found = {one["server"]: trivial.errors(one["points"]) for one in self.page(name).curves}
        found = {server: each for server, each in found.items() if each}
        best = {}       # {the closest, in words: servers}
        for server, each in found.items():
            ways = [WORDS[way] for way in trivial.WAYS if each[way] < min(each.values()) + ALIKE]
            best.setdefault(" as well as ".join(ways), []).append(server)
        said = "; ".join(f"{ways} for {', '.join(some)}" for ways, some in best.items())
        self.options.setdefault("caption", f"How far three predictions of {name} are off, in per "
                                "cent of the measured rate: the median of all points but the first")
        return [*self.table(["server", *WORDS.values()], [
            [server, *(table.number(each[way]) for way in trivial.WAYS)]
            for server, each in found.items()]),
            nodes.paragraph("", f"Closest to what was measured: {said}.")]


def setup(app):
    """Register it."""
    app.add_directive("errors", Errors)
