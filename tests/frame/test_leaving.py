"""When make gets a signal to end, or its terminal is closed, or one of them is killed: within five
seconds nothing is left of what it started. When all are killed together, temporary folders
are left, and go with the next start."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support import FULL
from tests.support.leaving import WAYS, at_work, descendants, kill_all, subreaper
from tests.support.processes import wait_for
from tests.support.servers import TOP
from tools.kit.process import free_port

# {what: (the words after `make`, how the command line of a process begins that it starts late)}
# A load tool is called by its path where scripts/own_path.py has put a script in its place.
COMMANDS = {
    "run-03": (["run-03", "ARGS=--port 0 --workers 4"], r"\./preforking --redis"),
    "run-07": (["run-07", "ARGS=--port 0"], r"\./epoll --redis"),
    "run-balanced": (["run-balanced", "N=2", "PORT=PORT"], r"\S*haproxy .*-f"),
    "watch-03": (["watch-03", "ARGS=--workers 4"], r"\S*/preforking .*--root"),
    "compare": (["compare", "EXPERIMENT=answer", "SERVERS=02,07", "OUT=DIR"],
                r"(\S*/)?(oha|h2load) "),
    "study": (["study", "NAME=floors", "SERVERS=07", "OUT=DIR"], r"(\S*/)?(wrk|ab) "),
    "grade": (["grade", "LAB=03", "SUBMISSION=03_preforking"], "/program/preforking"),
    "break-check": (["break-check", "NAME=whole_seconds", "DIR=DIR"], r"/\S*/iterative --"),
    "check": (["check-blackbox", "SERVERS=epoll"], r"\S*/epoll .*--root"),
}
SAMPLE = {("run-07", "hup"), ("run-03", "kill make"), ("watch-03", "hup"),
          ("run-balanced", "kill command"), ("run-balanced", "term"), ("run-03", "kill guardian")}
KILLED = ("run-07", "watch-03")


@pytest.fixture(autouse=True, scope="module")
def our_orphans():
    """They are found below this process."""
    with subreaper():
        yield


@pytest.fixture
def temporary(monkeypatch):
    """A folder for the temporary folders of what we start."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def words_of(what, folder):
    """Return the words after `make` of one of the COMMANDS, which may write into `folder`, and its
    pattern."""
    if what == "run-balanced" and not shutil.which("haproxy"):
        pytest.skip("HAProxy is not installed")
    words, pattern = COMMANDS[what]
    values = {"PORT=PORT": f"PORT={free_port()}", "DIR=DIR": f"DIR={folder}/broken",
              "OUT=DIR": f"OUT={folder}"}
    if "DIR=DIR" in words and not (folder / "broken").exists():
        subprocess.run(["make", "break", words[1], values["DIR=DIR"]], cwd=TOP, check=True)
    return [values.get(word, word) for word in words], pattern


def groups_of(pids):
    """Return the control groups of graders with these process ids."""
    # os.walk, for which a group that is gone in between is no error.
    return [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("zerohttpd-grade-") and int(name.split("-")[2]) in pids]


@pytest.mark.parametrize("what, how", [
    pytest.param(what, how, id=f"{what}-{how}") for what in COMMANDS for how in WAYS
    if FULL or (what, how) in SAMPLE])
def test_nothing_is_left(what, how, tmp_path, temporary):
    with at_work(*words_of(what, tmp_path)) as (terminal, left):
        pids = set(descendants(terminal.make))
        terminal.leave(how)
        assert not (ours := left()), f"{ours}\n{terminal.text[-1000:]}"
        if not how.startswith("kill"):
            assert not groups_of(pids)
            assert not (folders := list(temporary.glob("zerohttpd*"))), folders


@pytest.mark.parametrize("what", COMMANDS if FULL else KILLED)
def test_the_next_start_removes_what_was_left_when_all_were_killed(what, tmp_path, temporary):
    before = set(descendants(os.getpid()))
    with at_work(*words_of(what, tmp_path)):
        wait_for(lambda: list(temporary.glob("zerohttpd*")), "a folder that can be left")
        killed = kill_all(before)
    first = set(temporary.glob("zerohttpd*"))
    assert first, "nothing that could be removed"
    with at_work(*words_of(what, tmp_path)) as (terminal, left):
        assert not (first & set(temporary.iterdir()))
        assert not groups_of(killed)
        terminal.leave("term")
        assert not left()
    assert not (folders := list(temporary.glob("zerohttpd*"))), folders
