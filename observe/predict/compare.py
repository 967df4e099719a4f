"""Prediction and measurement side by side: what was off, and why."""

from bench.analyse.bottleneck import WHOLE_CORE
from bench.analyse.sentences import number
from bench.draw.table import Table
from observe.predict.files import LIMITS, QUANTITIES, Measured

AGREE = 2.0                     # up to this factor a prediction is right
CALLS_NAMED = 6
# How many clients each server answers at the same time, by default. A loop has
# no such limit.
WORKERS = {"01": 1, "02": 128, "03": 100, "04": 256, "05": 100}
SWITCHES = {
    "01": "the process sleeps only while it waits for its client or for Redis",
    "02": "each client's process begins, sleeps for every reply of Redis, "
          "and ends",
    "03": "a worker sleeps for the next client and for every reply of Redis",
    "04": "each client's thread begins, sleeps for every reply of Redis, "
          "and ends",
    "05": "a worker sleeps for the next client and for every reply of Redis",
    "06": "the loop sleeps only when no client and no reply is ready",
    "07": "the loop sleeps only when no client and no reply is ready",
}
# What to read after the server's chapter.
CHAPTERS = {"cpu_us": "docs/performance.md", "calls": "docs/architecture.md",
            "Redis": "docs/performance.md", "load tool":
            "docs/benchmarking.md", "rate": "docs/comparison.md"}


class NoFigure(Exception):
    """Nothing was measured; the text says why."""


def measured(summary, env, prediction):
    """Return the Measured of the only point in a run's summary.json and
    env.json. Raises NoFigure."""
    experiment = summary["experiments"][0]
    curve = experiment["curves"][0]
    point = curve["points"][0]
    if not point["rate"] or not point["rate"]["median"]:
        raise NoFigure("; ".join(point["notes"]) or "no request was answered")
    values, cores = point["values"], len(env["cores"]["server"])
    calls = dict(experiment["calls"].get(
        f"{curve['server']}/{curve['variant']}", {}))
    lost = values.get("failed_percent")
    return Measured(
        {"rate": point["rate"]["median"], "cpu_us": values.get("cpu_us"),
         "switches": values.get("switches"), "calls": calls.pop("all", None)},
        limits(point["limit"], values, prediction), point["evidence"] or "",
        calls, values.get("cpu_user_us"), cores,
        [*point["notes"], *[f"{number(lost)} % of the requests were lost"]
         * bool(lost), *[f"Noisy: {', '.join(point['noisy'])}"]
         * bool(point["noisy"])])


def limits(limit, values, prediction):
    """Return the LIMITS that bench's `limit` stands for, or its own words.

    Where the load tool and Redis together fill a core, it is both.
    """
    if limit in ("waiting", "accept queue"):
        if (values.get("server_busy") or 0) >= WHOLE_CORE:
            return ("server core",)
        workers = WORKERS.get(prediction.server[:2])
        if workers and prediction.clients > workers:
            return ("workers",)
        return ("clients",) if limit == "waiting" else (limit,)
    if limit in ("cores of the load", "all cores"):
        return ("load tool", "Redis") if values.get("redis_busy") \
            else ("load tool",)
    return (limit or "unknown",)


def factor(one, other):
    """Return how many times the larger figure is the smaller."""
    return max(one / other, other / one)


def off(prediction, found):
    """Return [(factor, key of QUANTITIES)], the worst first."""
    return sorted(((factor(prediction.values[key], value), key)
                   for key, value in found.values.items() if value),
                  reverse=True)


def table(prediction, found):
    """Return the Table of both, side by side."""
    rows = []
    for key, words in QUANTITIES.items():
        expected, value = prediction.values[key], found.values[key]
        said = "not counted"
        if value:
            times = factor(expected, value)
            said = "right" if times < 1.05 else \
                f"{number(times)} times too " + (
                    "high" if expected > value else "low")
        rows.append([words, expected, value, said])
    rows.append(["what ends the rate", prediction.limit,
                 " and ".join(found.limits),
                 "right" if prediction.limit in found.limits else "another"])
    return Table(prediction.title,
                 ["quantity", "predicted", "measured", "factor"], rows)


def explain(prediction, found):
    """Return sentences: which assumptions were off, the worst first; what
    ends the rate; what to read."""
    wrong = off(prediction, found)
    lines = [expected(key, prediction, found) for times, key in wrong
             if times >= AGREE]
    if not lines and wrong:
        times, key = wrong[0]
        lines.append(f"All figures are right within a factor of {AGREE:g}; "
                     f"the farthest is that of {QUANTITIES[key]} "
                     f"({number(times)}).")
    ends = " and ".join(found.limits)
    told = f"The rate ends at: {ends} ({found.evidence})."
    if prediction.limit not in found.limits:
        told = (f"You expected that {LIMITS[prediction.limit]}. But "
                + ", and ".join(LIMITS.get(one, f"the limit was: {one}")
                                for one in found.limits)
                + f": {found.evidence}.")
    lines.append(told)
    lines += contradiction(prediction, found.cores)
    return lines + [f"Read {chapters(prediction, found)}."]


def expected(key, prediction, found):
    """Return the sentence about a figure that was wrong."""
    value, said = found.values[key], number(prediction.values[key])
    words, there = QUANTITIES[key], number(value)
    if key == "rate":
        return f"You expected {said} {words}; it is {there}: " \
            + why_rate(found)
    if key == "cpu_us":
        user = found.user_us
        parts = f": {number(user)} in the server's own code, " \
            f"{number(value - user)} in the kernel" if user else ""
        return f"You expected {said} {words}; it takes {there}{parts}."
    if key == "switches":
        return f"You expected {said} {words}; there are {there}: " \
            f"{SWITCHES[prediction.server[:2]]}."
    named = sorted(((each, name) for name, each in found.calls.items()
                    if each >= 0.05), reverse=True)[:CALLS_NAMED]
    parts = ": " + ", ".join(f"{number(each)} {name}"
                             for each, name in named) if named else ""
    return f"You expected {said} {words}; it makes {there}{parts}."


def why_rate(found):
    """Return the end of the sentence about the rate."""
    cost = found.values.get("cpu_us")
    if found.limits == ("server core",) and cost:
        can_do = found.cores * 1e6 / cost
        return (f"a core has 1,000,000 us a second, and a request takes "
                f"{number(cost)}, so more than {number(can_do)} is not "
                "possible.")
    return ", and ".join(LIMITS.get(one, one) for one in found.limits) + "."


def contradiction(prediction, cores):
    """Return a sentence where the prediction contradicts itself, or []."""
    rate, cost = prediction.values["rate"], prediction.values["cpu_us"]
    used = rate * cost / 1e6
    begin = f"Your figures do not fit together: {number(rate)} requests a " \
        f"second at {number(cost)} us each "
    if used > 1.1 * cores:
        return [begin + f"need {number(used)} cores; the server has {cores}."]
    if prediction.limit == "server core" and used < 0.8 * cores:
        return [begin + f"use {100 * used / cores:.0f} % of the core that "
                "you expected to be the limit."]
    return []


def chapters(prediction, found):
    """Return which pages to read, as words."""
    pages = [f"docs/{prediction.server}.md"]
    pages += [CHAPTERS[one] for one in found.limits
              if one != prediction.limit and one in CHAPTERS][:1]
    pages += [CHAPTERS[key] for times, key in off(prediction, found)
              if times >= AGREE and key in CHAPTERS][:1]
    return ", then ".join(dict.fromkeys(pages))
