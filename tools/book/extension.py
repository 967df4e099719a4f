"""The Sphinx extension of the book: figures, claims, curves, tables, quoted
code and pictures, resolved when the book is built.

    {value}`guestbook.epoll[100].cpu_us | 1`     a figure; "| 1": digits
    {than}`guestbook 100 poll epoll`             how two servers compare
    {ratio}`floors 100 epoll floor-epoll`        the same as a figure
    :::{claim} guestbook.poll[100].cpu_us > 30   prose that needs this to hold
    :::{curve} guestbook epoll                   one curve before the others
    :::{costs} guestbook epoll                   costs by number of clients
    :::{across} guestbook 100                    costs of all servers; at a rate: also their times
    :::{calls} guestbook iterative epoll         system calls a request
    :::{times} mixed p99_ms                      response times by x, of a study
    :::{response} mixed                          the same as curves
    :::{awake} guestbook 20 100 1000             CPU time as the machine is, and with no core asleep
    :::{counted} fairness ms, the longest iteration      a figure of its hooks
    :::{quote} 07_epoll/main.c serve_clients     a definition in C
    :::{picture} epoll                           a drawing of pictures.py
    :::{timeline} epoll                          what make timeline drew, or flame-epoll
    :::{overview}                                the picture of the first page

Expressions are those of figures.py. With the book's own run, a claim that does not hold or a figure
that is missing is an error. With a reader's run (`make book RUN=...`) the page marks it.
"""

import statistics
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from tools.book import figures, live, overview, pictures, sidebar, source
from tools.book.data import RESULTS, Data, lab_of
from tools.kit import sources, states
from tools.kit.servers import ARCHITECTURES
from tools.report import charts, styles, table
from tools.results import rundir
from tools.stats.summary import BURST

WRONG = (figures.FigureError, source.SourceError, OSError, ValueError, TypeError, KeyError,
         StopIteration)
SEVEN = [one.name for one in ARCHITECTURES]
DEFERRED = ["prethreaded-deferred", "epoll-deferred"]   # the same servers, and one socket option
GRID = (20, 100, 500, 1000, 5000, 10000, 15000)     # rows of a table
COLUMNS = {     # of a table of costs: title, digits
    "cpu_us": ("CPU µs", 1), "cpu_user_us": ("in user code", 1),
    "can_do": ("one core can do", 0), "rate": ("rate reached", 0),
    "switches": ("context switches", 2), "pss_mib": ("MiB", 1), "p99_ms": ("99 % within, ms", 2)}
LOGGER = logging.getLogger(__name__)


class Resolved:
    """What roles and directives share."""

    @property
    def data(self):
        """The Data of the build."""
        return self.env.app.book_data

    def refuse(self, error):
        """Warn, which ends the build of the book's own run; return a text for a reader's run."""
        if self.data.strict:
            LOGGER.warning("%s", error, location=(self.env.docname, self.lineno))
        return nodes.emphasis("", "not in this run")


class Figure(SphinxRole, Resolved):
    """A role that becomes a text: {value}, {than}, {ratio}."""

    def run(self):
        try:
            return [nodes.Text(getattr(self, self.name)())], []
        except WRONG as error:
            return [self.refuse(f"{self.text}: {error}")], []

    def value(self):
        """expression | digits"""
        expression, _, digits = self.text.partition("|")
        found = figures.evaluate(expression, self.data.names)
        return figures.show(found, int(digits) if digits.strip() else None).replace("-", "−", 1)

    def than(self):
        """experiment x server base [metric [variant]], with | between names that have blanks"""
        return figures.than(self.data.runs, self.text)

    def ratio(self):
        """The same, as a figure with its interval."""
        found = figures.compare(self.data.runs, self.text)
        return f"{found['ratio']:.2f} (" + (
            f"{found['rounds']} rounds)" if found["low"] is None else
            f"{found['low']:.2f} to {found['high']:.2f})")


