"""Quote a definition from a C source by its name.

The sources hold to one layout (`make format`): what is defined at file level
begins at the left margin, and its closing brace, too, stands there alone. That
is all this module needs to know of C.
"""

import re


class ExcerptError(Exception):
    """The source has no such definition, or no such line in it."""


def definition(text, name):
    """Return the lines of the definition of `name` in the C source `text`,
    with the comment that stands directly above it.

    `name` is a function, `struct NAME`, `enum NAME`, an enumerator of an
    unnamed enum, or a variable. Raises ExcerptError.
    """
    lines = text.splitlines()
    found = [(first, last) for first in _candidates(lines, name)
             if (last := _end(lines, first)) is not None]
    # A prototype may stand before the definition, which has a body.
    found.sort(key=lambda span: "}" not in lines[span[1]])
    if not found:
        raise ExcerptError(f"there is no definition of {name}")
    first, last = found[0]
    return lines[_comment_above(lines, first):last + 1]


def _candidates(lines, name):
    """Yield the numbers of lines at which a definition of `name` may begin."""
    if name.startswith(("struct ", "enum ", "union ")):
        opening = re.compile(rf"{re.escape(name)} \{{")
    else:
        word = re.escape(name)
        opening = re.compile(
            rf"(?:#define {word}\b)|(?:[a-z_].*\b{word}\s*(?:\(|\[|=|;))")
    for number, line in enumerate(lines):
        if opening.match(line):
            # The type may stand on a line of its own.
            yield number
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
        # An enumerator: the enum that names it.
        for number, line in enumerate(lines):
            if line.startswith("enum {"):
                last = _end(lines, number)
                body = "\n".join(lines[number:(last or number) + 1])
                if re.search(rf"\b{name}\b", body):
                    yield number


def _end(lines, first):
    """Return the number of the last line of what begins at `first`."""
    if lines[first].startswith("#define"):
        last = first
        while lines[last].endswith("\\"):
            last += 1
        return last
    depth = 0
    for number in range(first, len(lines)):
        code = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", "",
                      lines[number])
        depth += code.count("{") - code.count("}")
        if depth == 0 and re.search(r"[;}]\s*(?:/\*.*)?$", code):
            return number
        if number > first and depth == 0 and not lines[number]:
            return None         # a blank line: it was no definition
    return None


def _comment_above(lines, first):
    """Return where the comment begins that ends just above line `first`."""
    if first == 0 or not lines[first - 1].endswith("*/"):
        return first
    number = first - 1
    while number > 0 and not lines[number].startswith("/*"):
        number -= 1
    return number


def between(lines, begin=None, end=None):
    """Return those of `lines` from the one that holds `begin` to the next one
    that holds `end`, both included, moved to the left margin.

    Raises ExcerptError when a text is not there, or `begin` more than once.
    """
    first, last = 0, len(lines) - 1
    if begin is not None:
        found = [n for n, line in enumerate(lines) if begin in line]
        if len(found) != 1:
            raise ExcerptError(f"{begin!r} stands in {len(found)} lines")
        first = found[0]
    if end is not None:
        found = [n for n, line in enumerate(lines)
                 if end in line and n >= first]
        if not found:
            raise ExcerptError(f"no line from there on holds {end!r}")
        last = found[0]
    chosen = lines[first:last + 1]
    margin = min((len(line) - len(line.lstrip()) for line in chosen if line),
                 default=0)
    return [line[margin:] for line in chosen]


def quote(top, path, name, begin=None, end=None):
    """Return the lines of the excerpt.

    `top` is the repository, `path` the source in it. Raises ExcerptError.
    """
    source = top / path
    if not source.is_file():
        raise ExcerptError(f"there is no file {path}")
    try:
        return between(definition(source.read_text(), name), begin, end)
    except ExcerptError as error:
        raise ExcerptError(f"{path}: {error}") from None
