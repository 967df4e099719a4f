"""A grade on a terminal, and the progress of the tests.

With rich, in colour and as wide as the terminal. Without it, and where the
output is no terminal, as plain text of 80 columns.
"""

import contextlib
import os
import sys
import textwrap

from labs.grade.lab import LEVELS
from labs.grade.outputs import clean

try:
    import rich.bar
    import rich.console
    import rich.live
    import rich.table
    import rich.text
except ModuleNotFoundError:
    rich = None

COLUMNS = 80            # of plain text
BAR = 24                # columns of a level's bar
MOST_COMPILER = 10_000  # characters of the compiler's output


def is_rich(options_plain=False):
    """Return whether rich draws: it is there, and standard output is a
    terminal that can show colours and the blocks of a bar."""
    return bool(rich) and not options_plain and sys.stdout.isatty() \
        and os.environ.get("TERM") != "dumb" \
        and sys.stdout.encoding.lower().startswith("utf")


def show(grade, plain=False):
    """Print a Grade, with rich where is_rich() says so."""
    if is_rich(plain):
        draw(grade, rich.console.Console(highlight=False))
    else:
        print(text(grade))


def words(test):
    """Return a test's name for a reader."""
    return test.name.replace("_", " ")


def faults(grade):
    """Return the Results of the tests that ran and failed."""
    return [r for r in grade.results if r.ran and not r.passed]


def summary(grade):
    """Return the last lines of a report."""
    lines = [f"{grade.points} of {grade.total} points"]
    left = sum(not r.ran for r in grade.results)
    if left:
        lines.append(f"{left} of {len(grade.results)} tests were not run.")
    if grade.first:
        lines.append("Start with: " + words(grade.first.test))
    return lines


def text(grade):
    """Return the report as plain text of at most 80 columns, if no word is longer than that."""
    lab, lines = grade.lab, []
    if grade.warnings.strip():
        lines += [clean(grade.warnings.strip(), MOST_COMPILER), ""]
    lines.append(f"{lab.folder.name}: {lab.title}")
    if not grade.compiled:
        return "\n".join([*lines, "", f"It does not compile: 0 of {grade.total} points"])
    for level in LEVELS:
        results = [r for r in grade.of(level) if r.ran]
        if not results:
            continue
        lines.append(f"\n{level}: {sum(r.points for r in results)} of "
                     f"{sum(r.test.points for r in results)} points")
        for r in results:
            lines.append(f"  {'ok' if r.passed else 'FAIL':4} {r.points:3d}/"
                         f"{r.test.points:<3d} {words(r.test)}")
            if not r.passed:
                lines += [textwrap.fill(
                    f"{name + ':':9} {clean(said)}", COLUMNS,
                    initial_indent=" " * 9, subsequent_indent=" " * 19,
                    break_long_words=False, break_on_hyphens=False) for name, said in explained(r)]
    return "\n".join([*lines, "", *summary(grade)])


def explained(r):
    """Return ((name, text), ...) of what a failed test has to say."""
    return (("seen", r.seen), ("expected", r.expected), ("hint", r.test.hint))


def draw(grade, console):
    """Print the report to a rich Console.

    What a submission has printed may stand in it: it is shown as it is, never
    read as rich's markup.
    """
    lab = grade.lab
    if grade.warnings.strip():
        console.print(clean(grade.warnings.strip(), MOST_COMPILER), markup=False, style="yellow")
        console.print()
    console.print(f"{lab.folder.name}: {lab.title}", markup=False, style="bold")
    if not grade.compiled:
        console.print(f"\nIt does not compile: 0 of {grade.total} points", style="red")
        return
    console.print()
    table = rich.table.Table.grid(padding=(0, 2))
    for level in LEVELS:
        results = [r for r in grade.of(level) if r.ran]
        if results:
            got, most = (sum(numbers) for numbers in zip(
                *((r.points, r.test.points) for r in results)))
            table.add_row(level, rich.bar.Bar(
                most, 0, got, width=BAR, color="green", bgcolor="grey37"),
                f"{got} of {most}", f"{sum(r.passed for r in results)} of "
                f"{len(results)} tests passed")
    console.print(table)
    for r in faults(grade):
        console.print()
        console.print(rich.text.Text.assemble(
            ("FAIL ", "bold red"), (words(r.test), "bold"), f"  0/{r.test.points}, {r.test.level}"))
        table = rich.table.Table.grid(padding=(0, 2))
        for name, said in explained(r):
            table.add_row(rich.text.Text("    " + name, style="dim"), rich.text.Text(
                clean(said), overflow="fold", style="cyan" if name == "hint" else ""))
        console.print(table)
    console.print()
    style = "green" if grade.points == grade.total else "yellow"
    first, *others = summary(grade)
    console.print(first, style=f"bold {style}")
    for line in others:
        console.print(line)


@contextlib.contextmanager
def progress(total, plain=False):
    """Yield a function that is called with the name of each test when it
    begins: on a terminal with rich, one line shows it. `total`: of tests."""
    if not is_rich(plain):
        yield lambda name: None
        return
    console = rich.console.Console(file=sys.stdout, highlight=False)
    begun = 0
    # No thread draws: the grader has to fork.
    with rich.live.Live("", console=console, auto_refresh=False,
                        transient=True, redirect_stdout=False, redirect_stderr=False) as live:
        def begin(name):
            nonlocal begun
            begun += 1
            live.update(rich.text.Text(
                f"test {begun} of {total}: {name.replace('_', ' ')}",
                no_wrap=True, overflow="ellipsis"), refresh=True)
        yield begin
