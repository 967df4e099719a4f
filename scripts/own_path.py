"""The PATH that a suite of `make check` sees: without the programs of scripts/packages.txt
that its group does not name. So a suite that runs one of them fails on every machine, not
only where it is not installed.
"""

import os
import re
import shutil
from pathlib import Path

TABLE = Path(__file__).resolve().with_name("packages.txt")
# What make and check.py themselves need, and git, which names the commit of what runs.
ALL_USE = ("build", "python", "git", "patch")
MORE = {"fleet": "fleet-hosts"}     # what a suite also uses where root has installed it


def read_table():
    """Return ({thing: its programs}, {group: its members}) of packages.txt."""
    things, _, groups = TABLE.read_text("utf-8").partition("# The second part")
    return ({thing: set(names.split(",")) for thing, names in
             re.findall(r"^(\S+) +command:(\S+) ", things, re.M)},
            {name: [member.lstrip("?@") for member in members.split()] for name, members in
             re.findall(r"^([\w-]+) +=\s+(.+)$", groups, re.M)})


def things_of(names, groups):
    """Return the things that groups need, optional ones too; a thing stands for itself."""
    found = set()
    for name in names:
        found |= things_of(groups[name], groups) if name in groups else {name}
    return found


def places_without(names, folder, path):
    """Return the folders of a PATH, each once. In place of one that has a program of
    `names` stands a folder with links to its others, below `folder`."""
    places = []
    for number, place in enumerate(dict.fromkeys(map(os.path.realpath, path.split(os.pathsep)))):
        programs = set(os.listdir(place)) if os.path.isdir(place) else set()
        if programs & names:
            copy = Path(folder, "others", str(number))
            copy.mkdir(parents=True)
            for name in programs - names:
                (copy / name).symlink_to(Path(place, name))
            place = str(copy)
        places.append(place)
    return places


def lay(folder, suites, path):
    """Return {suite: settings of its environment}: its PATH, which is `path` without what the
    suite must not see. The folders that it consists of are laid out below `folder`."""
    os.chmod(folder, 0o755)     # some tests become another user
    programs, groups = read_table()
    others = places_without(set().union(*programs.values()), folder, path)
    found = {}
    for suite in suites:
        first = Path(folder, suite)
        first.mkdir()
        for thing in things_of([suite, MORE.get(suite), *ALL_USE], groups) & programs.keys():
            for name in programs[thing]:
                if program := shutil.which(name, path=path):
                    # No link: valgrind looks for its parts next to the name that it is called by.
                    (first / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n', "utf-8")
                    (first / name).chmod(0o755)
        found[suite] = ["PATH=" + os.pathsep.join([str(first), *others]), "OWN_PATH=1"]
    return found
