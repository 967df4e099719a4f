"""A setting that is wrong: what make says, before it builds, installs or starts anything."""

import os
import pwd
import re
import shutil
import subprocess

import pytest

from tests.support import FULL, others
from tools.kit import TOP

# (words for make, what the sentence has to say: the setting, and what may stand there)
WRONG = [
    ("install PREFIX=lib", "PREFIX=lib.*PREFIX=/usr/local"),
    ("study NAME=nope", "NAME=nope.*there are accept-ways, .*wake-up"),
    ("compare SERVERS=nope", "SERVERS=nope.*epoll"),
    ("fleet", "INVENTORY=hosts.ini"),
    ("fleet INVENTORY=nope.ini", "INVENTORY=nope.ini: there is no such file.*hosts.ini.example"),
    ("fleet-clean INVENTORY=/", "INVENTORY=/: there is no such file"),
    ("run-balanced BALANCER=nope", "BALANCER=nope: there are haproxy, nginx, none"),
    ("run-balanced SERVER=nope", "SERVER=nope: there are 01_iterative"),
    ("run-balanced N=0", "N=0.*from 1 to"),
    ("run-balanced PORT=65536", "PORT=65536.*from 1 to 65535"),
    ("exact SERVER=nope", "SERVER has 'nope'.*01_iterative"),
    ("exact EXPERIMENT=nope", "EXPERIMENT has 'nope'.*guestbook"),
    ("exact KERNEL=nope", "KERNEL is 'nope'; it can be 6.1"),
    ("exact PEERS=nope", "PEERS has 'nope'.*nginx"),
    ("exact VARIANT=nope", "VARIANT.*nope.*there are"),
    ("exact CLIENTS=0", "CLIENTS is 0; it can be 1 to 2000"),
    ("compare-runs RUNS=a", "RUNS has to name two folders, and names 1"),
    ("compare-runs RUNS='a b'", "RUNS: a is no folder of a run"),
    ("report RUN=nope", "RUN=nope: it is no folder of a run"),
    ("book RUN=nope", "RUN=nope.*summary.json"),
    ("docs-read RUN=results/latest", "takes no RUN"),
    ("fuzz TIME=long", "TIME=long.*seconds"),
    ("hostile TIME=0", "TIME=0.*seconds"),
    ("handout LABS=77", "no lab '77'.*01_iterative"),
    ("handout BREAK=nope", "BREAK=nope.*there are: .*whole_seconds"),
    ("grade-all LAB=03 DIR=/nope", "DIR=/nope: there is no such folder"),
]
# Those of the other commands: in make check-all.
MORE = [
    ("compare OUT=/proc/nope", "OUT=/proc/nope.*a folder that you can write to"),
    ("handout GIVE=nope", "GIVE=nope.*there are: .*event_loop.c"),
    ("starter", "no lab ''.*03_preforking"),
    ("starter LAB=03", "make starter LAB=03 SUBMISSION=my03"),
    ("grade", "no lab ''.*03_preforking"),
    ("grade LAB=03 SUBMISSION=/nope", "there is no /nope"),
    ("lab LAB=03 SUBMISSION=/nope", "SUBMISSION=/nope: there is no such file or folder"),
    ("break NAME=nope", "no lab 'nope'.*whole_seconds"),
    ("break-check", "no lab ''.*whole_seconds"),
    ("break-check NAME=whole_seconds DIR=/nope", "/nope.*make break NAME=whole_seconds"),
    ("variant NAME=nope", "variants/nope.md.*leader-followers"),
    ("variant-measure", "needs a name.*leader-followers"),
    ("variant-measure NAME=leader-followers ROUNDS=many", "--rounds: invalid int value: 'many'"),
    ("run-99", "no server 99.*07_epoll"),
    ("watch-07 ARGS=--nope", "unrecognized option '--nope'"),
    ("diff-01-09", "make diff-06-07"),
    ("timeline SERVER=nope", "no server 'nope'.*07_epoll"),
    ("timeline SERVER=05 CLIENTS=many", "many is no whole number above 0 and up to 1000"),
    ("demo-stuck ARGS='--clients 0'", "0 is no whole number above 0"),
    ("predict SERVER=nope", "SERVER=nope.*07_epoll"),
    ("predict SERVER=05 CLIENTS=0", "CLIENTS=0.*above 0"),
    ("predict SERVER=05 WHAT=nope", "WHAT=nope.*guestbook, answer"),
    ("predict FILE=/nope", "/nope: No such file"),
    ("predictions DIR=/nope", "there is none in /nope"),
    ("model SERVER=nope", "SERVER=nope.*01 to 07"),
    ("simulator ARGS='--costs /nope'", "--costs /nope: No such file"),
    ("lines SINCE=nope", ": nope"),
    ("check SERVERS=nope", "SERVERS=nope.*epoll"),
    ("uninstall PREFIX=", "PREFIX=.*a whole path"),
]
if not FULL:
    MORE = []
# A command that goes on in spite of a wrong value is ended after these seconds.
LIMIT = 120


def make(words, *before):
    """Return (the exit status, what was printed, on one line) of make, which has no
    terminal and may install nothing. `before`: words that start it."""
    settings = {name: value for name, value in os.environ.items()
                if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "SERVERS")}
    done = subprocess.run(f"{' '.join(before)} make -s {words}", shell=True, cwd=TOP,
                          check=False, timeout=LIMIT, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**settings, "NO_INSTALL": "1"})
    return done.returncode, re.sub(r"\s+", " ", done.stdout)


@pytest.mark.parametrize("words, said", WRONG + MORE,
                         ids=[words for words, _ in WRONG + MORE])
def test_a_wrong_setting_is_named_with_what_may_stand_there(words, said):
    status, text = make(words)
    assert status == 2
    assert re.search(said, text)
    assert "Traceback" not in text and "Errno" not in text
    # Nothing was begun: neither a compiler nor a package manager ran.
    assert not re.search(r" (CC|LINK) |Setting up|Installing", text)


def test_a_study_without_a_name_lists_the_studies():
    status, text = make("study")
    assert status == 0
    assert "floors" in text and "wake-up" in text


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv") or others.CHECKOUT_IS_PRIVATE,
                    reason="only root can become somebody else, who must be able to enter here")
@pytest.mark.parametrize("words, said", [
    ("-o all install", "cannot write to /usr.*sudo make install.*PREFIX="),
    ("-o all uninstall", "cannot write to /usr.*sudo make uninstall.*PREFIX="),
    ("compare OUT=/root", "OUT=/root: it has to be a folder that you can write to"),
    ("run-balanced BALANCER=nope", "there are haproxy, nginx, none")])
def test_a_user_who_owns_nothing_and_has_no_home_is_told_what_to_do(words, said):
    nobody = pwd.getpwnam("nobody")
    status, text = make(words, "env HOME=/nonexistent COLUMNS=80 setpriv",
                        f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups")
    assert status == 2 and re.search(said, text)
    assert "Traceback" not in text
