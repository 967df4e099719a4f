"""`make predictions`: what a class predicted, next to what was measured."""

import argparse
import collections
import math
import os
import statistics
import sys
from pathlib import Path

from tools.kit import TOP, venv
from tools.observe.predict import compare, files
from tools.stats.sentences import number

WIDTH = 60                      # of an axis, in characters
LEVELS = " ▁▂▃▄▅▆▇█"


def main(words):
    """Run the command; return its exit status: 1 without a prediction."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.observe predictions",
                                     description=__doc__)
    out = Path(os.environ.get("OUT") or Path(TOP, "results"))
    parser.add_argument("folder", nargs="?", help="with the files, *.toml",
                        default=out / "predictions")
    folder = Path(parser.parse_args(words).folder)
    reason = venv.restart_inside()
    questions = {}              # {title: [prediction, ...]}
    for path in sorted(folder.glob("*.toml")):
        try:
            one = files.read(path)
            questions.setdefault(files.title(one), []).append(one)
        except files.FileError as error:
            print(f"Left out: {error}", file=sys.stderr)
    if not questions:
        print(f"predictions: there is none in {folder}", file=sys.stderr)
        return 1
    for name, class_ in sorted(questions.items()):
        print("", f"{name}: predictions: {len(class_)}", *lines(class_), sep="\n")
    if reason:
        print(f"No picture: {reason}", file=sys.stderr)
    else:
        out.mkdir(parents=True, exist_ok=True)
        print("\n" + os.path.relpath(draw(questions, out / "predictions.svg")))
    return 0


def true(class_, key):
    """Return the median of what the files say was measured, None without."""
    return statistics.median([
        one["measured"][key] for one in class_ if key in one["measured"]] or [math.nan])


def spread(class_, key):
    """Return in words what is predicted for a key of QUANTITIES: the median,
    what was measured, and how many are right within AGREE."""
    values, goal = [one[key] for one in class_], true(class_, key)
    told = f"median {number(statistics.median(values))}"
    if math.isnan(goal):
        return f"{told}; not measured"
    right = sum(compare.factor(value, goal) <= compare.AGREE for value in values)
    return (f"{told}, measured {number(goal)}; within a factor of "
            f"{compare.AGREE:g}: {100 * right / len(values):.0f} %")


def axis(class_, key):
    """Return (first, last) power of ten of an axis for all predictions and the measured value."""
    logs = [math.log10(value) for value in (
        *(one[key] for one in class_), true(class_, key)) if not math.isnan(value)]
    first = math.floor(min(logs))
    return first, max(first + 1, math.ceil(max(logs)))


def place(value, ends):
    """Return the column, from 0, of a value on a log axis."""
    share = (math.log10(value) - ends[0]) / (ends[1] - ends[0])
    return round(share * (WIDTH - 1))


def lines(class_):
    """Return a picture of the predictions of a class as lines of text: bars
    over a log axis, on which ▲ is the measured value."""
    made = []
    for key, words in files.quantities(class_[0]).items():
        ends, goal = axis(class_, key), true(class_, key)
        counts = collections.Counter(place(one[key], ends) for one in class_)
        most = max(counts.values())
        rule = ["─"] * WIDTH
        for power in range(ends[0], ends[1] + 1):
            rule[place(10 ** power, ends)] = "┼"
        if not math.isnan(goal):
            rule[place(goal, ends)] = "▲"
        first, last = (f"{10.0 ** power:,.10g}" for power in ends)
        made += ["", f"{words}: {spread(class_, key)}", "".join(
            LEVELS[math.ceil(8 * counts[at] / most)]
            for at in range(WIDTH)).rstrip(), "".join(rule), first + last.rjust(WIDTH - len(first))]
    if "limit" not in class_[0]:
        return made
    said = collections.Counter(one["measured"]["limit"] for one in class_
                               if "limit" in one["measured"])
    made += ["", "limit of the rate: " + (
        f"measured: {said.most_common(1)[0][0]}" if said else "not measured")]
    return made + [f"{limit:12} {'█' * min(votes, WIDTH)} {votes}"
                   for limit, votes in collections.Counter(
                       one["limit"] for one in class_).most_common()]


def draw(questions, path):
    """Draw a dot for each prediction, and a line where it was measured, into the SVG file `path`;
    return that."""
    # pylint: disable=import-outside-toplevel
    import altair as alt

    from tools.report import charts, styles
    rows = []
    for name, class_ in sorted(questions.items()):
        for key, words in files.quantities(class_[0]).items():
            ends, counts, dots = axis(class_, key), collections.Counter(), []
            for one in class_:          # equal ones are stacked
                at = place(one[key], ends)
                counts[at] += 1
                dots.append({"x": one[key], "y": counts[at]})
            goal = alt.Chart(alt.Data(values=[{"x": true(class_, key)}]))
            x = alt.X("x:Q", title=None, axis=alt.Axis(
                format="~s", values=[10.0 ** one for one in range(ends[0], ends[1] + 1)]),
                scale=alt.Scale(type="log", domain=[10.0 ** one for one in ends]))
            rows.append(alt.layer(
                alt.Chart(alt.Data(values=dots)).mark_circle(
                    color=styles.ARCHITECTURES["epoll"][0], opacity=1).encode(
                        x=x, y=alt.Y("y:Q", axis=None, scale=alt.Scale(
                            domain=[0, max(8, *counts.values()) + 1]))),
                goal.mark_rule(color=styles.ARCHITECTURES["poll"][0],
                               strokeWidth=2).encode(x=x)).properties(
                width=charts.WIDTH, height=90, title=alt.Title(
                    f"{name}: {words}", subtitle=spread(class_, key))))
    alt.vconcat(*rows).configure(**charts.CONFIG).save(str(path))
    path.write_text(styles.adapted(path.read_text("utf-8")), "utf-8")
    return path
