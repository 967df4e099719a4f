"""Markers in Markdown: where they stand and what stands in them.

Blocks, each on lines of their own:

    <!-- code: FILE NAME [from "TEXT"] [to "TEXT"] -->  ...  <!-- /code -->
    <!-- table: KIND ARGUMENTS -->                      ...  <!-- /table -->
    <!-- picture: KIND ARGUMENTS -->                    ...  <!-- /picture -->

In a line, with a form as figures.show() takes it behind a bar:

    <!-- n: EXPRESSION [| FORM] -->1,234<!-- /n -->

Without content: the paragraph that follows is true if

    <!-- check: EXPRESSION -->

holds. Readers of the rendered page see none of this.
"""

import re
from dataclasses import dataclass

BLOCK = re.compile(r"^(<!-- (code|table|picture):\s(.*?)\s-->)\n"
                   r"(?:.*?\n)??"
                   r"<!-- /\2 -->$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"<!-- n: (.*?)(?: \| (\S+))? -->(.*?)<!-- /n -->",
                    re.DOTALL)
CHECK = re.compile(r"^<!-- check: (.*?) -->$", re.MULTILINE | re.DOTALL)
ANY = re.compile(r"<!-- *(/?)(\w+)\b")


class MarkerError(Exception):
    """A marker is not closed, not known, or stands where it may not."""


@dataclass(frozen=True)
class Check:
    """A condition and the line and paragraph whose truth hangs on it."""

    condition: str
    line: int
    paragraph: str


def replace_blocks(text, render):
    """Return `text` with the content of each block replaced.

    render(kind, arguments) returns the lines of the content.
    """
    def rendered(found):
        opening, kind, arguments = found.groups()
        return "\n".join([opening, *render(kind, " ".join(arguments.split())),
                          f"<!-- /{kind} -->"])
    return BLOCK.sub(rendered, text)


def replace_numbers(text, render):
    """Return `text` with each number replaced: render(expression, form)."""
    def rendered(found):
        expression, form, _ = found.groups()
        bar = f" | {form}" if form else ""
        value = render(" ".join(expression.split()), form or "")
        return f"<!-- n: {expression}{bar} -->{value}<!-- /n -->"
    return NUMBER.sub(rendered, text)


def checks(text):
    """Return the Checks in `text`."""
    found = []
    for match in CHECK.finditer(text):
        rest = text[match.end():].lstrip("\n")
        found.append(Check(" ".join(match.group(1).split()),
                           text.count("\n", 0, match.start()) + 1,
                           " ".join(rest.partition("\n\n")[0].split())))
    return found


def problems(text):
    """Return [(line, what is wrong)] of markers that do not work.

    A line that begins with a comment ends the paragraph before it, so a
    number's marker must stand within a line.
    """
    wrong = []
    left = CHECK.sub(lambda m: "\n" * m.group(0).count("\n"), text)
    left = BLOCK.sub(lambda m: "\n" * m.group(0).count("\n"), left)
    for found in NUMBER.finditer(left):
        if found.start() == 0 or left[found.start() - 1] == "\n":
            wrong.append((left.count("\n", 0, found.start()) + 1,
                          "a number's marker at the begin of a line"))
        if "\n" in found.group(0):
            wrong.append((left.count("\n", 0, found.start()) + 1,
                          "a number's marker that goes over a line's end"))
    left = NUMBER.sub("", left)
    for found in ANY.finditer(left):
        wrong.append((left.count("\n", 0, found.start()) + 1,
                      f"{found.group(0)} is not closed, or not known"))
    return sorted(wrong)


def without(text):
    """Return `text` without what is filled in, line numbers kept: what is
    left was written by hand."""
    def blank(found):
        return "\n" * found.group(0).count("\n")
    for pattern in (CHECK, BLOCK):
        text = pattern.sub(blank, text)
    return NUMBER.sub("\N{OBJECT REPLACEMENT CHARACTER}", text)
