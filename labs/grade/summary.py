"""What a class has got, for its instructor: one page without network, and the last lines of
make grade-all."""

import html
import re
from collections import defaultdict
from statistics import median
from urllib.parse import quote

from labs.grade import records
from labs.grade.outputs import clean
from labs.grade.screen import words
from tools.kit import TOP

STYLE = TOP / "tools/report/assets/report.css"     # of the other pages that are made
OWN_STYLE = """
.bar { display: inline-block; height: .8em; background: var(--link); vertical-align: middle; }
.room { display: inline-block; width: 12rem; max-width: 40vw; background: var(--faint);
  line-height: 1; vertical-align: middle; }
td.words { white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }
"""
STEP = 10               # points of one row of the distribution
MANY = 2                # submissions that make a mistake a common one
MOST_MISTAKES = 20


def mistakes(lab, found):
    """Return [(test, what was seen, the names of those that did it)], the most frequent first.
    Numbers in what was seen may differ."""
    groups = defaultdict(list)
    for one in found:
        for name, test in one.failed.items():
            if one.result["compiled"]:
                groups[name, re.sub(r"\d[\d,.]*", "N", test["seen"])].append(one)
    many = [(lab.test(name), those[0].result["tests"][name]["seen"], [one.name for one in those])
            for (name, _), those in groups.items() if len(those) >= MANY]
    return sorted(many, key=lambda one: -len(one[2]))[:MOST_MISTAKES]


def text(lab, found, pairs, why, out):
    """Return the last lines of make grade-all; `pairs` and `why` are those of similar.pairs()."""
    graded = [one for one in found if not one.fault]
    lines = []
    if graded:
        points = [one.points for one in graded]
        lines.append(f"{len(graded)} submissions: median {median(points):g} of "
                     f"{sum(test.points for test in lab.tests)} points, lowest {min(points)}, "
                     f"highest {max(points)}, {sum(p == max(points) for p in points)} with that")
    lines += [f"most frequent mistake: {words(test)} ({len(names)} submissions)"
              for test, _, names in mistakes(lab, found)[:1]]
    faults = [one for one in found if one.fault]
    if faults:
        lines.append(f"{len(faults)} not graded: " + ", ".join(clean(f.name) for f in faults[:10])
                     + (" ..." if len(faults) > 10 else ""))
    lines.append(why or f"{len(pairs)} pairs of similar submissions to look at"
                 + (f", the first: {clean(pairs[0].one)} and {clean(pairs[0].other)}, "
                    f"{pairs[0].percent} %" if pairs else ""))
    return "\n".join([*lines, f"table:     {out / 'grades.csv'}",
                      f"summary:   {out / 'summary.html'}", f"hand back: {out / 'reports'}"])


def esc(value):
    """Return what a page shows for a value."""
    return html.escape(clean(value))


def bar(share):
    """Return a bar for a share from 0 to 1."""
    return f'<span class=room><span class=bar style="width:{100 * share:.1f}%"></span></span>'


def table(head, rows, left=1):
    """Return a table of cells that are HTML; the first `left` columns are words."""
    def row(tag, cells):
        return "<tr>" + "".join(f"<{tag}{' class=words' if n < left else ''}>{cell}</{tag}>"
                                for n, cell in enumerate(cells)) + "</tr>"

    return ("<div class=scroll><table><thead>" + row("th", head) + "</thead><tbody>"
            + "\n".join(row("td", one) for one in rows) + "</tbody></table></div>")


def section(title, *parts):
    """Return a section of the page; `title` is also its anchor."""
    return f'<section id="{anchor(title)}"><h2>{title}</h2>\n' + "\n".join(parts) + "</section>"


def anchor(title):
    """Return a title as an anchor."""
    return title.lower().replace(" ", "-")


def distribution(lab, graded):
    """Return the sections with the points: in all, and of each test."""
    total = sum(test.points for test in lab.tests)
    steps = [(low, low if low == total else min(low + STEP, total) - 1)
             for low in range(0, total + 1, STEP)]
    counts = [sum(low <= one.points <= high for one in graded) for low, high in steps]
    most = max(counts) or 1
    rows = [(f"{low}" if low == high else f"{low} to {high}", bar(count / most), count)
            for (low, high), count in zip(steps, counts)]
    tests = []
    for test in lab.tests:
        passed = sum(one.of(test.name) == test.points for one in graded)
        tests.append((esc(words(test)), esc(test.level), bar(passed / len(graded)),
                      f"{passed} of {len(graded)}", test.points))
    return [section("Points", table(("points", "submissions", ""), rows, 2)),
            section("Tests", table(("test", "level", "passed by", "", "points"), tests, 3))]


def common_mistakes(lab, found):
    """Return the section with what many did wrong."""
    rows = [(len(names), esc(words(test)), esc(seen), esc(test.hint),
             "<details><summary>who</summary>" + esc(", ".join(map(clean, names))) + "</details>")
            for test, seen, names in mistakes(lab, found)]
    return section("Mistakes that many made",
                   table(("submissions", "test", "one of them: what was seen", "hint", ""), rows, 5)
                   if rows else "<p>No two submissions failed in the same way.</p>")


def similar_ones(pairs, why):
    """Return the section with submissions that resemble each other."""
    if why:
        return section("Similar submissions", f"<p>{esc(why)}.</p>")
    rows = [(esc(one.one), esc(one.other), f"{one.percent} %") for one in pairs]
    return section(
        "Similar submissions",
        "<p>So much of the first is also in the second, without the lines of the starter. Two "
        "right answers may be alike: read both before you judge.</p>",
        table(("submission", "and", "the same"), rows, 2) if rows else "<p>There are none.</p>")


def everyone(found):
    """Return the section with a row for each submission."""
    def row(one):
        report = f"reports/{quote(records.file_name(one.name), errors='surrogateescape')}.txt"
        name = f'<a href="{report}">{esc(one.name)}</a>' \
            if one.fault != records.NOT_YET else esc(one.name)
        return name, esc(one.first), "" if one.fault else one.points, f"{one.seconds:.0f}"

    return section("Submissions", table(("submission", "first hint", "points", "seconds"),
                                        map(row, found), 2))


def page(lab, found, pairs, why):
    """Return the summary of a class as HTML; `found` are the Records of all submissions."""
    graded = [one for one in found if not one.fault]
    faults = [one for one in found if one.fault]
    parts = distribution(lab, graded) if graded else []
    parts += [common_mistakes(lab, found), similar_ones(pairs, why), everyone(found)]
    titles = re.findall(r"<h2>(.*?)</h2>", "".join(parts))
    middle = f", median {median(one.points for one in graded):g} points" if graded else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lab {lab.number}: what the class has got</title>
<link rel="icon" href="data:,">
<style>
{STYLE.read_text(encoding="utf-8")}{OWN_STYLE}</style>
</head>
<body>
<header>
<h1>Lab {lab.number}: {esc(lab.title)}</h1>
<p class=quiet>{len(found)} submissions{middle}. <a href="grades.csv">All points as a table</a></p>
{f"<p class=warning>{len(faults)} could not be graded.</p>" if faults else ""}
<nav aria-label="Parts">{" ".join(f'<a href="#{anchor(one)}">{one}</a>' for one in titles)}</nav>
</header>
<main>
{"".join(parts)}
</main>
</body>
</html>
"""
