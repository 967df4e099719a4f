"""A setting that is wrong: what make says, before it builds, installs or starts anything."""

import os
import re
import subprocess

import pytest

from tools.kit import TOP

# (words for make, what the sentence has to say: the setting, and what may stand there)
WRONG = [
    ("install PREFIX=lib", "PREFIX=lib.*PREFIX=/usr/local"),
    ("install PREFIX=", "PREFIX=.*a whole path"),
    ("study NAME=nope", "NAME=nope.*there are accept-ways, .*wake-up"),
    ("compare SERVERS=nope", "SERVERS=nope.*epoll"),
    ("compare EXPERIMENT=nope", "EXPERIMENT=nope.*guestbook"),
    ("compare CONCURRENCY=-1", "CONCURRENCY=-1.*from 1 to 1,000,000"),
    ("compare CONCURRENCY=99999999999", "CONCURRENCY=99999999999.*from 1 to 1,000,000"),
    ("fleet", "INVENTORY=hosts.ini"),
    ("fleet INVENTORY=nope.ini", "INVENTORY=nope.ini: there is no such file.*hosts.ini.example"),
    ("fleet-clean INVENTORY=/", "INVENTORY=/: there is no such file"),
    ("run-balanced BALANCER=nope", "BALANCER=nope: there are haproxy, nginx, none"),
    ("run-balanced SERVER=nope", "SERVER=nope: there are 01_iterative"),
    ("run-balanced N=0", "N=0.*from 1 to"),
    ("run-balanced N=many", "N=many.*from 1 to"),
    ("run-balanced PORT=65536", "PORT=65536.*from 1 to 65535"),
    ("compare-runs RUNS=a", "RUNS has to name two folders, and names 1"),
    ("compare-runs RUNS='a b'", "RUNS: a is no folder of a run"),
    ("report RUN=nope", "RUN=nope: it is no folder of a run"),
    ("book RUN=nope", "RUN=nope.*summary.json"),
    ("fuzz TIME=long", "TIME=long.*seconds"),
    ("hostile TIME=0", "TIME=0.*seconds"),
    ("handout LABS=77", "no lab '77'.*01_iterative"),
    ("handout BREAK=nope", "BREAK=nope.*there are: .*whole_seconds"),
]


def make(words):
    """Return (the exit status, what was printed, on one line) of make, which has no
    terminal and may install nothing."""
    settings = {name: value for name, value in os.environ.items()
                if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "SERVERS")}
    done = subprocess.run(f"make -s {words}", shell=True, cwd=TOP, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          env={**settings, "NO_INSTALL": "1"})
    return done.returncode, re.sub(r"\s+", " ", done.stdout)


@pytest.mark.parametrize("words, said", WRONG, ids=[words for words, _ in WRONG])
def test_a_wrong_setting_is_named_with_what_may_stand_there(words, said):
    status, text = make(words)
    assert status == 2
    assert re.search(said, text)
    assert "Traceback" not in text
    # Nothing was begun: neither a compiler nor a package manager ran.
    assert not re.search(r" (CC|LINK) |Setting up|Installing", text)


def test_a_study_without_a_name_lists_the_studies():
    status, text = make("study")
    assert status == 0
    assert "floors" in text and "wake-up" in text
