"""The Sphinx extension of the book: figures, claims, curves, tables, quoted
code and pictures, resolved when the book is built.

    {value}`guestbook.epoll[100].cpu_us | 1`     a figure; "| 1": digits
    {words}`guestbook 100 poll epoll`            how two servers compare
    {ratio}`floors 100 epoll floor-epoll`        the same as a figure
    :::{claim} guestbook.poll[100].cpu_us > 30   prose that needs this to hold
    :::{curve} guestbook epoll                   one curve before the others
    :::{shape} guestbook epoll                   its shape, and the published
    :::{costs} guestbook epoll                   costs by number of clients
    :::{across} guestbook 100                    costs of all servers
    :::{calls} guestbook iterative epoll         system calls a request
    :::{published} guestbook                     what was published, drawn alike
    :::{quote} 07_epoll/main.c serve_clients     a definition in C
    :::{picture} epoll                           a drawing of pictures.py
    :::{timeline} epoll                          what make timeline drew

Expressions are those of figures.py. With the book's own run, a claim that
does not hold or a figure that is missing is an error. With a reader's run
(`make book RUN=...`) the page marks it.
"""

import os
import tomllib
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from bench.draw import charts, styles
from bench.run.servers import ARCHITECTURES
from bench.store import join
from docs.book import curves, figures, pictures, source

TOP = source.TOP
RESULTS = TOP / "docs" / "results"
WRONG = (figures.FigureError, source.SourceError, ValueError, TypeError)
SEVEN = [one.name for one in ARCHITECTURES]
GRID = (20, 100, 500, 1000, 5000, 10000, 15000)     # rows of a table
LOGGER = logging.getLogger(__name__)


class Data:
    """The run that the book is built on, and what pages may name."""

    def __init__(self, folder, strict):
        self.strict = strict
        self.run = figures.Run(folder or join.committed())
        self.studies = {
            path.parent.name: figures.Run(path.parent)
            for path in (RESULTS / "studies").glob("*/summary.json")}
        self.runs = self.studies | {
            one["name"]: self.run for one in self.run.summary["experiments"]}
        self.names = figures.everything(self.run, self.studies)

    def machine(self):
        """Return what a caption says of the run."""
        env, share = self.run.env, self.run.noisy()
        said = (f"{env['machine']['cpu']}, commit "
                f"{env['source']['commit'][:7]}, {env['started'][:10]}")
        return said if share <= join.NOISY else (
            f"{said}; provisional: {100 * share:.0f} % of the cells are noisy")


def data(env):
    """Return the Data of the build."""
    if not hasattr(env.app, "book_data"):
        env.app.book_data = Data(env.config.book_run, env.config.book_strict)
    return env.app.book_data


class Figure:
    """What roles and directives share: to fail, or to mark what fails."""

    def refuse(self, error):
        """Warn, which ends the build of the book's own run; return a text
        for the page of a reader's run."""
        where = (self.env.docname, self.lineno)
        if data(self.env).strict:
            LOGGER.warning("%s", error, location=where)
        return nodes.emphasis("", "not in this run")


class Value(SphinxRole, Figure):
    """{value}`expression | digits`"""

    def say(self, known):
        """Return the text that stands for that of the role; `known` is the
        Data of the build. Raises FigureError, ValueError or TypeError."""
        expression, _, digits = self.text.partition("|")
        value = figures.evaluate(expression, known.names)
        return figures.show(value, int(digits) if digits.strip()
                            else None).replace("-", "−", 1)

    def run(self):
        try:
            return [nodes.Text(self.say(data(self.env)))], []
        except WRONG as error:
            return [self.refuse(f"{self.text}: {error}")], []


class Words(Value):
    """{words}`experiment x server base [metric [variant]]`: in words."""

    def say(self, known):
        return figures.compare(known.runs, self.text)["words"]


