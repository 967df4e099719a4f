"""The five publications: where they can be read, their figures as tables, and how far the load
tools carried here.

    :::{cited} answer                       author, title, address, machine and load
    :::{published} guestbook                what was published, drawn alike
    :::{shape} guestbook epoll              the shape of our curve, and of the published one
    :::{told} answer cells                  a table of tools/bench/experiments/answer.toml
    :::{told} guestbook rates               the published curves as a table
    :::{elsewhere} redirect                 bars of each other machine, a chart of its own
    :::{open-loop} echo failed_percent      what came back at each demanded rate, by server
    :::{unavailable} mongoose onion         published servers that are not measured, and why
    :::{carried}                            the fastest cell of each load tool
"""

from docutils import nodes

from tools.bench import experiments
from tools.bench.peers import unavailable
from tools.book import figures
from tools.book.extension import SEVEN, Block
from tools.report import charts, styles
from tools.report.table import mark

LOAD = ("load tool", "cores of the load")       # what ends a rate that is no server's


class Published(Block):
    """Directives of this module; a method for each."""

    @staticmethod
    def given(name):
        """Return what was published of an experiment."""
        return next(one.published for one in experiments.all_experiments() if one.name == name)

    def printed(self, caption, heads, rows):
        """Return a table of published figures; columns of texts begin on the left."""
        self.options.setdefault("caption", caption)
        return words(self.plain(heads, [[*map(shown, row)] for row in rows]), [
            place for place in range(len(heads))
            if all(isinstance(row[place], str) for row in rows)])

    def published(self, name):
        """What was published, in the form of our own chart, with its
        notes: curves; or, of experiments with one figure for each system,
        the best of all that were measured here and of theirs, on one machine."""
        page = self.page(name, None)
        given = page.experiment["published"]
        if given["series"]:
            chart = charts.by_x(page_of(
                page.experiment, "as published", given["series"]), "rate")
            chart.title.subtitle = "machine and load: above"
            told = {who: max(rates.values()) for who, rates in given["series"].items()}
        else:
            chart, told = best_of(page), given["best"]
        best = ", ".join(f"{who} {rate:,}" for who, rate in told.items())
        return [*self.image(f"published-{name}", charts.svg(chart), (
            f"Best published rates of {name}: {best}.")), self.note(" ".join(given["notes"]))]

    def shape(self, name, server):
        """The rate of a server and the published one, each as a share of its
        own best: absolute figures of other machines cannot be compared."""
        experiment = self.page(name).experiment
        rates = {"here": {x: cell["rate"] for x, cell in self.cells(
            name, server).items() if "rate" in cell},
            "published": experiment["published"]["series"][server]}
        shares = {who: {x: 100 * rate / max(one.values())
                        for x, rate in one.items()} for who, one in rates.items()}
        page = page_of({**experiment, "unit": "percent of the best rate"}, server, shares)
        page.looks["here"]["light"] = styles.ARCHITECTURES[server][0]
        page.looks["published"]["light"] = styles.QUIET[0]
        page.linear = True      # a share begins at 0
        chart = charts.by_x(page, "rate")
        chart.title.subtitle = "The shape can be compared, not the figures"
        low = min(one[max(one, key=int)] for one in shares.values())
        return self.image(f"shape-{name}-{server}", charts.svg(chart), (
            f"The rate of {server} as a share of its best, here and as "
            f"published. The lower of the two ends at {low:.0f} %."))

    def cited(self, name):
        """The publication, as a list of works names one."""
        source = self.given(name).source
        parts = [f"{source['author']}, *{source['title']}*"]
        parts += [f"in {source['language']}"] if "language" in source else []
        parts += [source["date"] if source["date"][0].isdigit() or source["date"][0].isupper()
                  else f"date: {source['date']}"]
        parts += [f"<{source['address']}>"] if "address" in source else []
        text = ", ".join(parts) + ". " + source.get("remark", "")
        return self.parse_text_to_nodes(
            f"**Published:** {text}\n\n**Machine and load there:** {self.given(name).where}.")

    def told(self, name, table):
        """A table as it was printed, or `rates`: the published curves."""
        given = self.given(name)
        if table == "rates":
            xs = sorted({x for series in given.series.values() for x in series})
            rows = [[x, *(series.get(x, "~" if given.wide.get(system) == x else "–")
                          for system, series in given.series.items())] for x in xs]
            caption = "As published, requests a second" + (
                "; ~: a wide spread and no figure; –: no result" if given.wide else "")
            heads = [self.page(name).experiment["x_short"], *given.series]
            return self.printed(caption, heads, rows)
        one = next(one for one in given.tables if one["name"] == table)
        return self.printed(one["caption"], one["heads"], one["rows"])

    def elsewhere(self, name):
        """Bars for each machine but the first: rates of two machines do not share a chart."""
        made, page = [], self.page(name)
        for place, machine in enumerate(self.given(name).elsewhere):
            chart = charts.bars(page, as_shares(machine["best"]), "published, as a share of the "
                                "best of its machine", machine["where"], form="%")
            made += self.image(f"elsewhere-{name}-{place}", charts.svg(chart), (
                f"Published on {machine['where']}: " + ", ".join(
                    f"{system} {rate:,}" for system, rate in machine["best"].items())))
        return made

    def open_loop(self, name, key):
        """Medians of a figure at each demanded rate, of all servers that were measured."""
        found = self.data.names[name]
        servers = [server for server in dict.fromkeys([*SEVEN, *found]) if isinstance(
            found.get(server), figures.Names) and "x" in found[server]]
        digits = 0 if key == "rate" else 1
        heads = [f"{SEVEN.index(server) + 1:02}" if server in SEVEN else server
                 for server in servers]
        return self.table(["demanded", *heads], [
            [f"{x:,}", *(figures.known(found[server].get(x, {}).get(key), digits)
                         for server in servers)] for x in found[servers[0]].x])

    def unavailable(self, *names):
        """Published servers that are not measured here, and why."""
        why = {one["name"]: one["why"] for one in unavailable()}
        return self.printed("Published servers that are not measured here", ["server", "why"],
                            [[name, why[name]] for name in names])

    def carried(self):
        """The fastest cell of each load tool, by experiment and variant, and how many of its
        cells ended because the load could not send more."""
        rows = []
        for name, experiment in self.data.run.experiments.items():
            for variant in experiment["variants"] if not experiment["of"] else ():
                cells = [(point["rate"]["middle"], point, one["server"]) for one
                         in experiment["curves"] if one["variant"] == variant
                         for point in one["points"] if point["rate"]]
                rate, point, server = max(cells, key=lambda cell: cell[0])
                ended = sum(point["limit"] in LOAD for _, point, _ in cells)
                tool = next(row["tool"] for row in self.data.run.rows if (
                    row["experiment"], row["variant"] or "") == (name, variant))
                rows.append([tool, ", ".join(filter(None, (name, variant))), f"{rate:,.0f}",
                             f"{server}, {point['x']:,}", f"{point['values']['load_busy']:.0f} %",
                             f"{ended} of {len(cells)}"])
        return words(self.table([
            "tool", "experiment", "most answers/s", "server and clients, or rate",
            "tool's core busy there", "cells that the load ended"], sorted(rows)), [1, 3])


