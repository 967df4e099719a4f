#!/usr/bin/env python3
"""Fill the chapters: figures, tables, pictures and quoted code.

    docs/fill.py             fill all chapters (what `make docs` does)
    docs/fill.py --check     change nothing; exit 1 if anything would change
    docs/fill.py FILE...     these files only

What is measured comes from the run that is committed in docs/results/, what
was published from bench/experiments/, code from the sources themselves. The
markers are described in docs/filling/markers.py. Standard library only.
"""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))
from filling import (blocks, costs, excerpt, figures, markers,  # noqa: E402
                     reliability, run)

KINDS = {**blocks.KINDS, "table": {**blocks.KINDS["table"], **costs.KINDS,
                                   **reliability.KINDS}}


class Filler:
    """Renders the chapters."""

    def __init__(self, context):
        self.context = context

    def chapter(self, path, text):
        """Return (text, problems, untrue) of the chapter `path`.

        text: it with all markers filled; problems: sentences on markers that
        could not be; untrue: sentences that the figures contradict.
        """
        problems = [f"{path.name}:{line}: {what}"
                    for line, what in markers.problems(text)]

        def guard(render):
            def guarded(*arguments):
                try:
                    return render(*arguments)
                except (figures.FigureError, excerpt.ExcerptError,
                        markers.MarkerError) as error:
                    problems.append(f"{path.name}: {error}")
                    return ""
            return guarded

        text = markers.replace_blocks(text, guard(self.block))
        text = markers.replace_numbers(text, guard(self.number))
        untrue = []
        for check in markers.checks(text):
            holds = guard(lambda c: figures.evaluate(c, self.context.names))
            if holds(check.condition) is False:
                untrue.append(
                    f"{path.name}:{check.line}: {check.condition} does not "
                    f"hold, so this is not true: {check.paragraph[:300]}")
        return text, problems, untrue

    def block(self, kind, arguments):
        """Return the lines of a block."""
        if kind == "code":
            return self.code(arguments)
        name, *words = arguments.split()
        if name not in KINDS[kind]:
            raise markers.MarkerError(f"there is no {kind} called {name}")
        return ["", *KINDS[kind][name](self.context, *words), ""]

    def code(self, arguments):
        """Return quoted lines of a source, below a link to it."""
        found = re.fullmatch(r"(\S+) (.*?)(?: from (\".*?\"))?"
                             r"(?: to (\".*?\"))?", arguments)
        path, name, begin, end = found.groups()
        begin, end = (text and shlex.split(text)[0] for text in (begin, end))
        lines = excerpt.quote(self.context.top, path, name, begin, end)
        part = "from " if begin or end else ""
        return [f"<sub>{part}`{name}` in [{path}](../{path})</sub>", "",
                *lines]

    def number(self, expression, form):
        """Return a figure as text."""
        return figures.show(figures.evaluate(expression, self.context.names),
                            form)


def fill(paths, context):
    """Return ({path: content as it should be}, [what is wrong]).

    The paths are the chapters and the pictures that they show. A chapter with
    a marker that cannot be filled is left as it is.
    """
    filler, wanted, wrong = Filler(context), {}, []
    for path in paths:
        text, problems, untrue = filler.chapter(path, path.read_text())
        wanted[path] = path.read_text() if problems else text
        wrong += problems + untrue
    wanted.update({DOCS / name: content
                   for name, content in context.files.items()})
    return wanted, wrong


def outdated(wanted):
    """Return those of {path: content} that differ from what is on disk."""
    return {path: content for path, content in wanted.items()
            if not path.is_file() or path.read_text() != content}


def main():
    parser = argparse.ArgumentParser(
        description="Fill the chapters with figures, pictures and code.")
    parser.add_argument("--check", action="store_true",
                        help="change nothing, exit 1 if anything would change")
    parser.add_argument("files", nargs="*", type=Path,
                        help="chapters (default: all of docs/)")
    options = parser.parse_args()
    paths = [path.resolve() for path in options.files] or \
        sorted(DOCS.glob("*.md"))
    try:
        context = run.Context(DOCS)
    except run.RunError as error:
        sys.exit(f"fill.py: {error}")
    wanted, problems = fill(paths, context)
    changes = outdated(wanted)
    for path, content in sorted(changes.items()):
        name = os.path.relpath(path)
        if options.check:
            print(f"{name} is stale: run `make docs`")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
            print(f"filled {name}")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems or (options.check and changes):
        sys.exit(1)


if __name__ == "__main__":
    main()
