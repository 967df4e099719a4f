"""`make predictions`: what a class predicted, beside what was measured."""

import argparse
import collections
import math
import os
import statistics
import sys
from pathlib import Path

from bench import venv
from bench.analyse.sentences import number
from bench.run.servers import TOP
from observe.predict import compare, files

WIDTH = 60                      # of an axis, in characters
LEVELS = " ▁▂▃▄▅▆▇█"
LEFT = 6                        # where an axis begins

# A question: the predictions of one server with so many clients. `measured`:
# {key of QUANTITIES: the median of what the files say, or None}; `limit`: what
# most of them found, or ""; `end`: [(name of a limit, how many predict it)].
Question = collections.namedtuple("Question",
                                  "title predictions measured limit ends")


def main(words):
    """Run the command; return its exit status: 1 without a prediction."""
    parser = argparse.ArgumentParser(prog="python3 -m observe predictions",
                                     description=__doc__)
    out = os.environ.get("OUT") or os.path.join(TOP, "results")
    parser.add_argument("folder", nargs="?", help="with the files, *.toml",
                        default=os.path.join(out, "predictions"))
    folder = parser.parse_args(words).folder
    venv.enter()
    found, wrong = gather(folder)
    for why in wrong:
        print(f"Left out: {why}", file=sys.stderr)
    if not found:
        print(f"predictions: there is none in {folder}", file=sys.stderr)
        return 1
    questions = group(found)
    for question in questions:
        print(*lines(question), sep="\n")
    try:
        from observe.predict import picture     # needs build/venv/
    except ImportError as error:
        print(f"No picture: {error}", file=sys.stderr)
        return 0
    os.makedirs(out, exist_ok=True)
    for path in picture.write(questions, wrong, Path(out)):
        print(os.path.relpath(path))
    return 0


def gather(folder):
    """Return ([(Prediction, Measured or None)], [why a file is left out])."""
    found, wrong = [], []
    for path in sorted(Path(folder).glob("*.toml")):
        try:
            if not path.is_file():
                raise files.FileError(f"{path}: it is not a file")
            found.append(files.read(path))
        except files.FileError as error:
            wrong.append(str(error))
    return found, wrong


def group(found):
    """Return a Question for each server, page and number of clients."""
    asked = {}
    for prediction, measured in found:
        asked.setdefault(prediction.title, []).append((prediction, measured))
    return [_question(title, some) for title, some in sorted(asked.items())]


def _question(title, some):
    told = [measured for _, measured in some if measured]
    values = {key: [one.values[key] for one in told if one.values[key]]
              for key in files.QUANTITIES}
    limits = collections.Counter(" and ".join(one.limits) for one in told)
    return Question(
        title, [prediction for prediction, _ in some],
        {key: statistics.median(each) if each else None
         for key, each in values.items()},
        limits.most_common(1)[0][0] if limits else "",
        collections.Counter(one.limit for one, _ in some).most_common())


def spread(question, key):
    """Return what is predicted for a key of QUANTITIES, in words: median,
    measured, and the share that is right within AGREE."""
    values = [one.values[key] for one in question.predictions]
    told = f"median {number(statistics.median(values))}"
    true = question.measured[key]
    if not true:
        return f"{told}; not measured"
    right = sum(compare.factor(value, true) <= compare.AGREE
                for value in values)
    return (f"{told}, measured {number(true)}; {right} of {len(values)} "
            f"within a factor of {compare.AGREE:g}")


def axis(values):
    """Return the exponents (first, last) of an axis for all values: whole
    decades, at least one."""
    first = math.floor(math.log10(min(values)) + 1e-9)
    return first, max(first + 1, math.ceil(math.log10(max(values)) - 1e-9))


def place(value, ends, width=WIDTH):
    """Return the column, from 0, of a value on a log axis."""
    first, last = ends
    share = (math.log10(value) - first) / (last - first)
    return min(width - 1, round(share * (width - 1)))


def lines(question):
    """Return a picture of a question as lines of text."""
    count = len(question.predictions)
    made = ["", f"{question.title}: {count} prediction{'s' * (count != 1)}"]
    for key, words in files.QUANTITIES.items():
        made += ["", f"  {words}: {spread(question, key)}",
                 *bars([one.values[key] for one in question.predictions],
                       question.measured[key])]
    made += ["", "  what ends the rate: " + (
        f"measured: {question.limit}" if question.limit else "not measured")]
    return made + [f"{'':{LEFT}}{limit:12} {'█' * min(votes, WIDTH)} {votes}"
                   for limit, votes in question.ends] + [""]


def bars(values, true):
    """Return three lines: the values as bars over a log axis with `true`, or
    None, marked on it."""
    ends = axis([*values, *([true] if true else [])])
    counts = collections.Counter(place(value, ends) for value in values)
    most = max(counts.values())
    above = "".join(LEVELS[math.ceil(8 * counts[at] / most)]
                    for at in range(WIDTH))
    line, below = ["─"] * WIDTH, " " * WIDTH
    for exponent in range(ends[0], ends[1] + 1):
        at = place(10 ** exponent, ends)
        line[at] = "┼"
        label = f"{10.0 ** exponent:,.12g}".rjust(1)
        if not below[max(0, at - 1):].strip():
            below = below[:at].ljust(at) + label
    if true:
        line[place(true, ends)] = "▲"
    return [(" " * LEFT + part).rstrip()
            for part in (above, "".join(line), below)]
