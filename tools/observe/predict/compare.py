"""Prediction and measurement side by side: what was off, and why."""

from tools.model import model
from tools.observe.predict.files import COMPUTING, LIMITS, QUANTITIES, WAITS, quantities, title
from tools.report.table import Table
from tools.stats.bottleneck import core_was_limit
from tools.stats.sentences import number

AGREE = 2.0                     # up to this factor a prediction is right
CALLS_NAMED = 6
SLEEPS = {                      # by the last digit of the server's number
    "135": "a worker sleeps for its client and for every reply of Redis",
    "24": "a worker begins, sleeps for every reply of Redis, and ends",
    "67": "the loop sleeps only when no client and no reply is ready",
}
SHARES = {                      # likewise, of requests that compute
    "167": "a short request waits until all that came before it have computed",
    "2345": "the kernel divides the core among all that compute, so a short request "
            "waits for its turn and not for their 20 ms",
}
# What to read after the server's chapter, by what was off.
PAGES = {**dict.fromkeys(WAITS, "docs/read/computing.md"),
         "cpu_us": "docs/howto/read_a_report.md",
         "calls": "docs/read/sans_io.md",
         "load tool": "docs/read/fooling_yourself.md",
         "Redis": "docs/read/waiting.md"}


class NoFigure(Exception):
    """Nothing was measured; the text says why."""


def measured(summary, prediction):
    """Return what a run's summary.json, of one cell, says of a prediction:
    (what the file gets, more). `more` has "calls" ({name: a request}),
    "user_us" and "notes" (sentences). Raises NoFigure."""
    experiment = summary["experiments"][0]
    name = prediction["server"].partition("_")[2]
    curve = next((one for one in experiment["curves"] if one["server"] == name),
                 experiment["curves"][0])
    point = curve["points"][0]
    if not point["rate"] or not point["rate"]["middle"]:
        raise NoFigure("; ".join(point["notes"]) or "no request was answered")
    if prediction["what"] == COMPUTING:
        return {key: float(f"{point['values'][key]:.6g}") for key in WAITS
                if point["values"].get(key)}, {"calls": {}, "notes": point["notes"]}
    values = {**point["values"], "rate": point["rate"]["middle"]}
    calls = dict(experiment["calls"].get(f"{curve['server']}/{curve['variant']}", {}))
    values["calls"] = calls.pop("all", None)
    found = {key: float(f"{values[key]:.6g}") for key in QUANTITIES if values.get(key)}
    found["limit"] = " and ".join(limits(point["limit"], values, prediction))
    found["evidence"] = " ".join((point["evidence"] or "").split())
    noisy = [f"Noisy: {', '.join(point['noisy'])}."] if point["noisy"] else []
    return found, {"calls": calls, "user_us": values.get("cpu_user_us"),
                   "notes": [*point["notes"], *noisy]}


def limits(limit, values, prediction):
    """Return the LIMITS that bench's `limit` stands for, or its own words. Where the load tool and
    Redis share a full core, it is both."""
    if limit in ("waiting", "accept queue"):
        if core_was_limit(values):
            return ["server core"]
        name = prediction["server"].partition("_")[2]
        if prediction["clients"] > model.WORKERS[name]:
            return ["workers"]
        return ["clients" if limit == "waiting" else limit]
    if limit in ("cores of the load", "all cores"):
        return ["load tool"] + (["Redis"] if values.get("redis_busy") else [])
    return [limit or "unknown"]


def factor(one, other):
    """Return how many times the smaller figure the larger one is."""
    return max(one / other, other / one)


def off(prediction, found):
    """Return [(factor, key of QUANTITIES)], the worst first."""
    return sorted(((factor(prediction[key], found[key]), key)
                   for key in quantities(prediction) if key in found), reverse=True)


def table(prediction, found):
    """Return the Table of both, side by side."""
    rows = []
    for key, words in quantities(prediction).items():
        expected, value, said = prediction[key], found.get(key), "not counted"
        if value:
            times = factor(expected, value)
            side = "high" if expected > value else "low"
            said = f"{number(times)} times too {side}" if times >= 1.05 else "right"
        rows.append([words, expected, value, said])
    if "limit" in prediction:
        rows.append(["limit of the rate", prediction["limit"], found["limit"],
                     "right" if ends_right(prediction, found) else "another"])
    return Table(title(prediction), ["quantity", "predicted", "measured", "compared"], rows)


def ends_right(prediction, found):
    """Return whether the limit is the predicted one, if one was asked for."""
    return "limit" not in prediction or prediction["limit"] in found["limit"].split(" and ")


def explain(prediction, found, more):
    """Return sentences: which assumptions were off, the worst first, and what to read."""
    wrong = [one for one in off(prediction, found) if one[0] >= AGREE]
    lines = [f"You expected {number(prediction[key])} {quantities(prediction)[key]}; "
             + actual(key, prediction, found, more) for _, key in wrong] or \
        [f"All figures are right within a factor of {AGREE:g}."]
    if not ends_right(prediction, found):
        ends = " and ".join(LIMITS.get(one, one) for one in found["limit"].split(" and "))
        lines.append(f"You expected that {LIMITS[prediction['limit']]}; here "
                     f"the limit is: {ends} ({found['evidence']}).")
    used = prediction.get("rate", 0) * prediction.get("cpu_us", 0) / 1e6
    if prediction.get("limit") == "server core" and not 0.8 < used < 1.1:
        lines.append(f"Your figures contradict each other: rate times CPU time"
                     f" keeps {number(used)} cores busy, not one.")
    keys = [key for _, key in wrong] + ([] if ends_right(prediction, found)
                                        else found["limit"].split(" and "))
    pages = [f"docs/read/{prediction['server']}.md",
             *[PAGES[key] for key in keys if key in PAGES][:1]]
    return lines + [f"Read {', then '.join(pages)}."]


def actual(key, prediction, found, more):
    """Return the second half of a sentence: a measured figure, and why."""
    value = found[key]
    if key in WAITS:
        why = next(why for digits, why in SHARES.items() if prediction["server"][1] in digits)
        return f"it takes {number(value)}: {why}."
    if key == "switches":
        why = next(why for digits, why in SLEEPS.items() if prediction["server"][1] in digits)
        return f"there are {number(value)}: {why}."
    if key == "calls":
        named = sorted(((each, name) for name, each in more["calls"].items()
                        if each >= 0.05), reverse=True)[:CALLS_NAMED]
        return f"it makes {number(value)}: " + ", ".join(
            f"{number(each)} {name}" for each, name in named) + "."
    if key == "cpu_us":
        user = more["user_us"] or 0
        return (f"it takes {number(value)}: {number(user)} in the server's "
                f"own code, {number(value - user)} in the kernel.")
    if found["limit"] == "server core" and "cpu_us" in found:
        return (f"it is {number(value)}: a request takes {number(found['cpu_us'])} us, so a core "
                f"that is always busy answers {number(1e6 / found['cpu_us'])}.")
    return f"it is {number(value)}: {found['evidence']}."
