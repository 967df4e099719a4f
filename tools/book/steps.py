"""Where the curves of the committed runs step, and why: causes.py finds it, and this prints it.

    :::{steps} reference        a table of the steps of a run, or of reference-awake, with causes

With the book's own runs, each step without a cause, cause without a step, and cause that the
figures contradict is an error.
"""

import collections

from docutils import nodes

from tools.book import causes
from tools.book.extension import SEVEN, Block

SURE = {causes.COUNTED: "have a cause that was counted", causes.PROBABLE: "have a probable one",
        causes.UNKNOWN: "have none that is known",
        causes.NOISE: "are not told apart by the rounds"}
HEADS = ("experiment", "server", "from → to", "CPU time", "why")


def span(steps):
    """Return the smallest and the largest per cent of each figure that steps; CPU time without its
    name."""
    parts = []
    for figure, title in causes.TITLES.items():
        values = [step.change[figure] for step in steps if figure in step.change]
        if values:
            ends = dict.fromkeys(causes.signed(end(values, key=abs)) for end in (min, max))
            name = "" if figure == "cpu_us" else f"{title} "
            parts.append(f"{name}{' to '.join(ends)} %")
    return ", ".join(parts)


def titles(servers):
    """Return the names of servers: the seven by number, then others."""
    return "01 to 07" if servers == SEVEN else ", ".join(
        f"{SEVEN.index(one) + 1:02}" if one in SEVEN else one for one in servers)


def rows(steps):
    """Return the rows of a table for the steps of one cause, without `why`. Those stand together
    that have the same points and figures and go the same way, and points that follow each
    other."""
    places, chains = {}, []
    for step in steps:
        place = (step.key.experiment, step.key.variant,
                 *((figure, percent > 0) for figure, percent in step.change.items()))
        pairs = places.setdefault(place, {})
        pairs.setdefault((step.key.start, step.key.end), []).append(step)
    for place, pairs in places.items():
        for (start, end), some in sorted(pairs.items()):
            there = {step.key.server for step in some}
            servers = sorted(there, key=[*SEVEN, *sorted(there)].index)
            last = next((one for one in chains if one["points"][-1] == start and
                         (one["place"], one["servers"]) == (place, servers)), None)
            if last:
                last["points"].append(end)
                last["steps"] += some
            else:
                chains.append({"place": place, "servers": servers, "points": [start, end],
                               "steps": some})
    return [[
        f"`{one['place'][0]}`" + (f", {one['place'][1]}" if one["place"][1] else ""),
        titles(one["servers"]), " → ".join(f"{x:,}" for x in one["points"]), span(one["steps"])]
        for one in chains]


class Steps(Block):
    """The directive."""

    def steps(self, run):
        """The table, and above it how many steps there are."""
        self.env.note_dependency(str(causes.FILE))
        mine = {"reference": self.data.run, "reference-awake": self.data.awake}[run]
        found, left, wrong = causes.assign(run, mine.summary, causes.read(), self.data.names)
        for sentence in [*wrong, *(one for *_, doubts in found for one in doubts)]:
            self.refuse(sentence)
        if left:        # of a reader's run
            found.append(({"sure": causes.UNKNOWN, "why": "Not known: the causes are those of the "
                           "committed run."}, left, []))
        counts = collections.Counter()
        for cause, steps, _ in found:
            counts[cause["sure"]] += len(steps)
        many, pairs = sum(counts.values()), causes.find(mine.summary)[1]
        shares = ", ".join(f"{counts[sure]} {words}" for sure, words in SURE.items()
                           if counts[sure])
        return [nodes.paragraph("", f"Of {pairs} pairs of neighbouring points, {many} are a step: "
                                f"{shares}."), *self.made(run, found)]

    def made(self, run, found):
        """Return the table; a cause stands once, next to all its rows."""
        lines, heights = [], []
        for cause, steps, doubts in found:
            some = rows(steps)
            why = causes.of_run(" ".join(cause["why"].split()), run).replace("|", "\\|")
            if doubts:
                why = f"In this run this does not hold: {why}"
            lines += [[*row, "" if number else why] for number, row in enumerate(some)]
            heights.append(len(some))
        made = self.parse_text_to_nodes("\n".join(f"| {' | '.join(line)} |" for line in [
            HEADS, [":--"] * len(HEADS), *lines]))
        made[0].insert(0, nodes.title("", f"Steps of more than {100 * causes.LIMIT:.0f} % "
                                      f"(docs/results/{run})"))
        below = iter(next(made[0].findall(nodes.tbody)).children)
        for height in heights:
            first, *others = (next(below) for _ in range(height))
            if others:
                first.children[-1]["morerows"] = len(others)
            for row in others:
                row.remove(row.children[-1])
        return [*made, self.note(self.data.machine("" if run == "reference" else run)
                                 + "; CPU time steadied")]


def setup(app):
    """Register it."""
    app.add_directive("steps", Steps)
