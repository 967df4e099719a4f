"""Writes a class of lab 03, to try grade-all with:

    build/venv/bin/python -m tests.labs.a_class FOLDER [200]
    make grade-all LAB=03 DIR=FOLDER

In turn a right server, the starter, each mutant, each hostile program, and four that do not
compile or have no main.c: as a class hands them in, and worse.
"""

import shutil
import sys
from pathlib import Path

from labs.grade import lab as labs
from labs.grade import starter

HOSTILE = sorted((Path(__file__).parent / "hostile").glob("*.c"))
BROKEN = {"empty": "", "text": "This is my server.\n", "no_semicolon": "int main(void) { return 0 }\n"}


def right(lab, folder):
    """Write the collection's server."""
    folder.mkdir()
    for path in lab.solution_files():
        shutil.copy(path, folder)


def text(words, folder):
    """Write a main.c."""
    folder.mkdir()
    (folder / "main.c").write_text(words, encoding="utf-8")


def mutant(lab, name, folder):
    """Write a mutant."""
    folder.mkdir()
    lab.make_mutant(name, folder)


def kinds(lab):
    """Return [(name, function that writes the folder)], half of them ordinary."""
    ordinary = [("right", lambda folder: right(lab, folder)),
                ("starter", lambda folder: starter.write(lab, folder))]
    odd = [(name, lambda folder, name=name: mutant(lab, name, folder)) for name in lab.mutants]
    odd += [(path.stem, lambda folder, path=path: text(path.read_text(encoding="utf-8"), folder))
            for path in HOSTILE]
    odd += [(name, lambda folder, words=words: text(words, folder))
            for name, words in BROKEN.items()]
    odd.append(("no_main", lambda folder: folder.mkdir()))
    return [one for n, kind in enumerate(odd) for one in (ordinary[n % 2], kind)]


def write(top, number):
    """Write so many submissions into a new folder; their names say what they are."""
    top.mkdir(parents=True)
    found = kinds(labs.find("03"))
    for n in range(number):
        name, make = found[n % len(found)]
        make(top / f"{n:03}_{name}")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200)