def page_of(experiment, title, series):
    """Return the charts.Page of {name: {clients: rate}}, so that they are drawn as measured curves
    are. `experiment` is a part of a summary."""
    return charts.Page(
        {"servers": [{"name": name, "title": name} for name in series]},
        {**experiment, "title": f"{experiment['title']}, {title}", "curves": [
            {"server": name, "variant": "", "points": [
                {"x": int(x), "rate": {"middle": rate}, "values": {},
                 "intervals": {"rate": None}, "lost": False}
                for x, rate in rates.items()]}
            for name, rates in series.items()]}, "")


def best_of(page):
    """Return bars with the best rate of each server of a charts.Page, above those published, each
    as a share of the best of its machine."""
    ours = {page.titles[one["server"]]: max(
        (point for point in one["points"] if point["rate"]),
        key=lambda point: point["rate"]["middle"]) for one in page.curves}
    rows = [*as_shares({name: point["rate"]["middle"] for name, point in ours.items()}),
            *as_shares(page.experiment["published"]["best"], ", published")]
    for row in rows[:len(ours)]:
        row["mark"] = mark(ours[row["server"]])
    return charts.bars(page, rows, "best rates, as shares of the best here and of the best "
                       "published", charts.HOLLOW, form="%")


def as_shares(rates, after=""):
    """Return rows for charts.bars() of {server: rate}: the highest first, each as a share of that,
    with `after` behind the names."""
    return [{"server": name + after, "mark": "", "y": rate / max(rates.values()),
             "low": 0, "high": 0, "text": f"{rate:,.0f}"}
            for name, rate in sorted(rates.items(), key=lambda one: -one[1])]


def words(made, places):
    """Let these columns of a table begin on the left; return the table and what is below it."""
    for entry in made[0].findall(nodes.entry):
        if entry.parent.index(entry) in places:
            entry["classes"] = ["text-left"]
    return made


def shown(value):
    """Return a published figure as it was printed, with commas between thousands."""
    return value if isinstance(value, str) else f"{value:,}"


def setup(app):
    """Register the directives of this module."""
    for name in ("published", "shape", "cited", "told", "elsewhere", "open-loop", "unavailable",
                 "carried"):
        app.add_directive(name, Published)