class Claim(SphinxDirective, Resolved):
    """Prose that stands only while its expression is true."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        text = " ".join(self.arguments[0].split())
        box = self.parse_content_to_nodes()
        try:
            if figures.evaluate(text, self.data.names):
                return box
            self.refuse(f"the claim does not hold: {text}")
            kind, verdict = "claim-fails", "In this run this does not hold"
        except figures.FigureError as error:
            self.refuse(error)
            kind, verdict = "claim-open", "This run did not measure whether this holds"
        note = nodes.paragraph("", f"{verdict} ({text}).", classes=["claim-note"])
        return [nodes.container("", note, *box, classes=[kind])]


class Block(SphinxDirective, Resolved):
    """A directive that becomes a table, a picture or code. A method of its
    name gets its words, and returns nodes or raises one of WRONG."""

    optional_arguments = 20
    option_spec = {"variant": directives.unchanged, "key": directives.unchanged,
                   "caption": directives.unchanged}

    def run(self):
        try:
            return getattr(self, self.name.replace("-", "_"))(*self.arguments)
        except WRONG as error:
            return [nodes.paragraph("", "", self.refuse(f"{self.name}: {error!r}"))]

    # ------------------------------------------------------ what they are of

    def page(self, name, servers=SEVEN):
        """Return the charts.Page of an experiment or a study: the variant asked
        for, else the first, of `servers`; None stands for all."""
        run = self.data.runs.get(name, self.data.run)
        experiment = run.experiments[name]
        page = charts.Page(run.summary, experiment, self.options.get(
            "variant", experiment["variants"][0]))
        page.curves = [one for one in page.curves if servers is None or one["server"] in servers]
        return page

    def by_server(self, name):
        """Return {server: Names} of the same variant."""
        found = self.data.names["study"][name.replace("-", "_")] if name in self.data.studies \
            else self.data.names[name]
        return found[self.page(name).variant]

    def cells(self, name, server):
        """Return {x: Names} of a server, of the same variant."""
        return {x: cell for x, cell in self.by_server(name)[server].items() if isinstance(x, int)}

    def compared(self, name):
        """Return the seven, and those of DEFERRED that were measured with them: wherever
        connections are new."""
        return [*SEVEN, *(one for one in DEFERRED if one in self.by_server(name))]

    @staticmethod
    def note(words):
        """Return a paragraph below a table or a picture."""
        return nodes.paragraph("", words, classes=["run-note"])

    def plain(self, heads, rows):
        """Return a table with its first column as words, others as figures."""
        lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
        made = self.parse_text_to_nodes("\n".join(f"| {' | '.join(line)} |" for line in lines))
        if "caption" in self.options:
            made[0].insert(0, nodes.title("", self.options["caption"]))
        return made

    def table(self, heads, rows, study="", what=()):
        """Return the same, and a note below it: what it shows, and the run, or the study."""
        shows = ", ".join(filter(None, what))
        return [*self.plain(heads, rows),
                self.note(". ".join(filter(None, (shows, self.data.machine(study)))))]

    def of_columns(self, first, cells, keys, what, study=""):
        """Return the table of those of these COLUMNS that have a figure, with
        a row for each of {name: cell}; a dash where a cell has none."""
        keys = [key for key in keys if any(cell.get(key) is not None for cell in cells.values())]
        return self.table([first, *(COLUMNS[key][0] for key in keys)], [
            [name, *(figures.known(cell.get(key), COLUMNS[key][1]) for key in keys)]
            for name, cell in cells.items()], study, (*what, "CPU time steadied"))

    def image(self, name, svg, alt, dark=None):
        """Write a picture for a light page, and its dark twin, below _images/;
        return the nodes that show the one that fits the page."""
        folder = Path(self.env.app.outdir) / "_images"
        folder.mkdir(parents=True, exist_ok=True)
        up, made, dark = "../" * self.env.docname.count("/"), [], dark or pictures.dark(svg)
        for theme, text in (("light", svg), ("dark", dark)):
            (folder / f"{name}-{theme}.svg").write_text(text, encoding="utf-8")
            made.append(f'<img class="only-{theme}" alt="{escape(alt)}"'
                        f' src="{up}_images/{name}-{theme}.svg">')
        return [nodes.raw("", "\n".join(made), format="html", picture=(name, alt, svg, dark))]

    # ---------------------------------------------------------------- tables

    def costs(self, name, server):
        """What a request costs a server, by the number of clients."""
        cells = {x: cell for x, cell in self.cells(name, server).items() if x in GRID}
        bursts = [f"fewer than {BURST} requests a client from {x:,} on"
                  for x, cell in cells.items() if cell.get("burst")]
        return self.of_columns("clients", {
            f"{x:,}": cell for x, cell in cells.items()}, [*COLUMNS][:5],
            (self.page(name).experiment["title"], self.page(name).variant, server, *bursts[:1]))

    def across(self, name, x, *servers):
        """What a request costs each server (default: compared()) at one number of clients, or at
        one rate."""
        cells = {server: self.cells(name, server).get(int(x))
                 for server in servers or self.compared(name)}
        experiment = self.page(name).experiment
        hidden = ("can_do", "rate") if experiment["open_loop"] else ("p99_ms",)
        return self.of_columns("server", {
            server: cell for server, cell in cells.items() if cell},
            [key for key in COLUMNS if key not in ("cpu_user_us", *hidden)], (
                experiment["title"], self.page(name).variant,
                f"{int(x):,} {experiment['x_short']}"), name)

    def awake(self, name, *points):
        """CPU microseconds of the seven in both runs, and their ratio."""
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

    def calls(self, name, *servers):
        """System calls a request, by what they are for."""
        told = [next(iter(self.cells(name, server).values())).calls for server in servers]
        page = self.page(name)
        return self.table(["system call", *servers], [
            [f"**{what}**" if purpose else what,
             *(f"{figure:.2f}" if figure >= 0.005 else "–" for figure in some)]
            for what, purpose, some in figures.by_purpose(told)]
            + [["**all**", *(f"{one['all']:.1f}" for one in told)]], "", (
                f"System calls a request under strace, {name}", page.variant,
                page.experiment["calls_at"]))

    def times(self, name, key):
        """A percentile of the response times of an open loop, in milliseconds:
        a row a server, a column for each x, the lowest and the highest round in
        parentheses. Of a study that compares ways, a row a way."""
        page, found = self.page(name), {}   # {(server, x): [milliseconds]}
        if not page.curves:
            page = self.page(name, None)
        for row in self.data.runs[name].rows:
            if row["variant"] == page.variant and row[key] is not None:
                found.setdefault((row["server"], row["x"]), []).append(row[key])
        servers = [one["server"] for one in page.curves]
        heads = sorted({x for _, x in found})
        title = page.experiment["x_short"]
        return self.table(["server", *(f"{x:,} {title}" for x in heads)], [
            [server, *("{} ({} to {})".format(*map(table.number, (
                statistics.median(some), min(some), max(some))))
                if (some := found.get((server, x))) else "–" for x in heads)]
            for server in servers], name, (
                page.experiment["title"], page.variant, {
                    "p99_ms": "99 % of the answers within, ms"}.get(key, key)))

    def response(self, name):
        """The curves of the times within which 99 % of the answers came."""
        page = self.page(name)
        told = [f"{one['server']}: " + ", ".join(
            f"{table.number(point['values']['p99_ms'])} at {point['x']:,}"
            for point in one["points"] if point["values"].get("p99_ms")) for one in page.curves]
        words = page.variant.replace(" ", "-").replace(",", "")
        return self.image(
            f"response-{name}-{words}", charts.svg(charts.by_x(page, "p99_ms")),
            f"99th percentiles of {name} in ms. {'; '.join(told)}.")

    def counted(self, name, *figure):
        """The curves of a figure that a hook of a study counted."""
        page, words = self.page(name), " ".join(figure)
        chart, told = charts.counted(page, words)
        kind = page.variant.replace(" ", "-").replace(",", "")
        return self.image(f"counted-{name}-{kind}", charts.svg(chart), f"{words}, {name}. {told}.")

    def metrics(self):
        """The columns of samples.csv."""
        return self.table(["column", "what", "unit", "remark"], [
            [one.get(key, "") for key in ("key", "title", "unit", "explain")]
            for one in self.data.run.summary["columns"]])

    def runs(self):
        """The runs that the book is built on, and which of them are stale."""
        return self.table(["run", "machine", "commit", "day", "sources"], [
            [name, run.env["machine"]["cpu"], run.env["source"]["commit"][:7],
             run.env["started"][:10], sources.age(run.env["source"].get("hash"))] for name, run in
            {"reference": self.data.run, "reference-awake": self.data.awake,
             **self.data.studies}.items()])

    # ---------------------------------------------------------------- curves

    def curve(self, name, server=""):
        """The rate reached, by clients: one server in its colour, the others
        grey. `:key: cpu_us` draws the CPU time of a request."""
        page, key = self.page(name), self.options.get("key", "rate")
        for other, title in page.titles.items():
            if server and other != server:
                page.looks[title]["light"] = styles.AXIS[0]
        page.curves.sort(key=lambda curve: curve["server"] == server)
        told = []
        for who in [one["server"] for one in page.curves]:
            cells = self.cells(name, who)
            if server in ("", who):
                told.append(f"{who}: " + ", ".join(
                    f"{figures.show(cells[x][key], 0)} at {x:,}"
                    for x in sorted({*GRID, *cells} if key == "cpu_us" else GRID)
                    if key in cells.get(x, ())))
        variant = page.variant.replace(" ", "-").replace(",", "")
        return self.image(
            "-".join(filter(None, ("curve", name, variant, server, key))),
            charts.svg(charts.by_x(page, key)), f"Curves of {name}. {'; '.join(told)}.")

    # ----------------------------------------------------- code and drawings

    def quote(self, path, *name):
        """A definition quoted from a C file, with a link to its page; labs have none."""
        code = source.quote(path, " ".join(name))
        block = nodes.literal_block(code, code, language="c")
        if path not in source.files():
            return [block, self.note(path)]
        up = self.config.book_home + "../" * self.env.docname.count("/")
        return [block, nodes.raw(
            "", f'<p class="run-note"><a href="{up}{source.page_name(path)}'
            f'.html">{path}</a></p>', format="html", said=f"<sub>[{path}](../../{path})</sub>")]

    def picture(self, name):
        """A drawing of pictures.py."""
        return self.image(f"picture-{name}", *pictures.picture(name))

    def timeline(self, name):
        """The picture that `make timeline SERVER=name` drew; flame-name: with FLAME=1."""
        light = rundir.read_text(RESULTS / "timelines" / f"{name}.svg")
        said = "functions" if "flame" in name else "workers, and each of eight clients"
        return self.image(f"timeline-{name}", light, dark=states.dark(light),
                          alt=f"Timeline of {name}, {said}: the text says what to see.")

    def overview(self):
        """Eight clients at each of the seven; for the page at the top only."""
        folder = Path(self.env.app.outdir) / "_images"
        return [nodes.raw("", overview.html(folder), format="html")]


def add_times(app, doctree):
    """Put the reading time below the title of a chapter, and the lab's."""
    name = app.env.docname
    title = next(iter(doctree.findall(nodes.title)), None)
    if not name.startswith("tutorial/") or title is None:
        return
    words = sum(len(one.astext().split()) for one in doctree.findall(nodes.paragraph))
    said = f"Reading: {max(1, round(words / 200))} minutes."
    if lab := lab_of(name):
        said += f" The lab: {lab[1]['minutes']} minutes."
    title.parent.insert(1, Block.note(said))


def setup(app):
    """Register everything. `book_run` is the folder of a reader's run,
    `book_strict` whether what it does not support is an error, and `book_home`
    the way to the book from what is built next to it."""
    app.add_config_value("book_run", "", "env")
    app.add_config_value("book_strict", lambda config: not config.book_run, "env", types=(bool,))
    app.add_config_value("book_home", "", "env")
    for role in ("value", "than", "ratio"):
        app.add_role(role, Figure())
    app.add_directive("claim", Claim)
    for name in ("curve", "costs", "across", "calls", "awake",
                 "times", "response", "counted", "quote", "picture", "timeline", "overview",
                 "metrics", "runs"):
        app.add_directive(name, Block)
    app.connect("builder-inited", Data)
    live.setup(app)
    app.connect("doctree-read", add_times)
    app.connect("html-collect-pages", source.pages)
    sidebar.setup(app)
