"""Measured and published figures, and expressions over them.

    guestbook.epoll[1000].cpu_us                 a figure of one cell
    max(guestbook.epoll.rate)                    a series: one figure a cell
    answer["new connections"].epoll[100].cpu_us  another variant than the first
    guestbook.epoll[100].calls.accept4           system calls a request
    published.guestbook.epoll[1000]              what the publication says
    study.flat["guestbook"].epoll[15000].cpu_us  a study
    source.options.DEFAULT_THREADS               a constant of common/

An expression is Python's, with no names but these and FUNCTIONS. What is not
there raises FigureError: nothing is ever filled in as zero.
"""

import json
import re
from pathlib import Path

from bench import experiments
from bench.analyse import comparisons, stats
from bench.machine import facts
from bench.store import rundir

TOP = Path(__file__).resolve().parents[2]
FUNCTIONS = {"max": max, "min": min, "abs": abs, "round": round, "sum": sum,
             "len": len, "mean": lambda values: sum(values) / len(values)}


class FigureError(Exception):
    """A figure that is asked for does not exist, or the expression is wrong;
    the text says which."""


class Names:
    """Things by name or by x. `where` is how a page names this one; `default`
    is the member meant when none is named, such as the first variant."""

    def __init__(self, where, members, default=None):
        self.where, self.members, self.default = where, members, default

    def __getitem__(self, name):
        """Return the member `name`. A name that no member has is looked up
        in the default. Of the cells of a server, by x, it gives the list of
        that figure of all cells."""
        if name in self.members:
            return self.members[name]
        if self.default is not None:
            return self.members[self.default][name]
        found = [one.members[name] for x, one in self.members.items()
                 if isinstance(x, int) and isinstance(one, Names)
                 and name in one.members]
        if not found:
            raise FigureError(f"there is no {self.where} {name!r}")
        return found

    __getattr__ = __getitem__   # for what is no attribute


class Source(Names):
    """The constants of a module of common/: enumerators with a number."""

    def __getitem__(self, name):
        """Return a module, or the value of a constant such as 64 * 1024."""
        if not self.where:
            return Source(name, {})
        for path in sorted((TOP / "common").glob(f"{self.where}.[ch]")):
            found = re.search(rf"\b{re.escape(name)} = (\d+)(?: \* (\d+))?\b",
                              path.read_text(encoding="utf-8"))
            if found:
                return int(found[1]) * int(found[2] or 1)
        raise FigureError(f"common/{self.where} has no constant {name}")

    __getattr__ = __getitem__


class Run:
    """A folder that `make compare` or `make study` left.

    summary     its summary.json
    rows        its samples.csv: a dictionary for each run of a cell
    env         its env.json: machine, commit, settings
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        try:
            self.summary, self.env = (
                json.loads((self.folder / name).read_text(encoding="utf-8"))
                for name in ("summary.json", "env.json"))
            self.rows = rundir.read_rows(str(self.folder / "samples.csv"))
        except (OSError, ValueError) as error:
            raise FigureError(f"{folder} is not a run: {error}") from None

    def experiment(self, name):
        """Return the part of the summary about one experiment."""
        for one in self.summary["experiments"]:
            if one["name"] == name:
                return one
        raise FigureError(f"{self.folder.name} has no experiment {name}")

    def noisy(self):
        """Return the share (0 to 1) of cells with a rate that are noisy."""
        marks = [bool(point["noisy"]) for one in self.summary["experiments"]
                 for curve in one["curves"] for point in curve["points"]
                 if point.get("rate")]
        return sum(marks) / len(marks) if marks else 0.0

    def is_stale(self):
        """Return whether the C code has changed since it was measured."""
        return self.env["source"].get("hash") != facts.source_hash()

    def names(self):
        """Return {experiment: Names} down to each figure."""
        return {one["name"]: _experiment(one)
                for one in self.summary["experiments"]}


def _experiment(summary):
    """Return the Names of variants, servers, x and figures."""
    name, variants = summary["name"], {}
    for curve in summary["curves"]:
        where = f"{name}[{curve['variant']!r}].{curve['server']}"
        calls = summary["calls"].get(f"{curve['server']}/{curve['variant']}")
        cells = {}
        for point in curve["points"]:
            figures = {key: value for key, value in point["values"].items()
                       if value is not None}
            figures |= {key: point.get(key) for key in ("x", "limit", "evidence")}
            if figures.get("cpu_us"):
                figures["can_do"] = 1e6 / figures["cpu_us"]
            if calls:
                figures["calls"] = Names("system call", calls)
            cells[point["x"]] = Names(f"{where}[{point['x']}]", figures)
        variants.setdefault(curve["variant"], {})[curve["server"]] = Names(
            where, cells)
    return Names(name, {variant: Names(f"{name}[{variant!r}]", servers)
                        for variant, servers in variants.items()},
                 default=summary["variants"][0])


def _published():
    """Return what was published, by experiment, system and x."""
    found = {}
    for one in experiments.all_experiments():
        if one.published:
            where = f"published.{one.name}"
            found[one.name] = Names(where, {
                "best": Names(f"{where}.best", one.published.best),
                **{name: Names(f"{where}.{name}", {**series, "rate":
                                                   list(series.values())})
                   for name, series in one.published.series.items()}})
    return Names("published", found)


def everything(run, studies):
    """Return the Names that pages may use: those of a Run, and of `studies`,
    {name: Run}."""
    return Names("", run.names() | {
        "published": _published(), "source": Source("", {}),
        "study": Names("study", {
            name.replace("-", "_"): next(iter(one.names().values()))
            for name, one in studies.items()})})


def compare(runs, text):
    """Return how two servers compare at one point, as stats.compare() says
    it, and "words". `text` is "guestbook 100 prethreaded preforking", and
    then perhaps a figure (rate, else cpu_us) and the name of a variant; runs
    are {experiment or study: Run}. Raises FigureError."""
    try:
        name, x, server, base, *more = text.split(maxsplit=5)
        metric, variant = (*more, "cpu_us")[0], " ".join(more[1:])
        run = runs[name]
        rows = [row for row in run.rows if row["experiment"] == name]
        cell = comparisons.by_round(rows, metric)[variant, int(x)]
        found = stats.compare(cell[server], cell[base],
                              bool(run.env.get("looks", {}).get(name)))
        return {**found, "words": stats.said(found,
                                             *comparisons.METRICS[metric])}
    except (ValueError, KeyError, TypeError) as error:
        raise FigureError(f"{text}: cannot be compared: {error}") from None


# ---------------------------------------------------------------- expressions

class _Scope(dict):
    """What an expression finds by name: FUNCTIONS, and members of `names`."""

    def __missing__(self, name):
        return self["names of the pages"][name]


def evaluate(text, names):
    """Return the value of an expression. Raises FigureError."""
    try:
        return eval(  # pylint: disable=eval-used
            text.strip(), {"__builtins__": {}},
            _Scope(FUNCTIONS | {"names of the pages": names}))
    except (FigureError, SyntaxError, TypeError, ValueError,
            ZeroDivisionError, AttributeError) as error:
        raise FigureError(f"{text.strip()}: {error}") from None


def show(value, digits=None):
    """Return a number as pages write it: with `digits` behind the point, by
    default as many as give three significant ones."""
    if isinstance(value, str):
        return value
    if digits is None:
        size = abs(value)
        digits = 0 if size >= 100 or value == int(value) else \
            1 if size >= 10 else 2
    return f"{value:,.{digits}f}"
