"""A user without root on a Debian that has make and nothing else of what is needed.

debootstrap lays the system out in build/fresh-debian/, once. The tests run in it
with chroot, as a new user with a fresh copy of this checkout.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BASE = TOP / "build" / "fresh-debian"
PATH = "/usr/local/bin:/usr/bin:/bin"

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="chroot needs root")


def run(*command, **settings):
    """Run a command; return the CompletedProcess with the output as text."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=600,
                          **settings)


@pytest.fixture(scope="module")
def debian():
    """The folder of a minimal Debian, with make and a user `student`."""
    mark = BASE / "complete"
    if not mark.exists():
        shutil.rmtree(BASE, ignore_errors=True)
        # The place that this machine gets its packages from, if it is a Debian.
        mirrors = run("apt-get", "indextargets", "--format", "$(REPO_URI)",
                      "Created-By: Packages", "Origin: Debian").stdout.split()
        # What it mounts ends with it, even if it is killed: rmtree goes into mounts.
        done = run("unshare", "--mount", "debootstrap", "--variant=minbase",
                   "--include=make", "bookworm", str(BASE), *mirrors[:1])
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        done = run("chroot", BASE, "/usr/sbin/useradd", "--create-home", "student")
        assert done.returncode == 0, done.stderr
        mark.touch()
    return BASE


@pytest.fixture
def checkout(debian):
    """This checkout in the home of the student, without what was built."""
    folder = debian / "home/student/zerohttpd"
    shutil.rmtree(folder, ignore_errors=True)
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                cwd=TOP).stdout.split("\0")
    for name in filter(None, names):
        if not (TOP / name).exists():
            continue                        # deleted, and not committed yet
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, folder / name)
    assert run("chroot", debian, "chown", "-R", "student:student",
               "/home/student/zerohttpd").returncode == 0
    return folder


def as_student(debian, command):
    """Run a line of shell as the student, in the checkout, with /proc."""
    return run("unshare", "--mount", "/bin/sh", "-c",
               'mount -t proc proc "$0/proc" && exec chroot "$@"', debian,
               "--userspec=student:student", debian, "/usr/bin/env", "-i",
               "HOME=/home/student", f"PATH={PATH}", "LC_ALL=C.UTF-8", "/bin/sh", "-c",
               f"cd ~/zerohttpd && {command}")


def as_root(debian, command):
    """Run a line of shell as root on that Debian; it has to succeed."""
    done = run("chroot", debian, "/usr/bin/env", "-i", f"PATH=/usr/sbin:/sbin:{PATH}",
               "DEBIAN_FRONTEND=noninteractive", "/bin/sh", "-c", command)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def named(done):
    """Return the packages of a message that is clear, after checking that it is."""
    lines = done.stdout.splitlines()
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.fullmatch(r"Missing for '\w+':", lines[0]), lines[0]
    assert done.stdout.count("Missing for") == 1
    assert lines[-5] == "What you can do:" and "as root" in lines[-4]
    assert "docs/howto/containers.md" in lines[-2]
    assert ".devcontainer/" in lines[-1]
    # Nothing else but make's own line.
    assert re.fullmatch(r"make: \*\*\* \[.*\] Error 1\n(make: \*\*\* Waiting.*\n)?",
                        done.stderr), done.stderr
    packages = [line.split()[0] for line in lines[1:-5]]
    command = lines[-3].split("install -y --no-install-recommends ")[1]
    assert command.split() == packages
    return set(packages)


BUILD = {"gcc", "libc6-dev", "binutils", "pkg-config", "libhiredis-dev", "uthash-dev",
         "linux-libc-dev"}


@pytest.mark.parametrize("jobs", ["", "-j4 "])
def test_make_all_ends_with_one_clear_message(debian, checkout, jobs):
    assert named(as_student(debian, f"make {jobs}all")) == BUILD


def test_make_test_asks_for_what_it_needs_and_no_more(debian, checkout):
    assert named(as_student(debian, "make test")) == BUILD | {
        "redis-server", "redis-tools", "libcmocka-dev", "python3", "python3-venv"}


def test_make_compare_names_what_it_can_do_without_too(debian, checkout):
    packages = named(as_student(debian, "make compare"))
    assert BUILD | {"redis-server", "python3", "wrk", "apache2-utils"} <= packages
    assert not packages & {"libcmocka-dev", "clang", "chromium"}


def test_make_check_needs_python_at_least(debian, checkout):
    assert "python3" in named(as_student(debian, "make check"))


@pytest.fixture
def other_debian(debian, tmp_path):
    """A copy of it that reaches the package index, to install something there."""
    folder = tmp_path / "debian"
    try:
        assert run("cp", "-a", "--reflink=auto", debian, folder).returncode == 0
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_the_command_is_enough_and_check_runs_what_it_can(checkout, other_debian):
    """First what `make all` asked for; then Python and cmocka, and no Redis."""
    command = as_student(other_debian, "make all").stdout.splitlines()[-3].strip()
    as_root(other_debian, command)
    done = as_student(other_debian, "make -j2 all WERROR=1 && ./epoll --version")
    assert done.returncode == 0, done.stdout + done.stderr
    assert named(as_student(other_debian, "make check-unit")) == {"libcmocka-dev"}
    assert "python3" in named(as_student(other_debian, "make check"))

    as_root(other_debian, "apt-get install -y --no-install-recommends python3 "
                          "libcmocka-dev")
    done = as_student(other_debian, "make check")
    lines = done.stdout.splitlines()
    ran = re.findall(r"^  (\S+) +ok ", done.stdout, re.M)
    left = dict(re.findall(r"^  (\S+) +left out: needs (.*)", done.stdout, re.M))
    assert set(ran) == {"build", "build-asan", "unit", "unit-asan", "layering", "shape"}
    assert {"blackbox", "browser", "bench", "labs", "fuzz"} <= set(left)
    assert "redis-server (keeps the guestbook)" in left["blackbox"]
    assert "python3-venv" in left["blackbox"] and "clang (" in left["clang"]
    assert re.fullmatch(r"\d+ passed, 0 failed", lines[-1]) and done.returncode == 0
    assert f"This was only a part: {len(left)} of {len(left) + 4}" in done.stdout
