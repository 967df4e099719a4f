"""The directive of the run with cores that never sleep:

    :::{awake} guestbook 20 100 1000        CPU microseconds at these points, as the machine is,
                                            with cores kept awake, and their ratio

`:variant:` names one, as everywhere.
"""

from tools.book import figures
from tools.book.extension import SEVEN, Block


class Awake(Block):
    """The table of one experiment in both runs."""

    def awake(self, name, *points):
        """A row for each of the seven."""
        variant, rows = self.page(name).variant, []
        runs = [names[name][variant] for names in (self.data.names, self.data.names["awake"])]
        for server in SEVEN:
            row = [server]
            for x in map(int, points):
                plain, awake = (run[server][x].cpu_us for run in runs)
                row += [figures.show(plain, 1), figures.show(awake, 1), f"{awake / plain:.2f}"]
            rows.append(row)
        heads = [head for x in points for head in (f"{int(x):,}", "awake", "ratio")]
        return [*self.table(["server", *heads], rows, "", (
            self.page(name).experiment["title"], variant, "CPU µs of a request, by clients")),
            self.note("Awake: " + self.data.machine("reference-awake"))]


def setup(app):
    """Register the directive."""
    app.add_directive("awake", Awake)
    return {"version": "1", "parallel_read_safe": True}
