"""Tables and pictures of what the exact machine counted, in docs/results/exact/.

    :::{exact-costs} guestbook 100               all that is counted, then CPU time, of all servers
    :::{exact-costs} guestbook 100 poll epoll    of these two; `:also: answer`: instructions of that
                                                 cell in place of CPU time
    :::{exact-table} answer guestbook            instructions of these cells, of all servers
    :::{exact-times} answer "answer" 100         next to microseconds of an experiment
    :::{exact-ways} work-and-time guestbook iterative epoll     its ways, microseconds
    :::{exact-kernels} answer answer-kept        on each kernel that was counted
    :::{exact-parts} epoll answer guestbook      what they are for, one server
    :::{exact-difference} forking preforking answer
    :::{exact-curve} idle                        or with names of servers behind it

Roles have the figures as exact.epoll["answer"].total, .user, .kernel, .parts["TCP in"],
exact_curve.idle.poll[1000].total, exact_slope.idle.poll, and with other kernels
exact_kernel["6.12"].epoll["answer"].total: instructions a request.
"""

from docutils.parsers.rst import directives

from tools.book import figures
from tools.book.data import RESULTS
from tools.book.extension import DEFERRED, SEVEN, Block
from tools.exact import curves, parts, pictures, results
from tools.exact.results import title

FOLDER = RESULTS / "exact"
KERNELS = [*FOLDER.glob("[0-9]*/exact.json*")]      # what was counted with other kernels
MACHINES = {}       # {curve, or "deferred": the machine of its own file}


