"""The first hour on a bare Debian 12 and 13, as root and as a user who may install nothing:
the commands fetch all that they need, and the machine stays as it was."""

import os
import re
import shutil

import pytest

from tests.install.debian import Debian

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="laying out a Debian needs root")
COMPARE = "EXPERIMENT=guestbook SERVERS=poll,epoll CONCURRENCY=20 SECONDS=1 REPEAT=2"


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def debian(request):
    """A bare Debian, which must be the same after the tests."""
    system = Debian(request.param)
    for user in ("root", "student"):
        system.check_out(user)
    yield system
    assert system.state() == system.before
    for user in ("root", "student"):
        shutil.rmtree(system.root / system.home(user)[1:])


def works(system, user, command, scratch=""):
    """Run a line of shell, which has to succeed; return what it printed. With `scratch`, a folder,
    what it changes is lost."""
    done = system.run(user, command, scratch)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def test_without_a_compiler_one_message_says_what_to_do(debian):
    done = debian.run("student", "make -j4 all CC=no-such-compiler")
    assert done.returncode == 2 and done.stdout.count("Missing for") == 1
    advice = done.stdout.partition("What you can do:")[2]
    assert "gcc libc6-dev" in advice and "hiredis" not in advice


@pytest.mark.parametrize("user", ["student", "root"])
def test_the_servers_are_built_and_measured(debian, user):
    said = works(debian, user, f"make -j2 WERROR=1 && make compare {COMPARE}")
    assert re.search(r"^Guestbook.*epoll", said, re.M), said
    works(debian, user, "ls results/latest/report.html && ./epoll --version && "
                        "! find build -perm /6000 -type f | grep .")


def test_a_part_of_the_tests_passes(debian):
    assert re.search(r"^[1-9]\d{2,} passed, 0 failed$", works(debian, "student", "make test"), re.M)


def test_clang_builds_it_without_a_warning(debian):
    works(debian, "student", "make build/deps/clang && "
          "make -j2 CC=clang FLAVOUR=clang WERROR=1 all unit-tests")


def test_a_submission_is_graded(debian):
    assert "100" in works(debian, "student", "make grade LAB=01 SUBMISSION=01_iterative")


def test_the_book_is_built(debian):
    works(debian, "student", "make book && ls build/book/index.html")


def test_what_was_fetched_goes_with_clean_all_and_not_with_clean(debian):
    works(debian, "student", "make clean && ls build/deps/bin build/venv && "
          "make clean-all && ! ls build")


def test_the_package_manager_installs_and_starts_nothing(debian, tmp_path):
    said = works(debian, "root", """
make -s clean-all && make build/deps/run build/deps/balancer INSTALL=system &&
dpkg -s redis-server haproxy nginx >/dev/null && ! ls build/deps/bin /usr/sbin/policy-rc.d &&
find /etc/systemd/system -name '*.wants' -exec ls {} + && ls /etc/rc2.d""", scratch=tmp_path)
    assert "Installing with apt-get" in said
    enabled = said.rpartition("policy-rc.d")[2]
    assert not re.search(r"(redis|nginx|haproxy)\S*\.service", enabled), enabled
    assert not re.search(r"^S\d+(redis|nginx|haproxy)", enabled, re.M), enabled
