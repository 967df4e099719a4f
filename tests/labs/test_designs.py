"""Right designs, however unusual, keep all points; a wrong one loses those of
the broken property only. designs.toml is the table.

A sample; with FULL=1, all.
"""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from labs.grade import lab as labs
from tests.labs.grading import FULL, Graded

DESIGNS = tomllib.loads((Path(__file__).parent / "designs.toml") .read_text(encoding="utf-8"))
INCLUDES = "".join(f"#include <{name}.h>\n" for name in (
    "errno", "fcntl", "poll", "pthread", "signal", "stdbool", "stdio", "stdlib",
    "string", "sys/prctl", "sys/signalfd", "sys/socket", "sys/syscall",
    "sys/wait", "time", "unistd"))
SAMPLE = ["02_waiter_thread", "06_ppoll"]      # the labs that test_labs.py leaves out


def write(name, folder):
    """Write the files of a design into `folder`; return its lab."""
    lab = labs.find(name[:2])
    for path in lab.solution_files():
        shutil.copy(path, folder)
    for file, edits in DESIGNS[name].items():
        if file != "fails":
            text = (folder / file).read_text()
            for old, new in edits:
                text = replace_once(text, old, new)
            (folder / file).write_text(INCLUDES + text)
    return lab


def replace_once(text, old, new):
    """Replace a text that is there once, with any white space between words."""
    pattern = r"\s+".join(map(re.escape, old.split()))
    changed, count = re.subn(pattern, lambda _: new, text)
    assert count == 1, f"{count} times in the file: {old}"
    return changed


def test_every_design_applies(tmp_path):
    for name in DESIGNS:
        (tmp_path / name).mkdir()
        lab = write(name, tmp_path / name)
        assert set(DESIGNS[name]["fails"]) <= {test.name for test in lab.tests}, name


def test_the_page_about_the_tests_names_them_all():
    """... and the designs and mutants that it names exist."""
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", (labs.LABS / "JUDGEMENT.md")
                           .read_text(encoding="utf-8"), re.MULTILINE))
    fails = {}
    for folder in labs.all_folders():
        for test in labs.read(folder).tests:
            fails.setdefault(test.name, set())
        for mutant, names in labs.read(folder).mutants.items():
            for name in names:
                fails[name].add(mutant)
    for design, what in DESIGNS.items():
        for name in what["fails"]:
            fails[name].add(design)
    assert set(rows) - {"test"} == set(fails), "a test has a row in labs/JUDGEMENT.md"
    for test, row in rows.items():
        if test != "test":
            right, finds, _ = row.split(" | ")
            assert all(DESIGNS[name]["fails"] == [] for name in re.findall(r"`(\w+)`", right)), test
            assert set(re.findall(r"`(\w+)`", finds)) <= fails[test], test


@pytest.mark.parametrize("name", DESIGNS if FULL else SAMPLE)
def test_design(name, tmp_path, source):
    lab = write(name, source)
    graded = Graded(lab.number, source, tmp_path)
    assert graded.result["compiled"], graded.output
    assert graded.failed == DESIGNS[name]["fails"], graded.output