class Exact(Block):
    """Directives of this module; a method for each."""

    option_spec = {**Block.option_spec, "also": directives.unchanged}

    def told(self, what="", more=(), machine=None):
        """Return the note below what was counted: what it is, and where it was; on `more` machines
        than the one of the table, too, or on another `machine` than that."""
        machine = machine or self.data.exact.machine
        kernels = ", ".join(sorted({next(name for name in one["packages"]
                                         if name.startswith("linux-image"))
                                    for one in (machine, *more)}))
        commits = " and ".join(dict.fromkeys(one["source"][:7] for one in (machine, *more)))
        said = f"{what}. " if what else ""
        return self.note(f"{said}Counted in QEMU {machine['qemu']}, {kernels}, "
                         f"gcc {machine['packages']['gcc-12']}, commit {commits}; "
                         "python3 -m tools.exact")

    @staticmethod
    def deferred(servers):
        """Return the machine where those of `servers` with deferred accept were counted, in a
        list; an empty one if there are none."""
        return [MACHINES["deferred"]] if set(DEFERRED) & set(servers) else []

    def exact_costs(self, name, x, *servers):
        """What a request takes each server (default: the seven, and two with deferred accept), what
        was counted first: thousands of instructions, system calls, context switches, page faults;
        then CPU microseconds. With `:also:`, the instructions of another cell are in their place.
        A dash: not known."""
        page, also = self.page(name), self.options.get("also")
        deferred = {f"{server}-deferred": one for server, one
                    in page.experiment.get("deferred", {}).get(page.variant, {}).items()}
        spent = [page.experiment.get("exact", {}).get(page.variant, {}) | deferred]
        heads = ["instructions"]
        if also:
            spent.append({server: by_cell[also].told for server, by_cell
                          in self.data.exact.cells.items() if also in by_cell})
            heads = [f"instructions, {name}", f"instructions, {also}"]
        there = self.compared(name)     # a reader's run may have none of DEFERRED
        rows, servers = [], [one for one in servers or there if one in there]
        for server in servers:
            cell = self.cells(name, server)[int(x)]
            told = (cell.get("calls", {}).get("all"), cell.get("switches"), cell.get("faults"))
            rows.append([called(server), *(figures.thousands(one.get(server)) for one in spent),
                         *(figures.known(one, digits) for one, digits in zip(told, (1, 2, 2))),
                         *([] if also else [figures.known(cell.get("cpu_us"), 1)])])
        return [*self.table(
            ["server", *heads, "system calls", "context switches", "page faults",
             *([] if also else ["CPU µs"])], rows, "", (
                 page.experiment["title"], page.variant, f"{int(x):,} {page.experiment['x_short']}",
                 f"system calls under strace, {page.experiment['calls_at']}",
                 "page faults with those of the start",
                 "" if also else "CPU time steadied")),
            self.told("Instructions: thousands a request (in user mode)",
                      self.deferred(servers))]

    def exact_table(self, *cells):
        """Thousands of instructions of each server, and how many of them in user mode. Servers with
        deferred accept have new connections only, so a table without all of these has no row of
        them."""
        there = {name: by_cell for name, by_cell in self.data.exact.cells.items()
                 if {*cells} & {*by_cell}
                 and (not name.endswith("-deferred") or {*by_cell} <= {*cells})}
        rows = [[called(name), *(figures.thousands(by_cell[cell].told if cell in by_cell else None)
                                 for cell in cells)]
                for name, by_cell in there.items()]
        return [*self.plain(["server", *cells], rows), self.told(
            f"Thousands of instructions a request (in user mode), {', '.join(cells)}",
            self.deferred(there))]

    def exact_times(self, cell, experiment, x, variant=""):
        """Thousands of instructions next to CPU microseconds, and both as multiples of 07's."""
        found = self.data.names[experiment]
        found = found[variant] if variant else found
        costs = self.data.exact.cells
        both = {name: (costs[name][cell].total / 1e3, found[name][int(x)].cpu_us)
                for name in SEVEN if int(x) in found.get(name, {})}
        work, time = both["epoll"]
        return [*self.plain(["server", "thousand instructions", "of 07's", "CPU µs", "of 07's"], [
            [title(name), f"{n:.1f}", f"{n / work:.2f}", f"{us:.1f}", f"{us / time:.2f}"]
            for name, (n, us) in both.items()]), self.told(f"Instructions and CPU time, {cell}"),
            self.note(self.data.machine())]

    def exact_ways(self, study, load, *names):
        """CPU microseconds of each way of a study, one load, and as multiples of the first."""
        found, rows = self.data.names["study"][study.replace("-", "_")], []
        for name in names:
            ways = {key.partition(", ")[2]: next(
                cell for x, cell in cells.items() if isinstance(x, int))
                for key, cells in found[f"{load}, {name}"].items()}
            first = next(iter(ways.values())).cpu_us
            rows.append([title(name), *(f"{cell.cpu_us:.1f} ({cell.cpu_us / first:.2f})"
                                        for cell in ways.values())])
        return self.table(["server", *ways], rows, study, ("CPU µs of each way", load, study))

    def exact_kernels(self, *cells):
        """Thousands of instructions of these cells on each kernel, of the seven."""
        main = next(name for name in self.data.exact.machine["packages"]
                    if name.startswith("linux-image-")).split("-")[2].rpartition(".")[0]
        kernels = {main: self.data.names["exact"], **self.data.names["exact_kernel"]}
        order = sorted(kernels, key=lambda name: [int(part) for part in name.split(".")])
        return [*self.plain(["server", *(f"{cell}, {name}" for cell in cells for name in order)], [
            [title(name), *(f"{kernels[one][name][cell].total / 1e3:.1f}"
                            for cell in cells for one in order)] for name in SEVEN]),
            self.told(f"Thousands of instructions a request, by kernel, {', '.join(cells)}",
                      [results.read(path.parent).machine for path in KERNELS])]

    def exact_parts(self, server, *cells):
        """Bars of the parts of one server."""
        costs = {cell: self.data.exact.cells[server][cell] for cell in cells}
        most = "; ".join(f"{cell}: " + ", ".join(
            f"{name} {sum(both) / 1e3:.1f}" for name, both in sorted(
                cost.parts().items(), key=lambda one: -sum(one[1]))[:5])
            for cell, cost in costs.items())
        return [*self.image(f"exact-parts-{server}", pictures.of_server(title(server), costs),
                            f"What the instructions of {title(server)} are for, thousands a "
                            f"request. {most}."), self.told()]

    def exact_difference(self, one, other, *cells):
        """Bars of what the second server needs more or less than the first."""
        before, after = (self.data.exact.cells[server] for server in (one, other))
        costs = {cell: (before[cell], after[cell]) for cell in cells}
        told = "; ".join(f"{cell}: " + ", ".join(
            f"{name} {change / 1e3:+.1f}" for name in parts.NAMES if abs(change := sum(
                b.parts()[name]) - sum(a.parts()[name])) >= 500)
            for cell, (a, b) in costs.items())
        return [*self.image(f"exact-{one}-{other}", pictures.difference(
            title(one), title(other), costs), f"From {title(one)} to {title(other)}, thousands of "
            f"instructions a request. {told}."), self.told()]

    def exact_curve(self, name, *names):
        """Lines of a curve, of all servers that were counted or of those that are named."""
        costs = {server: (title(server), {size: cost.total for size, cost in by_size.items()})
                 for server, by_size in self.data.exact.curves[name].items()
                 if server in (names or [server])}
        told = "; ".join(f"{who}: " + ", ".join(f"{n / 1e3:.1f} at {size:,}" for size, n
                                               in by_size.items())
                         for who, by_size in costs.values())
        file = "-".join(("exact-curve", name, *names))     # a page may draw others of it
        return [*self.image(file, pictures.of_curve(curves.CURVES[name], costs),
                            f"{curves.CURVES[name].says}, thousands of instructions. {told}."),
                self.told(machine=MACHINES.get(name))]


def called(server):
    """Return what a table of costs calls one of the seven, or of DEFERRED."""
    plain = server.removesuffix("-deferred")
    return title(plain) + (", deferred accept" if plain != server else "")


def read(app):
    """Give the book's Data what was counted. A curve that was counted at another time has a folder
    of its own, too, and so have the servers with deferred accept."""
    app.book_data.exact = results.read(FOLDER)
    for path in FOLDER.glob("*/curves.json*"):
        table = results.read(path.parent)
        app.book_data.exact.curves.update(table.curves)
        MACHINES.update(dict.fromkeys(table.curves, table.machine))
    table = results.read(FOLDER / "deferred")
    MACHINES["deferred"] = table.machine
    app.book_data.exact.cells.update(
        (f"{name.partition('+')[0]}-deferred", by_cell) for name, by_cell in table.cells.items())
    app.book_data.names.update(figures.counted(app.book_data.exact))
    app.book_data.names["exact_kernel"] = figures.Names(
        (path.parent.name, figures.counted(results.read(path.parent))["exact"])
        for path in KERNELS)


def setup(app):
    """Register the directives of this module."""
    for name in ("costs", "table", "times", "parts", "difference", "curve", "ways", "kernels"):
        app.add_directive(f"exact-{name}", Exact)
    app.connect("builder-inited", read, priority=600)   # after Data
