"""The limit of memory counts each page, wherever a submission keeps it."""

import os
import subprocess

import pytest

from labs.grade import cgroup, sandbox
from tests.labs.grading import APART, TOP
from tools.kit import wait

MIB = 1 << 20
LIMIT = 96              # MiB
SOURCE = TOP / "tests/labs/takes_memory.c"

# A user's grader enters a user namespace first, which this process must not.
pytestmark = pytest.mark.skipif(os.getuid() != 0 or not APART,
                                reason="only root makes namespaces in this process")


@pytest.fixture(scope="module", name="program")
def _program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "takes_memory"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-o", path, SOURCE], check=True)
    return path


def run(program, folder, how, size):
    """Run it until it says that it has `size` MiB or was ended; return its output and fault."""
    with sandbox.Sandboxed(["{program}", how, str(size)], {"program": program},
                           sandbox.Isolation(True), folder, memory=LIMIT * MIB) as one:
        assert wait.until(lambda: one.wait(0) is not None or "done" in one.output, 60)
        if "done" in one.output:        # it was faster than a look at its memory
            one.wait(3 * sandbox.WATCH + 1)
        left = one.group
    assert left is None or not left.folder.exists()
    return one.output, one.fault


def groups():
    """Return whether this system lets us make a control group."""
    group = cgroup.make(LIMIT * MIB)
    if group:
        group.remove()
    return bool(group)


@pytest.mark.parametrize("how, grouped", [
    ("shared", True), ("file", True), ("sockets", True), ("shared", False), ("file", False)])
def test_each_kind_of_memory_counts(program, tmp_path, how, grouped, monkeypatch):
    """With a control group and without; only a group counts what waits in sockets."""
    if not grouped:
        monkeypatch.setattr(cgroup, "make", lambda limit: None)
    elif not groups():
        pytest.skip("no control groups here")
    assert run(program, tmp_path, how, 3 * LIMIT)[1] == f"it used more than {LIMIT} MiB of memory"


@pytest.mark.parametrize("how", ["shared", "file", "sockets"])
def test_what_is_within_the_limit_is_left_alone(program, tmp_path, how):
    assert run(program, tmp_path, how, LIMIT // 3) == ("done\n", "")
