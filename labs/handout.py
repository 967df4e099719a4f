"""Writes build/handout/ and a tarball: the labs for a class, without solutions.

    python3 -m labs.handout 01 03       these labs; without a number, all
    BREAK="whole_seconds" ...           with these servers to repair

A server to repair is that of a lab, whole, with one fault: give it out when
the lab is over.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from labs.grade.lab import TOP, LabError, all_folders, find

FOLDER = TOP / "build" / "handout"
PLAIN = ("public", "templates", "LICENSE", "scripts/deps.sh",
         "scripts/packages.txt", "scripts/minimum.txt",
         "scripts/with_redis.sh", "bench/venv.py", "labs/requirements.txt",
         "bench/__init__.py", "bench/run/__init__.py", "bench/run/process.py",
         "bench/run/redis.py", "bench/run/netns.py", "labs/__init__.py",
         "labs/README.md")
# What students write themselves in one lab, and the labs that link it.
PARTS = {"event_loop.c": (), "worker_processes.c": ("07",),
         "worker_processes.h": ("07",)}
QUOTED = re.compile(r"^<!-- code: .*?^<!-- /code -->\n?", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(c|diff)\n.*?^```\n", re.MULTILINE | re.DOTALL)
MUTANTS = re.compile(r"^\[mutants\].*?(?=^\[|\Z)", re.MULTILINE | re.DOTALL)

MAKEFILE = """\
# Makefile of the labs.
#
#     make                                the objects of common/
#     make grade LAB=03                   grades labs/03_.../starter
#     make grade LAB=03 SUBMISSION=DIR    grades DIR/main.c
#     make lab LAB=03 SUBMISSION=DIR      builds it in build/labs/, to run it by hand
#     make break NAME=...                 a server to repair, if there is one
#     make break-check NAME=...           runs its test
#     make deps                           says which packages are missing

PYTHON = build/venv/bin/python
VENV = build/venv/requirements.txt
OBJ = build/default
LIB = $(OBJ)/libzerohttpd.a
CFLAGS = -O2 -g -std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -pthread \\
         $(shell pkg-config --cflags hiredis)
SUBMISSION ?= $(wildcard labs/$(LAB)_*/starter)

all: $(LIB)

$(LIB): $(patsubst %.c,$(OBJ)/%.o,$(wildcard common/*.c))
\t@rm -f $@
\tar rcs $@ $^

$(OBJ)/%.o: %.c $(wildcard common/*.h)
\t@mkdir -p $(@D)
\t$(CC) $(CFLAGS) -c -o $@ $<

$(VENV): labs/requirements.txt
\t@/usr/bin/python3 -m bench.venv

grade: $(LIB) $(VENV)
\t@$(PYTHON) -m labs.grade '$(LAB)' '$(SUBMISSION)' $(ARGS)

lab: $(LIB) $(VENV)
\t@$(PYTHON) -m labs.grade.build '$(LAB)' '$(SUBMISSION)'

break: $(VENV)
	@$(PYTHON) -m labs.break $(if $(NAME),build '$(NAME)',list)

break-check: $(LIB) $(VENV)
	@$(PYTHON) -m labs.break check '$(NAME)'

deps:
\tNO_INSTALL=1 scripts/deps.sh grade

clean:
\trm -rf build

.PHONY: all grade lab break break-check deps clean
.DELETE_ON_ERROR:
"""


def without_solution(text):
    """Return a page without the C that it quotes."""
    return BLOCK.sub("*(here stands code that you write in a lab)*\n",
                     QUOTED.sub("*(here stands code that you write in a "
                                "lab)*\n", text))


def copy(name):
    """Copy a file or folder of the project to the same place."""
    target = FOLDER / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if (TOP / name).is_dir():
        shutil.copytree(TOP / name, target)
    else:
        shutil.copy(TOP / name, target)


def copy_break(names):
    """Copy break-it labs by name, with the faulty sources and without patch
    and solution. Raises LabError when one does not exist."""
    home = "labs/break"
    for name in ("README.md", "__main__.py", "conftest.py"):
        copy(f"{home}/{name}")
    for name in names:
        if not (TOP / home / name / "README.md").is_file():
            raise LabError(f"there is no lab {home}/{name}")
        for file in ("README.md", "test_regression.py"):
            copy(f"{home}/{name}/{file}")
        subprocess.run([sys.executable, "-m", "labs.break", "source", name,
                        FOLDER / home / name / "source"], cwd=TOP, check=True)


def write(labs, faulty=()):
    """Write the folder for some Labs and the break-it labs named `faulty`;
    return the path of the tarball. Raises LabError."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    numbers = {lab.number for lab in labs}
    for name in PLAIN:
        copy(name)
    for path in (TOP / "labs" / "grade").glob("*.py"):
        copy(path.relative_to(TOP))
    for path in (TOP / "common").glob("*.[ch]"):
        needed = PARTS.get(path.name)
        if needed is None or numbers.intersection(needed):
            copy(path.relative_to(TOP))
    for lab in labs:
        copy((lab.folder / "starter").relative_to(TOP))
        into = FOLDER / lab.folder.relative_to(TOP)
        for name in ("README.md", "exercises.md", "lab.toml"):
            if (lab.folder / name).exists():
                text = (lab.folder / name).read_text(encoding="utf-8")
                (into / name).write_text(MUTANTS.sub("", text)
                                         if name == "lab.toml" else text,
                                         encoding="utf-8")
        chapter = TOP / lab.chapter
        if chapter.is_file():
            (FOLDER / lab.chapter).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / lab.chapter).write_text(
                without_solution(chapter.read_text(encoding="utf-8")),
                encoding="utf-8")
    if faulty:
        copy_break(faulty)
    (FOLDER / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    for unwanted in FOLDER.rglob("__pycache__"):
        shutil.rmtree(unwanted)
    tarball = FOLDER.with_suffix(".tar.gz")
    with tarfile.open(tarball, "w:gz") as tar:
        tar.add(FOLDER, "labs")
    return tarball


def main(words):
    """Return the exit status: 2 for a lab that does not exist."""
    try:
        labs = [find(word) for word in words or
                [folder.name for folder in all_folders()]]
        tarball = write(labs, os.environ.get("BREAK", "").split())
    except LabError as error:
        print(f"handout: {error}", file=sys.stderr)
        return 2
    print(f"{FOLDER.relative_to(TOP)}/ and {tarball.relative_to(TOP)}: "
          f"{', '.join(lab.folder.name for lab in labs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
