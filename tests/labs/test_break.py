"""Every break-it lab: its test fails on the faulty server, and only there.

A sample; with FULL=1, all.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BREAK = TOP / "labs" / "break"
NAMES = sorted(path.parent.name for path in BREAK.glob("*/README.md"))
FULL = os.environ.get("FULL", "") not in ("", "0")
SAMPLE = ("answers_stop", "gone_overnight", "fewer_every_day")
SECONDS = 240           # for a build on a busy machine


def run(*words):
    """Run python3 -m labs.break; return the CompletedProcess, with text."""
    return subprocess.run([sys.executable, "-m", "labs.break", *map(str, words)],
                          cwd=TOP, text=True, capture_output=True, check=False,
                          timeout=SECONDS)


def server_of(name):
    """Return the name of a lab's executable."""
    page = (BREAK / name / "README.md").read_text()
    return re.search(r"^- Server: \d\d_(\w+)$", page, re.MULTILINE)[1]


@pytest.mark.parametrize("name", NAMES)
def test_every_fault_applies(name):
    """Also those that are not in the sample: a changed comment is enough to break one."""
    done = subprocess.run(["patch", "-p1", "--fuzz=0", "--dry-run", "-i",
                           BREAK / name / "fault.patch"], cwd=TOP, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", NAMES if FULL else SAMPLE)
def test_fault_is_seen(name, tmp_path):
    """The patch applies, the faulty server builds, and the test sees it."""
    folder = tmp_path / name
    built = run("build", name, folder)
    assert built.returncode == 0, built.stderr
    assert (folder / server_of(name)).exists()
    checked = run("check", name, folder)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "1 failed" in checked.stdout and "observe.Seen" in checked.stdout


@pytest.mark.parametrize("name", NAMES if FULL else SAMPLE)
def test_plain_server_passes(name):
    checked = run("check", name, "--program", TOP / server_of(name))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_repair_is_seen(tmp_path):
    """A student's folder is built again before it is tested."""
    folder = tmp_path / "mine"
    assert run("build", "gone_overnight", folder).returncode == 0
    (folder / "common" / "signals.c").write_text(
        (TOP / "common" / "signals.c").read_text())
    checked = run("check", "gone_overnight", folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_work_is_not_overwritten(tmp_path):
    done = run("build", "gone_overnight", tmp_path)
    assert done.returncode == 2 and "exists" in done.stderr


def test_source_that_does_not_build(tmp_path):
    folder = tmp_path / "mine"
    assert run("build", "gone_overnight", folder).returncode == 0
    (folder / "common" / "signals.c").write_text("no C")
    checked = run("check", "gone_overnight", folder)
    assert checked.returncode == 2 and "signals.c" in checked.stderr


@pytest.mark.parametrize("name", NAMES)
def test_lab_is_complete(name):
    """Its files are there, and its page does not name the solution's cause."""
    home = BREAK / name
    assert (home / "fault.patch").exists()
    assert (home / "test_regression.py").exists()
    fault = re.match(r"# ([\w-]+): ", (
        BREAK / "solutions" / f"{name}.md").read_text())[1]
    page = (home / "README.md").read_text().lower()
    for word in {fault, fault.replace("-", " ")}:
        assert word not in page
    for heading in ("## report", "## observe", "## hand in"):
        assert heading in page


def test_fault_names_are_known():
    """An instructor may use the name of the fault: backlog."""
    done = run("check", "backlog", "--program", TOP / "iterative")
    assert done.returncode == 0, done.stdout + done.stderr


def test_source_holds_no_patch(tmp_path):
    folder = tmp_path / "source"
    assert run("source", "gone_overnight", folder).returncode == 0
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert {"main.c", "Makefile", "signals.c"} <= names
    assert not any(name.endswith((".patch", ".md", ".orig")) for name in names)


def test_unknown_lab():
    done = run("build", "nothing")
    assert done.returncode == 2 and "whole_seconds" in done.stderr
