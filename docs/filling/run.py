"""The runs that are committed in docs/results/, as names for expressions.

    docs/results/reference/summary.json, env.json    what `make compare` left
    docs/results/reference/accept_ways.json          study accept-ways
    docs/results/reference/idle_connections.json     study idle-connections
    docs/results/reference/wake_up.json              study wake-up
    docs/results/NAME/summary.json                   another run, as NAME
    docs/results/cost/*.json                         see filling/costs.py
    docs/results/reliability.json                    see filling/reliability.py
"""

import json

from filling import costs, reliability
from filling.figures import (Cell, FigureError, Measured, Namespace, Series,
                             Sources, Variant, experiments, published,
                             servers)

SCHEMA_VERSION = 2


class RunError(Exception):
    """A run cannot be read; the text says why and what helps."""


def read_json(path):
    """Return what a JSON file holds. Raises RunError."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}; `make compare FULL=1` makes a run, "
                       "copy its summary.json and env.json there") from error


def measured(summary, where=""):
    """Return {name: Measured} of the experiments of a summary.json.

    Raises RunError when it has another schema than this was written for.
    """
    version = summary.get("schema_version")
    if version != SCHEMA_VERSION:
        raise RunError(f"summary.json has schema {version}, fill.py knows "
                       f"{SCHEMA_VERSION}")
    found = {}
    for one in summary["experiments"]:
        name = where + one["name"]
        variants = {variant: {} for variant in one["variants"]}
        for curve in one["curves"]:
            counted = one["calls"].get(
                f"{curve['server']}/{curve['variant']}", {})
            place = f"{name}.{curve['server']}"
            variants[curve["variant"]][curve["server"]] = Series(place, {
                point["x"]: Cell(f"{place}[{point['x']}]",
                                 values_of(point, counted))
                for point in curve["points"]})
        found[one["name"]] = Measured(name, {
            variant: Variant(f"{name}[{variant!r}]", series)
            for variant, series in variants.items()})
    return found


def values_of(point, counted):
    """Return {figure: value} of a point of a curve."""
    rate = point["rate"] or {}
    return {**point.get("values", {}),
            "rate": rate.get("median"), "rate_min": rate.get("low"),
            "rate_max": rate.get("high"), "hollow": point.get("hollow"),
            "noisy": point.get("noisy"), "limit": point.get("limit"),
            "evidence": point.get("evidence"), "calls": counted.get("all")}


def grouped(name, cells, variant, server, x):
    """Return the Measured of a list of cells of the studies accept-ways and idle-connections;
    `variant` (may be None), `server` and `x` are the keys that name them."""
    variants = {}
    for one in cells:
        place = f"{name}.{one[server]}"
        series = variants.setdefault(one.get(variant, ""), {})
        series.setdefault(one[server], {})[one[x]] = Cell(
            f"{place}[{one[x]}]", one)
    return Measured(name, {
        label: Variant(f"{name}[{label!r}]", {
            key: Series(f"{name}.{key}", by_x)
            for key, by_x in series.items()})
        for label, series in variants.items()})


class Context:
    """All that the chapters may quote, and where things are."""

    def __init__(self, docs):
        self.docs, self.top = docs, docs.parent
        results = docs / "results"
        folder = results / "reference"
        self.summary = read_json(folder / "summary.json")
        self.environment = read_json(folder / "env.json")
        names = measured(self.summary)
        for other in sorted(results.glob("*/summary.json")):
            label = other.parent.name
            if label != "reference":
                names[label] = Namespace(
                    f"{label}.", measured(read_json(other), f"{label}."))
        names["published"] = published()
        names["source"] = Sources()
        names["accept"] = grouped(
            "accept", read_json(folder / "accept_ways.json")["cells"],
            "variant", "way", "clients")
        names["idle"] = grouped(
            "idle", read_json(folder / "idle_connections.json")["cells"],
            None, "server", "idle")
        names["wake"] = costs.Node("wake", read_json(folder / "wake_up.json"))
        names.update(costs.names(docs))
        names.update(reliability.names(docs))
        self.names = Namespace("", names)
        self.chapters = {one.name: f"{one.folder}.md"
                         for one in servers.ARCHITECTURES}
        self.files = {}     # pictures made meanwhile, {path in docs/: text}

    @staticmethod
    def experiment(name):
        """Return an Experiment of bench/experiments."""
        for one in experiments.all_experiments():
            if one.name == name:
                return one
        raise FigureError(f"there is no experiment {name}")

    def calls(self, experiment, server, variant=None):
        """Return {system call: how often a request}."""
        for one in self.summary["experiments"]:
            if one["name"] == experiment:
                label = one["variants"][0] if variant is None else variant
                counted = one["calls"].get(f"{server}/{label}")
                if counted:
                    return counted
        raise FigureError(f"{experiment}: the system calls of {server} were "
                          "not counted")
