"""Steps of the curves: neighbouring points that differ by more than LIMIT, each with its cause.

A point's CPU time of a request counts, and its rate where the server's core was the limit of both
points. The causes are in docs/reference/steps.toml, a [[cause]] each:

    sure    counted (what was counted decides it), probable, unknown, or noise (the intervals of
            the two points overlap)
    why     what the table says, in MyST
    holds   an expression of figures.py that has to be true
    figure  a column of samples.csv that moves the same way as the cost, at each of the steps
    each    CPU microseconds that one of `figure` explains at most, an expression
    where   [[cause.where]]: run, experiment, variant (if it is not the first), and steps =
            {server = [x, ...]}: each two neighbours of the list are a step

In `why` and the expressions, `run.` stands for the run: in the table of reference-awake,
`run.echo.epoll[1000].cpu_us` is of that run. assign() finds what is wrong: a step without a cause
or with two, a cause without its step, and one that the figures contradict.
"""

import collections
import re
import tomllib

from tools.book import figures
from tools.kit import TOP
from tools.results import rundir
from tools.stats.bottleneck import core_was_limit

FILE = TOP / "docs" / "reference" / "steps.toml"
LIMIT = 0.08
RUNS = {"reference": "", "reference-awake": "awake."}       # {run: how expressions name it}
COUNTED, PROBABLE, UNKNOWN, NOISE = "counted", "probable", "unknown", "noise"
WORDS = {COUNTED: "", PROBABLE: "probably", UNKNOWN: "not known", NOISE: ""}    # that `why` has
TITLES = {"cpu_us": "CPU time", "rate": "rate"}

Key = collections.namedtuple("Key", "experiment variant server start end")
# change: {figure of TITLES that steps: per cent}; points: the two of the summary
Step = collections.namedtuple("Step", "key change points")


class StepsError(ValueError):
    """docs/reference/steps.toml is not as the head of this file says; the text says where."""


def find(summary):
    """Return ({Key: Step}, how many pairs of neighbouring points there are) of a summary."""
    found, pairs = {}, 0
    for experiment in summary["experiments"]:
        for curve in experiment["curves"]:
            points = [one for one in curve["points"] if one["values"].get("cpu_us")]
            pairs += max(0, len(points) - 1)
            for both in zip(points, points[1:]):
                change = {figure: percent for figure, percent in _changes(*both).items()
                          if abs(percent) > 100 * LIMIT}
                if change:
                    key = Key(experiment["name"], curve["variant"], curve["server"],
                              *(point["x"] for point in both))
                    found[key] = Step(key, change, both)
    return found, pairs


def _changes(one, other):
    """Return by how many per cent the figures of the second point differ from the first one's."""
    middles = {"cpu_us": [point["values"]["cpu_us"] for point in (one, other)]}
    if core_was_limit(one["values"]) and core_was_limit(other["values"]):
        middles["rate"] = [point["rate"]["middle"] for point in (one, other)]
    return {figure: 100 * (after / before - 1) for figure, (before, after) in middles.items()}


def overlap(step):
    """Return whether the intervals of the two points have a part in common, for each figure that
    steps. Without an interval, it is not known, and they have none."""
    both = [[point["intervals"][figure] for point in step.points] for figure in step.change]
    return all(one and other and one[0] <= other[1] and other[0] <= one[1] for one, other in both)


def read():
    """Return the causes of FILE, as a list of dicts. Raises StepsError."""
    causes = tomllib.loads(FILE.read_text(encoding="utf-8"))["cause"]
    for cause in causes:
        check(cause)
    return causes


