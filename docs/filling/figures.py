"""Measured and published figures, and expressions over them.

    guestbook.epoll[1000].rate                   a figure of one cell
    max(guestbook.epoll.rate)                    a series: one figure a cell
    answer["new connections"].epoll[100].cpu_us another variant than the first
    answer.floor[100].rate                       a peer
    published.guestbook.epoll[1000]             what the publication says
    published.answer.best["nginx"]
    accept.direct[100].cpu_us                   study accept-ways
    source.options.DEFAULT_THREADS              a constant of common/options.[ch]

An expression is Python's, without names other than these and the functions
below, so a chapter cannot run code. Whatever is not there is a FigureError:
nothing is ever filled in as zero.
"""

import ast
import json
import operator
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP))
from bench import experiments  # noqa: E402  (the published figures)
from bench.run import servers  # noqa: E402
from bench.draw import styles  # noqa: E402

ARCHITECTURES = [server.name for server in servers.ARCHITECTURES]


class FigureError(Exception):
    """A figure that is asked for was not measured or published, or the
    expression is none; the text says which."""


class Cell:
    """The figures of one server at one point of an experiment's grid."""

    def __init__(self, where, values):
        self.where, self.values = where, values

    def get(self, name):
        """Return a figure by name; None is as good as not there."""
        value = self.values.get(name)
        if value is None:
            raise FigureError(f"{self.where}.{name}: there is no such figure")
        return value


class Series:
    """The cells of one server in one variant of an experiment, by x.

    A figure of a series is the list of that figure of its cells, in the
    order of x; cells that lack it are left out.
    """

    def __init__(self, where, cells):
        self.where = where
        self.cells = dict(sorted(cells.items()))

    def __getitem__(self, x):
        if x not in self.cells:
            raise FigureError(f"{self.where}[{x}]: there is no such cell")
        return self.cells[x]

    def get(self, name):
        """Return the figures called `name`, or the grid for "x"."""
        if name == "x":
            return list(self.cells)
        found = [cell.values[name] for cell in self.cells.values()
                 if cell.values.get(name) is not None]
        if not found:
            raise FigureError(f"{self.where}.{name}: there is no such figure")
        return found


class Variant:
    """One way an experiment was run: {server: Series}."""

    def __init__(self, where, series):
        self.where, self.series = where, series

    def get(self, server):
        """Return the Series of a server."""
        if server not in self.series:
            raise FigureError(f"{self.where}.{server}: was not measured")
        return self.series[server]


class Measured:
    """One experiment: {variant: Variant}, the first of which is meant when
    none is named."""

    def __init__(self, name, variants):
        self.name, self.variants = name, variants

    def __getitem__(self, variant):
        found = [v for v in self.variants if variant in v]
        found = [variant] if variant in self.variants else found
        if len(found) != 1:
            raise FigureError(f"{self.name}[{variant!r}]: there are "
                              + ", ".join(map(repr, self.variants)))
        return self.variants[found[0]]

    def get(self, server):
        """Return a Series of the first variant."""
        return next(iter(self.variants.values())).get(server)


class PublishedNumbers:
    """{x: rate} of one published system."""

    def __init__(self, where, rates):
        self.where, self.rates = where, rates

    def __getitem__(self, x):
        if x not in self.rates:
            raise FigureError(f"{self.where}[{x!r}]: nothing was published")
        return self.rates[x]

    def get(self, name):
        """Return all rates for "rate", all points for "x"."""
        return list(self.rates) if name == "x" else list(self.rates.values())


class PublishedExperiment:
    """What was published of one experiment."""

    def __init__(self, name, published):
        self.name, self.published = name, published

    def get(self, system):
        """Return the PublishedNumbers of a system; `best` is one of them:
        the systems of which one figure each was published."""
        if system == "best":
            return PublishedNumbers(f"published.{self.name}.best",
                                    self.published.best)
        if system not in self.published.series:
            raise FigureError(f"published.{self.name}.{system}: "
                              "nothing was published")
        return PublishedNumbers(f"published.{self.name}.{system}",
                                self.published.series[system])


class Namespace:
    """Names to choose from."""

    def __init__(self, where, names):
        self.where, self.names = where, names

    def get(self, name):
        """Return what is called `name`."""
        if name not in self.names:
            raise FigureError(f"{self.where}{name}: there is no such thing")
        return self.names[name]


class SourceFile:
    """The constants of a module of common/: enumerators with a number."""

    def __init__(self, name):
        self.name = name

    def get(self, constant):
        """Return the value of an enumerator, such as 64 * 1024."""
        for ending in ("h", "c"):
            path = TOP / "common" / f"{self.name}.{ending}"
            found = path.is_file() and re.search(
                rf"\b{re.escape(constant)} = (\d+)(?: \* (\d+))?\b",
                path.read_text())
            if found:
                return int(found.group(1)) * int(found.group(2) or 1)
        raise FigureError(f"source.{self.name}.{constant}: there is no such "
                          "constant")


class Sources:
    """The modules of common/."""

    @staticmethod
    def get(name):
        """Return a SourceFile."""
        return SourceFile(name)


def published():
    """Return the Namespace of all that was published, from bench/."""
    return Namespace("published.", {
        one.name: PublishedExperiment(one.name, one.published)
        for one in experiments.all_experiments() if one.published})


# ---------------------------------------------------------------- expressions

def peak(series):
    """Return the x at which a Series has most requests a second."""
    return max(series.cells, key=lambda x: series.cells[x].values["rate"])


def mean(values):
    """Return the arithmetic mean of a list."""
    return sum(values) / len(values)


FUNCTIONS = {"max": max, "min": min, "abs": abs, "round": round, "len": len,
             "sum": sum, "peak": peak, "mean": mean}
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}


def evaluate(text, names):
    """Return the value of an expression.

    names: a Namespace. Raises FigureError.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise FigureError(f"{text}: {error.msg}") from None
    try:
        return _value(tree.body, names)
    except FigureError as error:
        raise FigureError(f"{text.strip()}: {error}") from None
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise FigureError(f"{text.strip()}: {error}") from None


def _value(node, names):
    """Return the value of one node of an expression's tree."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return _value(node.value, names).get(node.attr)
    if isinstance(node, ast.Subscript):
        return _value(node.value, names)[_value(node.slice, names)]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(one, names) for one in node.elts]
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.operand, names))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left, names),
                                        _value(node.right, names))
    if isinstance(node, ast.BoolOp):
        together = all if isinstance(node.op, ast.And) else any
        return together(_value(one, names) for one in node.values)
    if isinstance(node, ast.Compare):
        left = _value(node.left, names)
        for kind, right in zip(node.ops, node.comparators):
            right = _value(right, names)
            if not OPERATORS[type(kind)](left, right):
                return False
            left = right
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function = FUNCTIONS.get(node.func.id)
        if function and not node.keywords:
            return function(*(_value(one, names) for one in node.args))
    raise FigureError(f"cannot be evaluated: {ast.unparse(node)}")


def show(value, form=""):
    """Return a number as the chapters write it.

    form: digits behind the point ("0", "1", ...), "~" and a number of
    significant digits ("~2"); "" chooses digits by size.
    """
    if isinstance(value, str):
        return value
    if form.startswith("~"):
        digits = int(form[1:])
        value = float(f"{value:.{digits}g}")
        form = "0" if abs(value) >= 10 ** (digits - 1) else ""
        if not form:
            return f"{value:.{digits}g}"
    if form == "":
        size = abs(value)
        form = "0" if size >= 100 or value == int(value) else \
            "1" if size >= 10 else "2"
    text = f"{value:,.{int(form)}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text
