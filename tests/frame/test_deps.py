"""scripts/deps.sh: what is missing is named, in the words of the distribution."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
TABLE = (TOP / "scripts/packages.txt").read_text()
GROUPS = dict(re.findall(r"^([\w-]+) +=\s+(.+)$", TABLE, re.M))
STAY = set(GROUPS.pop("system").split())        # of use only where the system has them
THINGS = {line.split()[0]: line.split(None, 6) for line in
          TABLE.partition("# The second part")[0].splitlines()
          if line and line[0] != "#"}
DEBIAN = 'ID=debian\nVERSION_ID="12"\n'
COMPILER = "gcc ar objcopy git"     # `header:` asks gcc, which says yes to all


@pytest.fixture
def machine(tmp_path):
    """A folder to use as PATH: of a machine with a shell and little else.

    `id` says that the user is not root; sudo asks for a password. Next to it is a copy of
    scripts/, in which the scripts that fetch packages only say what they were called with.
    """
    tools, scripts = tmp_path / "bin", tmp_path / "scripts"
    tools.mkdir()
    scripts.mkdir()
    for name in ("deps.sh", "packages.txt", "minimum.txt"):
        shutil.copy(TOP / "scripts" / name, scripts)
    (tmp_path / "docs").mkdir()                 # a handout has none
    for name in ("unpack.sh", "install.sh"):
        program(scripts, name, f'echo "{name} called: $*"')
    for tool in "sh sed grep head printf env cat cmp uname getconf dirname touch ls".split():
        (tools / tool).symlink_to(shutil.which(tool))
    for name, text in (("apt-get", "exit 1"), ("id", "echo 1000"), ("sudo", "exit 1")):
        program(tools, name, text)
    return tools


def program(tools, name, text):
    """Write a shell script to the folder `tools`."""
    (tools / name).unlink(missing_ok=True)
    (tools / name).write_text(f"#!/bin/sh\n{text}\n")
    (tools / name).chmod(0o755)


def add(tools, names):
    """Write programs to the folder `tools` that succeed."""
    for name in names.split():
        program(tools, name, "exit 0")


def deps(tools, *words, release=DEBIAN, **environment):
    """Run deps.sh with this PATH, this os-release and nothing else that it reads."""
    path = tools.parent / "os-release"
    path.write_text(release)
    return subprocess.run(
        ["/bin/sh", tools.parent / "scripts/deps.sh", *words], capture_output=True, text=True,
        check=False, timeout=240, cwd="/", env={
            "PATH": str(tools), "PYTHON": "/no/python", "OS_RELEASE": str(path),
            **environment})


# ------------------------------------------------------------------- the table

def test_the_table_is_whole():
    """No group has the name of a thing, or what needs the thing gets a line of the table as its
    reason."""
    for name, words in THINGS.items():
        assert len(words) == 7, name
        assert re.fullmatch(r"(command|library|archive|header|file):\S+|compiler|python|venv|"
                            "certificates|libfuzzer|environment|actionlint", words[1]), name
    assert not set(GROUPS) & set(THINGS)
    named = [one for words in GROUPS.values() for one in words.split()]
    for one in named:
        assert one.lstrip("?@") in (GROUPS if "@" in one else THINGS), one
    assert set(THINGS) <= {one.lstrip("?") for one in named}
    assert STAY <= set(THINGS)


def members(group):
    """Yield the things of a group, and those of the groups in it."""
    for member in GROUPS[group].split():
        name = member.lstrip("?@")
        yield from members(name) if "@" in member else [name]


def test_make_check_asks_for_what_its_suites_need_and_for_no_service():
    """It asks before, so that they need not be left out. A package of sshd starts it, and opens
    the machine."""
    asked = {*members("check-all")}
    for suite in GROUPS.keys() - {"tidy", "real", "grade-all"}:     # what no suite runs
        assert {*members(suite)} <= asked, suite
    for group in ("check", "test", "compare", "watch", "grade", "book", "build"):
        assert "sshd" not in members(group), group


@pytest.mark.skipif(not shutil.which("apt-cache") or "VERSION_ID=\"12\"" not in
                    Path("/etc/os-release").read_text(), reason="not Debian 12")
def test_debian_has_the_packages():
    """Those of main, by the package lists of this machine."""
    names = {name for words in THINGS.values() for name in
             words[2].split("/")[0].split("+") if name != "-"}
    shown = subprocess.run(["apt-cache", "show", "--no-all-versions", *names],
                           stdout=subprocess.PIPE, text=True, check=False).stdout
    assert names <= set(re.findall("^Package: (.+)", shown, re.M))


# ----------------------------------------------------- without root: the message

@pytest.mark.parametrize("release, command, names, others", [
    (DEBIAN, "apt-get install", "gcc libhiredis-dev redis-server apache2-utils "
     "chromium chromium-driver libcmocka-dev python3-venv", "chromium-browser httpd-tools"),
    ("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=24.04\n", "apt-get install",
     "libhiredis-dev chromium-browser chromium-chromedriver", "chromium-driver"),
    ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt-get install",
     "chromium-browser", "chromium-driver"),
    ("ID=fedora\nVERSION_ID=42\n", "dnf install",
     "hiredis-devel valkey-compat-redis httpd-tools chromedriver glibc-devel",
     "libhiredis-dev apt-get python3-venv"),
    ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install",
     "hiredis-devel", "libhiredis-dev"),
    ("ID=arch\n", "pacman -S --needed", "hiredis valkey apache cmocka python",
     "libhiredis-dev apache2-utils httperf python3"),      # no package has that one
    ("ID=alpine\nVERSION_ID=3.20\n", "apk add",
     "hiredis-dev redis musl-dev apache2-utils chromium-chromedriver", "libhiredis-dev"),
    ("ID=plan9\n", "apt-get install", "libhiredis-dev", "chromium-browser"),
], ids="debian ubuntu mint fedora rocky arch alpine unknown".split())
def test_packages_have_the_names_of_the_distribution(machine, release, command, names,
                                                     others):
    (machine / "apt-get").unlink()
    done = deps(machine, "run", "load", "unit", "browser", "pip", release=release)
    assert done.returncode == 1 and not done.stderr
    lines = [line for line in done.stdout.splitlines() if command in line]
    assert len(lines) == 1 and lines[0].startswith("       sudo ")
    words = lines[0].split("&&")[-1].split()
    assert len(words) == len(set(words)), "each once"
    for name in names.split():
        assert name in words
        assert re.search(rf"^  {name} +\w", done.stdout, re.M), "says what for"
    assert not set(others.split()) & set(words)
    assert ("httperf (no package) " in done.stdout) == command.startswith(("pacman", "apk"))


@pytest.mark.parametrize("sudo", [True, False])
def test_the_message_ends_with_three_ways_out(machine, sudo):
    """And asks for nothing that another part needs."""
    if not sudo:
        (machine / "sudo").unlink()
    done = deps(machine, "build")
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and not done.stderr and "called" not in done.stdout
    assert lines[0] == "Missing for 'build':"
    at = lines.index("What you can do:")
    assert "1. Install" in lines[at + 1] and "apt-get update &&" in lines[at + 2]
    assert "docs/howto/containers.md" in lines[at + 3]
    assert ".devcontainer/" in lines[at + 4]
    assert ("packages, as root" in lines[at + 1]) == (not sudo)
    assert ("sudo" in done.stdout) == sudo
    for other in "redis-server libcmocka-dev clang python chromium".split():
        assert other not in done.stdout


def test_the_missing_of_several_parts_are_told_apart(machine):
    add(machine, "gcc ar pkg-config redis-server redis-cli python")
    done = deps(machine, "--missing", "run", "cost", "labs",
                PYTHON=str(machine / "python"))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "cost: valgrind (counts instructions)"
    assert "labs: strace (shows system calls)" in done.stdout
    assert "run:" not in done.stdout and "liburing" not in done.stdout


@pytest.mark.parametrize("group, install, said", [
    ("nonsense", "", "no group 'nonsense'"), ("build", "yes", "INSTALL is 'yes'")])
def test_a_wrong_word_is_refused(machine, group, install, said):
    done = deps(machine, group, INSTALL=install)
    assert done.returncode == 2 and said in done.stderr


# ------------------------------------------------------- what is missing is fetched

@pytest.mark.parametrize("user", ["0", "1000"], ids=["root", "user"])
def test_packages_are_unpacked_and_nothing_is_installed(machine, user):
    program(machine, "id", f"echo {user}")
    program(machine, "sudo", "exec \"$@\"")     # even where it asks for no password
    add(machine, COMPILER)
    done = deps(machine, "run")
    assert re.search("^unpack.sh called: pkg-config libhiredis-dev "
                     "redis-server redis-tools$", done.stdout, re.M), done.stdout
    assert "install.sh" not in done.stdout
    assert "Still not found" in done.stdout and done.returncode == 1


def test_what_cannot_be_unpacked_is_asked_for_first(machine):
    done = deps(machine, "run")
    assert "called" not in done.stdout and done.returncode == 1
    command = next(x for x in done.stdout.splitlines() if "apt-get install" in x)
    assert "gcc" in command and "libc6-dev" in command and "redis" not in command


def test_chromium_of_ubuntu_is_not_unpacked(machine):
    """Its package tells snapd what to fetch."""
    add(machine, COMPILER)
    done = deps(machine, "docs", release="ID=ubuntu\nVERSION_ID=24.04\n")
    called = next(x for x in done.stdout.splitlines() if "unpack.sh called" in x)
    assert "libhiredis-dev" in called and "chromium" not in called


@pytest.mark.parametrize("user", ["root", "sudo"])
def test_the_package_manager_installs_when_it_is_asked_to(machine, user):
    program(machine, *(("id", "echo 0") if user == "root" else ("sudo", 'exec "$@"')))
    done = deps(machine, "build", INSTALL="system")
    assert re.search("^install.sh called: .*gcc.*libhiredis-dev", done.stdout, re.M)
    assert "unpack.sh" not in done.stdout
    assert "Still not found" in done.stdout and done.returncode == 1


def test_no_install_installs_nothing(machine):
    program(machine, "id", "echo 0")
    done = deps(machine, "build", NO_INSTALL="1", INSTALL="system")
    assert "called" not in done.stdout and done.returncode == 1


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="not Debian")
def test_unpacked_programs_are_found_and_no_program_becomes_root(machine, tmp_path):
    """One package, made here, which a made-up apt-get brings."""
    package = tmp_path / "package"
    (package / "DEBIAN").mkdir(parents=True)
    (package / "DEBIAN/control").write_text(
        "Package: hello\nVersion: 1\nArchitecture: all\nMaintainer: A <a@b>\nDescription: x\n")
    (package / "usr/sbin").mkdir(parents=True)
    program(package / "usr/sbin", "hello-zerohttpd", "echo hello")
    (package / "usr/sbin/hello-zerohttpd").chmod(0o4755)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", package, tmp_path / "hello.deb"],
                   check=True, stdout=subprocess.DEVNULL)
    program(machine, "apt-cache", "[ $# -gt 0 ] && echo yes")
    program(machine, "patchelf", "exit 0")
    program(machine, "apt-get", f"""
