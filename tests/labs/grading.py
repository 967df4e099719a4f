"""Runs the grader as its users do, and looks at what it leaves behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labs import handout
from labs.grade import sandbox
from tests.support import FULL

TOP = Path(__file__).resolve().parents[2]       # of the project
LIMIT = 300             # seconds for one grade; its tests have 250 at most
APART = not sandbox.why_not_apart()     # whether this system allows namespaces
full = pytest.mark.skipif(not FULL, reason="takes long: make check-labs FULL=1")
apart = pytest.mark.skipif(not APART, reason="namespaces are forbidden here")


class Graded:
    """One run of the grader: .status, .result (parsed JSON, or None),
    .output, .failed (names of tests), .left (process ids of its
    network namespace that are still there)."""

    def __init__(self, lab, submission, folder, *options, top=TOP):
        """Grade a submission; `folder` is empty and becomes TMPDIR."""
        folder = Path(folder)
        self.tmp = folder / "tmp"
        self.tmp.mkdir()
        file = folder / "result.json"
        words = ["-m", "labs.grade", lab, str(submission), "--result", str(file), *options]
        with subprocess.Popen(
                [sys.executable, *words], cwd=top, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                env={**os.environ, "TMPDIR": str(self.tmp)}) as process:
            network = own_network(process)
            try:
                self.output, _ = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                self.output, _ = process.communicate()
        self.status = process.returncode
        self.result = json.loads(file.read_text()) if file.exists() else None
        self.left = in_network(network) if network else []

    @property
    def failed(self):
        """The names of the tests that failed, in the order of lab.toml."""
        return [name for name, test in self.result["tests"].items() if not test["passed"]]

    @property
    def seconds_of_tests(self):
        """How long the tests took, without compiling and starting servers."""
        return sum(test["seconds"] for test in self.result["tests"].values())

    @property
    def points(self):
        """The points of the grade."""
        return self.result["points"]


def own_network(process):
    """Wait until the grader has a network namespace of its own; return its
    name, or None when the grader ends without."""
    ours = os.readlink("/proc/self/ns/net")
    while process.poll() is None:
        try:
            network = os.readlink(f"/proc/{process.pid}/ns/net")
        except OSError:
            return None
        if network != ours:
            return network
        time.sleep(0.01)
    return None


def in_network(name):
    """Return the process ids in a network namespace."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == name:
                found.append(int(pid))
        except OSError:
            continue
    return found


def write_handout(folder, chosen, **options):
    """Write a handout of these Labs into `folder`, not into build/; return the path of its
    tarball. The options are those of handout.write()."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handout, "FOLDER", folder / "handout")
        return handout.write(chosen, **options)
