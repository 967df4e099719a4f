"""Writes build/handout/ and a tarball: the labs for a class, without solutions; and
build/instructor/ for Gradescope and Autolab (labs/lms).

    python3 -m labs.handout 00 01       these labs; without a number, all
    BREAK="whole_seconds" ...           with these servers to repair
    GIVE="event_loop.c event_loop_accept.c" ...
                                        with these modules, though a lab asks
                                        for them
    COLLECTION=URL ...                  says where the whole collection is

What students write in one lab is part of what another one needs: 07 links the
workers of 03. A server to repair is that of a lab, whole, with one fault. So a
class gets several handouts, one after the other: one that would hold what a lab
of its own asks for is refused.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from labs import lms
from labs.grade import starter
from labs.grade.lab import LabError, all_folders, find, read
from tools.kit import TOP

FOLDER = TOP / "build" / "handout"
INSTRUCTOR = "instructor"        # next to it
PLAIN = ("public", "templates", "LICENSE", "scripts/deps.sh", "scripts/unpack.sh",
         "scripts/install.sh", "scripts/packages.txt", "scripts/minimum.txt",
         "scripts/with_redis.sh", "labs/requirements.txt", "tools/__init__.py",
         *(f"tools/kit/{name}.py" for name in
           ("__init__", "client", "netns", "process", "procfs", "progress", "redis",
            "scratch", "sockets", "strace", "unpacked", "venv", "wait")),
         "tools/report/assets/report.css", "labs/__init__.py", "labs/README.md",
         "labs/lms/autolab.sh")
# What students write themselves in one lab, and the labs that link it.
PARTS = {"event_loop.c": (), "event_loop_accept.c": (),
         "worker_processes.c": ("07",), "worker_processes.h": ("07",)}
# The servers that link them: a server to repair comes with the sources that it needs.
LINKED = {"event_loop.c": ("06", "07"), "event_loop_accept.c": ("06", "07"),
          "worker_processes.c": ("03", "07")}
FIRST = "00_first_hour"          # the lab without a program to grade
# What pages say to the book: :::{quote} main.c serve_clients ... ::: and
# {term}`accept queue`. A claim is text about figures.
BLOCK = re.compile(r"^:::\{([\w-]+)\} *(.*)\n((?:.*\n)*?):::\n", re.MULTILINE)
OPTION = re.compile(r"^:\w+:.*\n", re.MULTILINE)
ROLE = re.compile(r"\{(\w+)\}`([^`<]*)(<[^`]*)?`")
# What lab.toml says of files that a handout does not have.
OURS = re.compile(r"^(?:product = .*?$\n|(?:#.*\n)?\[(?:mutants|starter)\].*?(?=^\[|^#|\Z))",
                  re.MULTILINE | re.DOTALL)

START = """\
# Labs: one web server, seven ways to wait

Read [labs/README.md](labs/README.md) first. It says how to work, and how points are given.

    make deps                               # which packages are missing
    make starter LAB={number} SUBMISSION=my{number}
    make grade LAB={number} SUBMISSION=my{number}

{first}The tools that watch and measure the servers are in the whole collection:
{collection}
"""

MAKEFILE = """\
# Makefile of the labs.
#
#     make                                the objects of common/
#     make starter LAB=03 SUBMISSION=DIR  copies labs/03_.../starter to DIR, a new folder
#     make grade LAB=03                   grades labs/03_.../starter
#     make grade LAB=03 SUBMISSION=DIR    grades DIR/main.c
#     make grade-all LAB=03 DIR=FOLDER    grades a class: each folder of FOLDER
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
SUBMITTED = $(if $(SUBMISSION),'$(SUBMISSION)')

all: $(LIB)