class Ratio(Value):
    """{ratio}`study x server base [metric [variant]]`: as a figure."""

    def say(self, known):
        found = figures.compare(known.runs, self.text)
        if found["low"] is None:
            return f"{found['ratio']:.2f} ({found['rounds']} rounds)"
        return (f"{found['ratio']:.2f} ({found['low']:.2f} to "
                f"{found['high']:.2f})")


class Claim(SphinxDirective, Figure):
    """Prose that stands only while its expression is true."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        text = " ".join(self.arguments[0].split())
        box = self.parse_content_to_nodes()
        try:
            holds = figures.evaluate(text, data(self.env).names)
            error = f"the claim does not hold: {text}"
        except figures.FigureError as problem:
            holds, error = False, problem
        if holds:
            return box
        self.refuse(error)
        note = nodes.paragraph("", f"In this run this does not hold ({text}).",
                               classes=["claim-note"])
        return [nodes.container("", note, *box, classes=["claim-fails"])]


class Block(SphinxDirective, Figure):
    """A directive that is replaced by nodes; `make` may raise one of WRONG."""

    required_arguments = 1
    optional_arguments = 20
    option_spec = {"variant": directives.unchanged}

    def make(self, *words):
        """Return nodes for the words of the directive."""
        raise NotImplementedError

    def run(self):
        try:
            return self.make(*self.arguments)
        except WRONG as error:
            return [nodes.paragraph("", "", self.refuse(error))]

    def variant(self, name):
        """Return the variant that is asked for, else the first."""
        return self.options.get(
            "variant", data(self.env).run.experiment(name)["variants"][0])

    def cells(self, name, server):
        """Return {x: Names} of a server."""
        return data(self.env).names[name][self.variant(name)][server].members

    def table(self, heads, rows):
        """Return a table with its first column as words, others as figures,
        and a note about the run below it."""
        lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
        return [*self.parse_text_to_nodes("\n".join(
            f"| {' | '.join(line)} |" for line in lines)), self.note(
                data(self.env).machine())]

    @staticmethod
    def note(words):
        """Return a paragraph below a table or a picture."""
        return nodes.paragraph("", words, classes=["run-note"])

    def image(self, name, svg, alt, dark=None):
        """Write a picture for a light page, and its dark twin, below _images/;
        return the nodes that show the one that fits the page."""
        folder = Path(self.env.app.outdir) / "_images"
        folder.mkdir(parents=True, exist_ok=True)
        up, made = "../" * self.env.docname.count("/"), []
        for theme, text in (("light", svg), ("dark", dark or curves.dark(svg))):
            (folder / f"{name}-{theme}.svg").write_text(text, encoding="utf-8")
            made.append(f'<img class="only-{theme}" alt="{escape(alt)}"'
                        f' src="{up}_images/{name}-{theme}.svg">')
        return [nodes.raw("", "\n".join(made), format="html")]


class Curve(Block):
    """Requests a second that one core can do, by clients: one server in its
    colour, the others grey. `:key: rate` draws the rate reached."""

    option_spec = Block.option_spec | {"key": directives.unchanged}

    def make(self, name, server=""):
        one, key = data(self.env), self.options.get("key", "can_do")
        variant = self.variant(name)
        page = charts.Page(one.run.summary, one.run.experiment(name), variant)
        for other in one.run.summary["servers"]:
            if server and other["name"] != server:
                page.looks[other["title"]]["light"] = styles.AXIS[0]
        page.curves.sort(key=lambda curve: curve["server"] == server)
        page.curves = [curve for curve in page.curves
                       if curve["server"] in SEVEN]
        cells = {curve["server"]: self.cells(name, curve["server"])
                 for curve in page.curves if server in ("", curve["server"])}
        told = "; ".join(f"{who}: " + ", ".join(
            f"{figures.show(cells[who][x][key], 0)} at {x:,}"
            for x in GRID if x in cells[who] and key in cells[who][x].members)
            for who in cells)
        return self.image("-".join(filter(None, (
            "curve", name, variant.replace(" ", "-").replace(",", ""),
            server, key))), curves.svg(charts.by_x(page, key)),
            f"Curves of {name}. {told}.")


class Published(Block):
    """What was published, in the form of our own chart, with its conditions:
    curves; or, of experiments with one figure for each system, the best of
    ours and of theirs."""

    def make(self, name):
        run = data(self.env).run
        experiment = run.experiment(name)
        given, variant = experiment["published"], experiment["variants"][0]
        if given["series"]:
            chart = charts.by_x(curves.published(experiment), "rate")
            chart.title.subtitle = given["where"]
            told = {who: max(rates.values())
                    for who, rates in given["series"].items()}
        else:
            page = charts.Page(run.summary, experiment, variant)
            page.curves = [one for one in page.curves
                           if one["server"] in SEVEN]
            chart, told = curves.best(page), given["best"]
        best = ", ".join(f"{who} {rate:,}" for who, rate in told.items())
        return [*self.image(f"published-{name}", curves.svg(chart), (
            f"Best published rates of {name}: {best}.")), self.note(
                " ".join([f"Published: {given['where']}.", *given["notes"]]))]


class Shape(Block):
    """The rate of a server and the published one, each as a share of its own
    best: absolute figures of other machines cannot be compared."""

    def make(self, name, server):
        one = data(self.env)
        mine = {x: cell.members["rate"] for x, cell
                in self.cells(name, server).items() if "rate" in cell.members}
        theirs = {x: rate for x, rate in one.names["published"][name][
            server].members.items() if x != "rate"}
        chart = curves.shares({"here": mine, "published": theirs}, {
            "here": styles.ARCHITECTURES[server][0],
            "published": styles.QUIET[0]})
        low = min(mine[max(mine)] / max(mine.values()),
                  theirs[max(theirs)] / max(theirs.values()))
        return self.image(f"shape-{name}-{server}", curves.svg(chart), (
            f"The rate of {server} as a share of its best, here and as "
            f"published. The lower of the two ends at {100 * low:.0f} %."))


class Costs(Block):
    """What a request costs a server, by the number of clients."""

    def make(self, name, server):
        cells = self.cells(name, server)
        return self.table(
            ["clients", "CPU µs", "in user code", "one core can do",
             "rate reached", "context switches"],
            [[f"{x:,}", *(self.shown(cells[x], key, digits) for key, digits in
                          (("cpu_us", 1), ("cpu_user_us", 1), ("can_do", 0),
                           ("rate", 0), ("switches", 2)))]
             for x in GRID if x in cells])

    @staticmethod
    def shown(cell, key, digits):
        """Return a figure of a cell as text, a dash when it has none."""
        value = cell.members.get(key)
        return "–" if value is None else figures.show(value, digits)


class Across(Costs):
    """What a request costs each of the seven at one number of clients."""

    def make(self, name, x, *servers):
        rows = []
        for server in servers or SEVEN:
            cell = self.cells(name, server).get(int(x))
            if cell:
                rows.append([server, *(
                    self.shown(cell, key, digits) for key, digits in (
                        ("cpu_us", 1), ("can_do", 0), ("rate", 0),
                        ("switches", 2), ("pss_mib", 1)))])
        return self.table(["server", "CPU µs", "one core can do",
                           "rate reached", "context switches", "MiB"], rows)


class Calls(Block):
    """System calls a request, most frequent first."""

    def make(self, name, *servers):
        told = {server: next(iter(self.cells(name, server).values()))[
            "calls"].members for server in servers}
        mean = {call: sum(one.get(call, 0) for one in told.values())
                for one in told.values() for call in one if call != "all"}
        often = [call for call in sorted(mean, key=mean.get, reverse=True)
                 if any(one.get(call, 0) >= 0.05 for one in told.values())]
        rows = [[call, *(f"{told[server][call]:.2f}" if told[server].get(call)
                         else "–" for server in servers)] for call in often]
        return self.table(["system call", *servers], rows + [[
            "all", *(f"{told[server]['all']:.1f}" for server in servers)]])


class Quote(Block):
    """A definition quoted from a C file, with a link to its page."""

    def make(self, path, *name):
        code = source.quote(path, " ".join(name))
        up = "../" * self.env.docname.count("/")
        return [nodes.literal_block(code, code, language="c"), nodes.raw(
            "", f'<p class="run-note"><a href="{up}{source.page_name(path)}'
            f'.html">{path}</a></p>', format="html")]


class Picture(Block):
    """A drawing of docs/book/pictures.py."""

    def make(self, name):
        svg, alt = pictures.picture(name)
        return self.image(f"picture-{name}", svg, alt)


class Metrics(Block):
    """The columns of samples.csv."""

    required_arguments = 0

    def make(self):
        return self.table(["column", "what", "unit", "remark"], [
            [one["key"], one["title"], one["unit"], one["explain"]]
            for one in data(self.env).run.summary["columns"]])


class Runs(Block):
    """The runs that the book is built on, and which of them are stale."""

    required_arguments = 0

    def make(self):
        one = data(self.env)
        return self.table(["run", "machine", "commit", "day", "sources"], [
            [name, run.env["machine"]["cpu"], run.env["source"]["commit"][:7],
             run.env["started"][:10], "stale: the C code has changed since"
             if run.is_stale() else "as now"]
            for name, run in {"reference": one.run, **one.studies}.items()])


class Timeline(Block):
    """The picture that `make timeline SERVER=name` drew, from docs/results."""

    def make(self, name):
        paths = [RESULTS / "timelines" / f"{name}{theme}.svg"
                 for theme in ("", "-dark")]
        if not all(path.is_file() for path in paths):
            raise figures.FigureError(f"there is no {paths[0]}")
        light, dark = (path.read_text(encoding="utf-8") for path in paths)
        return self.image(f"timeline-{name}", light, dark=dark, alt=(
            f"Timeline of {name}: a row for each worker and for each of eight "
            "clients; the text says what to see."))


def add_times(app, doctree):
    """Put the reading time below the title of a chapter, and the lab's."""
    name = app.env.docname
    title = next(iter(doctree.findall(nodes.title)), None)
    if not name.startswith("tutorial/") or title is None:
        return
    words = sum(len(one.astext().split()) for one in
                doctree.findall(nodes.paragraph))
    said = f"Reading: {max(1, round(words / 200))} minutes."
    lab = TOP / "labs" / name.removeprefix("tutorial/") / "lab.toml"
    if lab.is_file():
        minutes = tomllib.loads(lab.read_text(encoding="utf-8"))["minutes"]
        said += f" The lab: {minutes} minutes."
    title.parent.insert(1, nodes.paragraph("", said, classes=["run-note"]))


def give_levels(_app, _page, _template, context, _doctree):
    """Give the headings of the sidebar a level, which screen readers need and
    Sphinx leaves out."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"')


def setup(app):
    """Register everything. `book_run` is the folder of a reader's run, and
    `book_strict` whether what it does not support is an error."""
    own = os.environ.get("BOOK_RUN", "")
    app.add_config_value("book_run", own, "env")
    app.add_config_value("book_strict", not own, "env", types=(bool,))
    for role in (Value, Words, Ratio):
        app.add_role(role.__name__.lower(), role())
    for one in (Claim, Curve, Published, Shape, Costs, Across, Calls, Quote,
                Picture, Timeline, Metrics, Runs):
        app.add_directive(one.__name__.lower(), one)
    app.connect("doctree-read", add_times)
    app.connect("html-collect-pages", source.pages)
    app.connect("html-page-context", give_levels, priority=900)
    return {"version": "1", "parallel_read_safe": False}