for word; do case $word in Dir::Cache=*) cache=${{word#*=}} ;; esac; done
case $* in
*--print-uris*) echo "'http://x/hello.deb' hello.deb 1200000 MD5Sum:0" ;;
*--download-only*) cp {tmp_path}/hello.deb $cache/archives ;;
esac""")
    shutil.copy(TOP / "scripts/unpack.sh", tmp_path / "scripts")
    path = f"{machine}:{os.environ['PATH']}"
    done = subprocess.run([tmp_path / "scripts/unpack.sh", "hello"], text=True, check=False,
                          env={"PATH": path}, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 packages, 2 MB" in done.stdout
    found = tmp_path / "build/deps/bin/hello-zerohttpd"
    assert subprocess.check_output([found], text=True) == "hello\n"
    assert not found.stat().st_mode & 0o6000
    unpacked = (tmp_path / "build/deps/apt/unpacked").read_text()
    assert "Package: hello" in unpacked and "Status: install ok installed" in unpacked


def test_compare_goes_on_without_what_it_can_do_without(machine):
    """Compiler, Redis and Python are there, by whatever means; no load tool.
    The script says so and leaves no stamp: it looks again the next time."""
    stamp = machine.parent / "stamp"
    add(machine, "gcc ar pkg-config redis-server redis-cli python")
    settings = {"STAMP": str(stamp), "PYTHON": str(machine / "python")}
    done = deps(machine, "compare", **settings)
    assert done.returncode == 0
    assert re.search("^  httperf +a load tool", done.stdout, re.M)
    assert "Continuing without" in done.stdout and not stamp.exists()
    assert deps(machine, "load", **settings).returncode == 1
    done = deps(machine, "run", **settings)
    assert (done.returncode, done.stdout) == (0, "") and stamp.exists()
    (machine / "redis-server").unlink()
    assert deps(machine, "compare", **settings).returncode == 1


# ------------------------------------------------------------- minimum versions

@pytest.mark.parametrize("setting, said", [
    (("uname", "echo 4.4.0-gvisor"), "Linux 4.4 is too old: 5.13"),
    (("uname", "echo 5.9.16"), "Linux 5.9 is too old"),
    (("getconf", "echo glibc 2.31"), "glibc 2.31 is too old: 2.32"),
    (("getconf", "exit 1"), "the C library is not glibc")],
    ids="gvisor kernel glibc musl".split())
def test_a_system_that_is_too_old_is_named_first(machine, setting, said):
    add(machine, "gcc ar pkg-config")
    program(machine, *setting)
    done = deps(machine, "build", STAMP="/no/stamp")
    assert done.returncode == 1 and said in done.stdout.splitlines()[0]
    assert "What you can do:" in done.stdout and "containers.md" in done.stdout


@pytest.mark.parametrize("release, old", [
    ('ID=debian\nVERSION_ID="11"\n', True), (DEBIAN, False), ("ID=debian\n", False),
    ('ID=ubuntu\nVERSION_ID="22.04"\n', True), ('ID=ubuntu\nVERSION_ID="25.10"\n', False)])
def test_an_old_release_is_noted(machine, release, old):
    assert ("oldest release" in deps(machine, "build", release=release).stdout) == old


def test_an_old_python_is_as_good_as_none(machine):
    assert "python3" not in deps(machine, "layering", PYTHON=sys.executable).stdout
    least = machine.parent / "scripts/minimum.txt"
    least.write_text(least.read_text().replace("python  3.11", "python  3.99"))
    done = deps(machine, "layering", PYTHON=sys.executable)
    assert re.search("^  python3 ", done.stdout, re.M) and done.returncode == 1


def test_the_minimum_is_named_alike_everywhere():
    least = dict(re.findall(r"^(\w+) +([\d.]+) ",
                            (TOP / "scripts/minimum.txt").read_text(), re.M))
    page = (TOP / "docs/howto/install.md").read_text()
    table = dict(re.findall(r"^\| (\w+) +\| ([\d.]+) ", page, re.M))
    assert {name.lower(): version for name, version in table.items()} == least
    assert f"install Python {least['python']}" in (TOP / "Makefile").read_text()