$(LIB): $(patsubst %.c,$(OBJ)/%.o,$(wildcard common/*.c common/pages/*.c))
\t@rm -f $@
\tar rcs $@ $^

$(OBJ)/%.o: %.c $(wildcard common/*.h common/pages/*.h)
\t@mkdir -p $(@D)
\t$(CC) $(CFLAGS) -c -o $@ $<

$(VENV): labs/requirements.txt
\t@/usr/bin/python3 -m tools.kit.venv

starter:
	@/usr/bin/python3 -m labs.grade.starter '$(LAB)' $(SUBMITTED)

grade: $(LIB) $(VENV)
\t@$(PYTHON) -m labs.grade '$(LAB)' $(SUBMITTED) $(ARGS)

grade-all: $(LIB) $(VENV)
\t@$(PYTHON) -m labs.grade.batch

lab: $(LIB) $(VENV)
\t@$(PYTHON) -m labs.grade.build '$(LAB)' $(SUBMITTED)

break: $(VENV)
	@$(PYTHON) -m labs.break $(if $(NAME),build '$(NAME)',list)

break-check: $(LIB) $(VENV)
	@$(PYTHON) -m labs.break check '$(NAME)'

deps:
\tNO_INSTALL=1 scripts/deps.sh grade

clean:
\trm -rf build

# These run or measure the finished servers, which are not here.
ELSEWHERE = timeline demo-stuck predict model simulator compare study \\
            $(filter run-% watch-%,$(MAKECMDGOALS))
$(ELSEWHERE):
\t@echo "make $@ needs the whole collection; README.md says where it is" >&2
\t@exit 1

.PHONY: all starter grade grade-all lab break break-check deps clean $(ELSEWHERE)
.DELETE_ON_ERROR:
"""


def as_text(page, chapter):
    """Return a chapter as it can be read without the book: with the smallest
    program, without the code that students write, and without figures."""
    def block(match):
        kind, words, body = match[1], match[2], OPTION.sub("", match[3])
        if kind == "literalinclude":
            code = (TOP / chapter).parent / words.strip()
            return f"```c\n{code.read_text(encoding='utf-8')}```\n"
        if kind == "quote":
            return f"*(Here the book quotes {words.strip()}: you write it.)*\n"
        if kind == "include":
            name = words.strip().removeprefix("../../")
            return f"See [{name}]({words.strip()}).\n"
        if kind == "claim":
            return body
        return f"*(Here the book shows the {kind}.)*\n"

    def role(match):
        return match[2].strip() if match[1] == "term" else "(figure)"

    return ROLE.sub(role, BLOCK.sub(block, page))


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
    and solution."""
    home = "labs/break"
    for name in ("README.md", "__main__.py", "conftest.py"):
        copy(f"{home}/{name}")
    for name in names:
        for file in ("README.md", "test_regression.py"):
            copy(f"{home}/{name}/{file}")
        subprocess.run([sys.executable, "-m", "labs.break", "source", name,
                        FOLDER / home / name / "source"], cwd=TOP, check=True)
        for part, servers in LINKED.items():
            if server_of(name) not in servers:
                (FOLDER / home / name / "source" / "common" / part).unlink()


def copy_chapter(lab):
    """Copy the chapter of a Lab as text, and its smallest program."""
    chapter = TOP / lab.chapter
    if not chapter.is_file():
        return
    (FOLDER / lab.chapter).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / lab.chapter).write_text(as_text(
        chapter.read_text(encoding="utf-8"), lab.chapter), encoding="utf-8")
    smallest = Path(lab.chapter).parent / "smallest"
    for name in (Path(lab.chapter).with_suffix(".c").name, "smallest.h"):
        if (TOP / smallest / name).exists():
            copy(smallest / name)


def copy_first_hour():
    """Copy lab 00: pages, since all its programs are those of the
    collection."""
    copy(f"labs/{FIRST}")
    copy("docs/tutorial/first_hour.md")


def write_top(labs, first_hour, collection):
    """Write the page with which a class begins, and its Makefile; see write()."""
    (FOLDER / "README.md").write_text(START.format(
        lab=labs[0].folder.name, number=labs[0].number,
        first=f"Your class begins with [lab 00](labs/{FIRST}/README.md).\n" if first_hour else "",
        collection=f"<{collection}>" if collection else "ask your instructor for its address."),
        encoding="utf-8")
    (FOLDER / "Makefile").write_text(MAKEFILE, encoding="utf-8")


def check(labs, faulty, given):
    """Raise LabError unless these can be a handout; see write()."""
    if not labs:
        raise LabError(f"{FIRST} needs the whole collection, not a handout; "
                       "name the labs that follow, too: LABS=\"00 01\"")
    if unknown := set(given) - set(PARTS):
        raise LabError(f"GIVE={' '.join(unknown)} is no module that a lab asks "
                       f"for; there are: {' '.join(PARTS)}")
    breaks = sorted(path.parent.name for path in (TOP / "labs" / "break").glob("*/README.md"))
    if unknown := set(faulty) - set(breaks):
        raise LabError(f"BREAK={' '.join(unknown)} is no server to repair; there are: "
                       + " ".join(breaks))
    check_homework(labs, faulty, given)


def check_homework(labs, faulty, given):
    """Raise LabError if a handout would hold what one of its labs asks for."""
    for name in faulty:
        check_apart(labs, server_of(name), f"BREAK={name} has the main.c")
    # accept.c is no part: every handout has it, and step 7 of lab 01 reads it.
    for name, owner in owners().items():
        if name in given:
            check_apart(labs, owner, f"GIVE={name} is the file")
        for fault in faulty:
            if server_of(fault) in LINKED.get(name, ()):
                check_apart(labs, owner, f"BREAK={fault} has common/{name}, the file")
        for user in set(PARTS.get(name, ())) & {lab.number for lab in labs}:
            check_apart(labs, owner, f"lab {user} needs common/{name}, the file", user)


def owners():
    """Return {name: number}: the first lab that asks for each file of common/."""
    found = {}
    for lab in map(read, all_folders()):
        for name in lab.product:
            found.setdefault(Path(name).name, lab.number)
    return found


def server_of(name):
    """Return the number of the server of a break-it lab."""
    page = (TOP / "labs" / "break" / name / "README.md").read_text(encoding="utf-8")
    return re.search(r"^- Server: `?(\d\d)", page, re.MULTILINE)[1]


def check_apart(labs, owner, what, user=""):
    """Raise LabError if lab number `owner` is in the same handout. `what` says
    which file of it would be, and `user` which other lab brings the file."""
    numbers = [lab.number for lab in labs]
    if owner not in numbers:
        return
    first = " ".join(number for number in numbers if number != user) if user else owner
    then = f'LABS="{user}"' if user else f"one without lab {owner}"
    raise LabError(f"{what} that students write in lab {owner}. Make two handouts: "
                   f'LABS="{first}"{"" if user else " without it"}, and {then} '
                   f"when lab {owner} is due")


def write_lab(lab):
    """Write one lab: its pages, its starter and the chapter that it belongs to."""
    into = FOLDER / lab.folder.relative_to(TOP)
    starter.write(lab, into / "starter")
    for name in ("README.md", "exercises.md", "lab.toml"):
        if (lab.folder / name).exists():
            text = (lab.folder / name).read_text(encoding="utf-8")
            if name == "lab.toml":
                text = OURS.sub("", text)
            (into / name).write_text(text, encoding="utf-8")
    copy_chapter(lab)


def write(labs, faulty=(), given=(), first_hour=False, collection=""):
    """Write the folder for some Labs; return the path of the tarball.

    faulty      names of break-it labs        given  modules that students get
    first_hour  whether lab 00 is part of it  collection  its address
    Raises LabError.
    """
    check(labs, faulty, given)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    numbers = {lab.number for lab in labs}
    for name in PLAIN:
        copy(name)
    for path in (TOP / "labs" / "grade").glob("*.py"):
        copy(path.relative_to(TOP))
    for path in (TOP / "common").rglob("*.[ch]"):
        needed = PARTS.get(path.name)
        if needed is None or path.name in given or numbers.intersection(needed):
            copy(path.relative_to(TOP))
    for lab in labs:
        write_lab(lab)
    if first_hour:
        copy_first_hour()
    if faulty:
        copy_break(faulty)
    write_top(labs, first_hour, collection)
    for unwanted in FOLDER.rglob("__pycache__"):
        shutil.rmtree(unwanted)
    tarball = FOLDER.with_suffix(".tar.gz")
    with tarfile.open(tarball, "w:gz") as tar:
        tar.add(FOLDER, lms.INSIDE)
    lms.write(labs, FOLDER, FOLDER.with_name(INSTRUCTOR))
    return tarball


def main(words):
    """Return the exit status: 2 for a lab that does not exist."""
    first_hour = [word for word in words if word in ("0", "00", FIRST)]
    try:
        labs = [find(word) for word in words if word not in first_hour] \
            if words else [find(folder.name) for folder in all_folders()]
        tarball = write(labs, os.environ.get("BREAK", "").split(),
                        os.environ.get("GIVE", "").split(), bool(first_hour) or not words,
                        os.environ.get("COLLECTION", ""))
    except LabError as error:
        print(f"handout: {error}", file=sys.stderr)
        return 2
    names = [FIRST] if first_hour or not words else []
    names += [lab.folder.name for lab in labs]
    print(f"{FOLDER.relative_to(TOP)}/ and {tarball.relative_to(TOP)}: {', '.join(names)}\n"
          f"{FOLDER.with_name(INSTRUCTOR).relative_to(TOP)}/: the same for Gradescope and Autolab")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
