"""scripts/install.sh, which INSTALL=system calls: it says what it would install, and asks where
there is a terminal. apt-get, dpkg and sudo are scripts here that only write down their words."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from tests.frame.test_deps import DEBIAN, TOP, program

APT_GET = r"""echo "apt-get $*" >>"$LOG"
case "$*" in
*-s*install*) echo "Inst redis-server (5:7.0 Debian:12 [amd64])" ;;
*--assume-no*) echo "Need to get 1,234 kB of archives."
    echo "After this operation, 4,096 kB of additional disk space will be used."; exit 1 ;;
esac"""
SUDO = r"""case $1 in env) exec "$@" ;; *) echo "sudo $*" >>"$LOG" ;; esac"""
INSTALL = re.compile(r"apt-get .*install -y --no-install-recommends redis-server$", re.M)
SECONDS = 60


@pytest.fixture
def machine(tmp_path):
    """A folder with the project's scripts, and programs for a PATH that change nothing."""
    (tmp_path / "scripts").mkdir()
    for name in ("deps.sh", "install.sh", "packages.txt", "minimum.txt"):
        shutil.copy(TOP / "scripts" / name, tmp_path / "scripts")
    (tmp_path / "os-release").write_text(DEBIAN)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("id", "echo 1000"), ("sudo", SUDO), ("apt-get", APT_GET),
                       ("apt-cache", 'echo "Package: $2"'), ("dpkg", "exit 0")):
        program(tools, name, text)
    return tmp_path


def settings(machine):
    """Return the environment of a command: those programs come first."""
    return {**os.environ, "PATH": f"{machine}/bin:{os.environ['PATH']}", "INSTALL": "system",
            "LOG": f"{machine}/log", "OS_RELEASE": f"{machine}/os-release", "MAKEFLAGS": ""}


def installs(machine):
    """Return how often apt-get was asked to install."""
    path = machine / "log"
    return len(INSTALL.findall(path.read_text())) if path.exists() else 0


def on_a_terminal(machine, words, *answers):
    """Run a command on a terminal; type an answer at each question. Return (the exit status,
    what was printed)."""
    pid, terminal = pty.fork()
    if not pid:
        try:
            os.execvpe(words[0], words, settings(machine))
        finally:
            os._exit(127)
    text, asked, end = "", 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            try:
                text += os.read(terminal, 4096).decode()
            except OSError:         # EIO: it has ended
                break
        if text.count("[y/N] ") > asked:
            assert not installs(machine), "before the answer"
            os.write(terminal, answers[asked])
            asked += 1
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.replace("\r", "")


def install(machine):
    """Return the words that install one package."""
    return [f"{machine}/scripts/install.sh", "redis-server"]


@pytest.mark.parametrize("answer, statuses", [
    (b"no\n", [1]), (b"\n", [1]), (b"\x04", [1]), (b"\x03", [-2, 130])],
    ids=["no", "nothing", "end-of-file", "Ctrl-C"])
def test_only_yes_installs(machine, answer, statuses):
    status, text = on_a_terminal(machine, install(machine), answer)
    assert status in statuses and ("Nothing was installed." in text) == (status == 1)
    assert not installs(machine) and "policy-rc.d" not in (machine / "log").read_text()


def test_yes_installs_what_was_said(machine):
    status, text = on_a_terminal(machine, install(machine), b"yes\n")
    assert status == 0, text
    assert re.search(r"sudo may ask for your password.*Installing with apt-get \(1,234 kB, "
                     r"4,096 kB on the disk\): redis-server\n.*Go on\? \[y/N\] ", text, re.S)
    assert installs(machine) == 1
    assert "policy-rc.d" in (machine / "log").read_text(), "what keeps services from starting"


def test_without_a_terminal_it_says_what_and_installs(machine):
    done = subprocess.run(install(machine), env=settings(machine), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True, timeout=SECONDS)
    assert "Installing with apt-get" in done.stdout and "[y/N]" not in done.stdout
    assert installs(machine) == 1


def test_a_refusal_ends_make_and_names_what_is_missing(machine):
    (machine / "Makefile").write_text("all:\n\t@scripts/deps.sh run\n")
    program(machine / "bin", "pkg-config", "exit 1")
    status, text = on_a_terminal(machine, ["make", "-C", str(machine)], b"n\n")
    assert status == 2 and text.count("[y/N]") == 1
    assert re.search(r"Nothing was installed\.\n.*Still not found:\n.*libhiredis-dev.*"
                     r"What you can do:", text, re.S)
    assert " install -y" not in (machine / "log").read_text()


def test_jobs_of_make_ask_too(machine):
    """make -j gives the terminal to one of its jobs, and to the others a pipe."""
    (machine / "Makefile").write_text(
        "all: one two\none two:\n\t@mkdir $@.d; until [ -d one.d ] && [ -d two.d ]; do "
        "sleep 0.01; done; scripts/install.sh redis-server\n")
    status, text = on_a_terminal(machine, ["make", "-k", "-j2", "-C", str(machine)],
                                 b"n\n", b"n\n")
    assert status == 2 and text.count("Nothing was installed.") == 2
    assert not installs(machine)
