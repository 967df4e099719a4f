"""Writes what a student begins with: python3 -m labs.grade.starter LAB FOLDER

A file of starter/ that the table [starter] of lab.toml names holds only what differs from a file of
the collection: the comment at its head, #-lines, and the functions to write. Each of its functions,
with the comment above it, takes the place of the function of that name; its #-lines follow the
#include lines. All other text is the collection's, without the static functions that only the
solution called: those are kept that a comment of the starter names. A file that the table does not
name is copied. A handout has no such table: its starters are whole.
"""

import re
import sys
from pathlib import Path

from labs.grade.lab import LabError, find
from tools.kit import TOP

HEAD = re.compile(r"\A/\*.*?\*/\n", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
HASH = re.compile(r"^#.*\n", re.MULTILINE)
# A comment directly above, the heading, the body up to a brace in column 1.
FUNCTION = re.compile(r"""^(?:/\*(?:(?!\*/).)*\*/\n)?
                      (?P<heading>\w[^;{}=/\#]*?\b(?P<name>\w+)\([^;{}]*?\))(?:\ /\*[^\n]*\*/)?\n
                      \{\n.*?^\}\n""", re.MULTILINE | re.DOTALL | re.VERBOSE)


def write(lab, folder):
    """Write the starter of a Lab into `folder`, which must not exist: it may
    be a student's work. Raises LabError."""
    folder = Path(folder)
    if folder.exists():
        raise LabError(f"{folder} exists; delete it to begin again")
    texts = {path.name: path.read_text(encoding="utf-8") for path in lab.starter.glob("*")}
    texts |= {name: whole(lab, name) for name in lab.origins}
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def whole(lab, name):
    """Return the text of one file of a starter. Raises LabError."""
    if name not in lab.origins:
        return (lab.starter / name).read_text(encoding="utf-8")
    origin = TOP / lab.origins[name]
    if origin.is_dir():             # labs/06_poll: the same file of that lab
        return whole(find(origin.name), name)
    try:
        return insert((lab.starter / name).read_text(encoding="utf-8"),
                      origin.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{lab.folder.name}/lab.toml: {error}") from error
    except ValueError as error:
        file = (lab.starter / name).relative_to(TOP)
        raise LabError(f"{file} no longer fits {lab.origins[name]}: {error}") from error


def insert(changes, text):
    """Return the C source `text` with a starter's changes in it.

    Raises ValueError when a function is not there, or begins otherwise, and
    when `changes` has text that would be lost.
    """
    text = HEAD.sub(lambda _: HEAD.match(changes)[0], text, count=1)
    rest = HEAD.sub("", FUNCTION.sub("", changes))
    if lost := HASH.sub("", rest).strip():
        raise ValueError(f"no function has the text {lost.splitlines()[0]!r}")
    for new in FUNCTION.finditer(changes):
        old = next((one for one in FUNCTION.finditer(text) if one["name"] == new["name"]), None)
        if old is None:
            raise ValueError(f"{new['name']}() is not there; rename or delete it")
        if old["heading"].split() != new["heading"].split():
            raise ValueError(f"{new['name']}() begins there with: "
                             + " ".join(old["heading"].split()))
        text = text[:old.start()] + new[0] + text[old.end():]
    text = without_unused(text, changes)
    end = [line.end() for line in HASH.finditer(text) if line[0].startswith("#include")][-1]
    added = "".join(line for line in HASH.findall(rest) if line not in text)
    # The compiler finds common/ by -I: a submission lies anywhere.
    return (text[:end] + added + text[end:]).replace('#include "../common/', '#include "')


def without_unused(text, named):
    """Return C source without the static functions that nothing calls and the
    text `named` does not have."""
    for one in FUNCTION.finditer(text):
        prototype = re.compile(rf"^static [^;{{}}=/]*\b{one['name']}\([^;{{}}]*\);\n", re.MULTILINE)
        rest = prototype.sub("", text[:one.start()] + text[one.end():])
        word = re.compile(rf"\b{one['name']}\b")
        if one["heading"].startswith("static ") and not word.search(named) \
                and not word.search(COMMENT.sub("", rest)):
            return without_unused(re.sub(r"\n{3,}", "\n\n", rest), named)
    return text


def main(words):
    """Write one starter; return the exit status."""
    try:
        lab = find(words[0] if words else "")
        if len(words) != 2:
            raise LabError(f"where to? make starter LAB={lab.number} SUBMISSION=my{lab.number} "
                           f"writes a new folder my{lab.number}")
        write(lab, words[1])
    except LabError as error:
        print(f"labs.grade.starter: {error}", file=sys.stderr)
        return 2
    print(f"{words[1]}/: {' '.join(sorted(p.name for p in Path(words[1]).glob('*')))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
