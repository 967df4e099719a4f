"""Every break-it lab: its test fails on the faulty server, and only there.

A sample; with FULL=1, all.
"""

import re
import subprocess
import sys

import pytest

from tests.labs.grading import FULL, TOP

BREAK = TOP / "labs" / "break"
NAMES = sorted(path.parent.name for path in BREAK.glob("*/README.md"))
SECONDS = 240           # for a build on a busy machine


def run(*words):
    """Run python3 -m labs.break; return the exit status and what it said."""
    done = subprocess.run([sys.executable, "-m", "labs.break", *map(str, words)],
                          cwd=TOP, text=True, capture_output=True, check=False, timeout=SECONDS)
    return done.returncode, done.stdout + done.stderr


def server_of(name):
    """Return the name of a lab's executable."""
    page = (BREAK / name / "README.md").read_text()
    return re.search(r"^- Server: \d\d_(\w+)$", page, re.MULTILINE)[1]


def expect_seen(name, folder):
    """Check that a faulty server builds, and that the lab's test sees its fault."""
    status, said = run("build", name, folder)
    assert status == 0 and (folder / server_of(name)).exists(), said
    status, said = run("check", name, folder)
    assert status == 1 and "1 failed" in said and "observe.Seen" in said, said


@pytest.mark.parametrize("name", [name for name in NAMES if FULL and name != "gone_overnight"])
def test_fault_is_seen(name, tmp_path):
    expect_seen(name, tmp_path / name)


def test_work_on_a_fault(tmp_path):
    """A student's folder is built again before it is tested, and never written again."""
    folder = tmp_path / "mine"
    expect_seen("gone_overnight", folder)
    file = folder / "common" / "signals.c"
    file.write_text((TOP / "common" / "signals.c").read_text())
    assert run("check", "gone_overnight", folder)[0] == 0
    file.write_text("no C")
    status, said = run("check", "gone_overnight", folder)
    assert status == 2 and "signals.c" in said
    status, said = run("build", "gone_overnight", folder)
    assert status == 2 and "exists" in said and file.read_text() == "no C"


@pytest.mark.parametrize("name, server", [("backlog", "iterative"), *(
    (name, server_of(name)) for name in NAMES if FULL)])
def test_plain_server_passes(name, server):
    """An instructor may also use the name of the fault: backlog."""
    status, said = run("check", name, "--program", TOP / server)
    assert status == 0, said


@pytest.mark.parametrize("name", NAMES)
def test_lab_is_complete(name):
    """Its patch applies (a changed comment is enough to break one), its test is there, and its
    page does not name the solution's cause."""
    home = BREAK / name
    done = subprocess.run(["patch", "-p1", "--fuzz=0", "--dry-run", "-i", home / "fault.patch"],
                          cwd=TOP, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (home / "test_regression.py").exists()
    fault = re.match(r"# ([\w-]+): ", (BREAK / "solutions" / f"{name}.md").read_text())[1]
    page = (home / "README.md").read_text().lower()
    for word in {fault, fault.replace("-", " ")}:
        assert word not in page
    for heading in ("## report", "## observe", "## hand in"):
        assert heading in page