def check(cause):
    """Raise StepsError for a cause that is not as the head of this file says."""
    begin = f"steps.toml: \"{' '.join(cause['why'].split())[:50]}...\""
    for wrong, what in (
            (cause["sure"] not in WORDS, f"`sure` is one of {', '.join(WORDS)}"),
            (cause["sure"] == COUNTED and not {"holds", "figure"} & {*cause},
             "what was counted needs `holds` or `figure`"),
            (cause.get("figure", "switches") not in rundir.FIGURES,
             f"there is no column {cause.get('figure')!r}"),
            (WORDS.get(cause["sure"], "") not in cause["why"].lower(),
             f"`why` has to say \"{WORDS.get(cause['sure'])}\""),
            ({*cause} - {"sure", "why", "holds", "figure", "each", "where"},
             "it has a key that is not known"),
            ([one for one in cause["where"] if one["run"] not in RUNS],
             f"`run` is one of {', '.join(RUNS)}")):
        if wrong:
            raise StepsError(f"{begin}: {what}")


def keys(cause, run, variants):
    """Yield the Key of each step that a cause names in a run. `variants`: {experiment: the first
    one}."""
    for where in cause["where"]:
        if where["run"] == run:
            variant = where.get("variant", variants.get(where["experiment"], ""))
            for server, points in where["steps"].items():
                for start, end in zip(points, points[1:]):
                    yield Key(where["experiment"], variant, server, start, end)


def of_run(text, run):
    """Return an expression, or prose, with `run.` in place."""
    return re.sub(r"\brun\.(?=\w)", RUNS[run], text)


def told(key):
    """Return in words where a step is."""
    variant = f" ({key.variant})" if key.variant else ""
    return f"{key.experiment}{variant}, {key.server}, from {key.start:,} to {key.end:,}"


def assign(run, summary, causes, names):
    """Return ([(cause, [Step], [sentences: what the run does not support])], [Step without a
    cause], [sentences: what else is wrong]). `names` are those of figures.everything()."""
    left, wrong, found = find(summary)[0], [], []
    steps = dict(left)
    variants = {one["name"]: one["variants"][0]
                for one in summary["experiments"] if one["variants"]}
    for cause in causes:
        mine = []
        for key in keys(cause, run, variants):
            if key in left:
                mine.append(left.pop(key))
            else:
                wrong.append(f"{run}: {told(key)}: steps.toml has " + (
                    "two causes for this step" if key in steps else "a cause, but there is no step"
                    f" of more than {100 * LIMIT:.0f} %"))
        if mine:
            found.append((cause, mine, [f"{run}: {one}" for one in
                                        unsupported(run, cause, mine, names)]))
    wrong += [f"{run}: {told(step.key)}: {said(step)}: a step without a cause in steps.toml"
              for step in left.values()]
    return found, [*left.values()], wrong


def unsupported(run, cause, steps, names):
    """Yield sentences that say what of a cause the run does not support."""
    try:
        text = of_run(" ".join(cause.get("holds", "True").split()), run)
        if not figures.evaluate(text, names):
            yield f"this does not hold: {text}"
        most = figures.evaluate(of_run(cause.get("each", "1e9"), run), names)
    except figures.FigureError as error:
        yield str(error)
        return
    for step in steps:
        if cause["sure"] == NOISE and not overlap(step):
            yield f"{told(step.key)}: no noise, the intervals of the two points do not overlap"
        if "figure" in cause:
            yield from unexplained(step, cause["figure"], most)


def unexplained(step, figure, most):
    """Yield why another figure does not explain a step, in a sentence: it moves the other way, or
    by too little if one of it takes `most` CPU microseconds."""
    cost, other = ([point["values"].get(key) or 0 for point in step.points]
                   for key in ("cpu_us", figure))
    cost, other = cost[1] - cost[0], other[1] - other[0]
    if cost * other <= 0:
        yield f"{told(step.key)}: `{figure}` does not move the way the cost does"
    elif abs(cost) > most * abs(other):
        yield (f"{told(step.key)}: `{figure}` moves by {other:+.3g}, which explains "
               f"{most * abs(other):.1f} µs at most, not {abs(cost):.1f}")


def said(step):
    """Return a step in words."""
    return ", ".join(f"{TITLES[figure]} {signed(percent)} %"
                     for figure, percent in step.change.items())


def signed(value):
    """Return a whole number with its sign."""
    return f"{value:+,.0f}".replace("-", "−")
