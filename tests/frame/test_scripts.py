"""The Makefile and the scripts that it calls."""

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
NAMES = "iterative forking preforking threaded prethreaded poll epoll".split()


def run(*command, **settings):
    """Run a command in the project's folder; return the CompletedProcess."""
    settings.setdefault("cwd", TOP)
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=120, **settings)


def wait_for(condition):
    """Wait until the condition holds; AssertionError after a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# ---------------------------------------------------------------- with_redis.sh

WITH_REDIS = TOP / "scripts/with_redis.sh"
ASK = 'echo ${1#unix:}; redis-cli -s ${1#unix:} ping'


def test_the_command_finds_a_redis_that_is_gone_afterwards():
    done = run(WITH_REDIS, "sh", "-c", ASK, "sh", "@REDIS@")
    socket, pong = done.stdout.splitlines()
    assert pong == "PONG" and done.returncode == 0
    wait_for(lambda: not Path(socket).parent.exists())


def test_the_exit_status_is_the_commands():
    assert run(WITH_REDIS, "sh", "-c", "exit 7").returncode == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_redis_ends_after_the_command(number):
    """The signal goes to the whole group, as a terminal sends SIGINT.

    The command takes its time to end, and still finds Redis alive.
    """
    work = (f"trap 'sleep 0.2; {ASK}; exit 3' INT TERM; {ASK};"
            "while :; do sleep 0.05; done")
    command = subprocess.Popen([WITH_REDIS, "sh", "-c", work, "sh", "@REDIS@"],
                               stdout=subprocess.PIPE, text=True,
                               start_new_session=True,
                               # A background job inherits SIGINT ignored, and
                               # sh(1) cannot trap what it finds ignored.
                               preexec_fn=lambda: signal.signal(
                                   signal.SIGINT, signal.SIG_DFL))
    socket = command.stdout.readline().strip()
    assert command.stdout.readline() == "PONG\n"
    assert processes_with(socket)
    os.killpg(command.pid, number)
    status = command.wait(timeout=60)
    if number != signal.SIGKILL:
        assert status == 3
        assert command.stdout.read() == f"{socket}\nPONG\n"
    wait_for(lambda: not Path(socket).parent.exists())
    assert not processes_with(socket)


def test_redis_outlives_the_command_for_its_children():
    work = f"{ASK}; (sleep 0.3; {ASK}) & exit 0"
    done = run(WITH_REDIS, "sh", "-c", work, "sh", "@REDIS@")
    assert done.stdout.count("PONG") == 2


def processes_with(word):
    """Return the pids of processes with the word in their command line.

    Redis shows where it listens as `redis-server unixsocket:PATH`.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass                        # ended in between
    return found


# ---------------------------------------------------------------------- deps.sh

@pytest.fixture
def bare_path(tmp_path):
    """A PATH of a machine that has a shell and apt-get and little else.

    Its apt-get says what it was called with and installs nothing.
    """
    for tool in "sh sed grep head id printf env cat".split():
        (tmp_path / tool).symlink_to(f"/bin/{tool}" if Path(f"/bin/{tool}").exists()
                                     else f"/usr/bin/{tool}")
    for name, text in (("apt-get", 'echo "apt-get called: $*"'),
                       ("sudo", 'echo "sudo called"; exec "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return str(tmp_path)


def deps(path, *groups, **environment):
    """Run deps.sh with this PATH and nothing else in the environment."""
    return run("/bin/sh", TOP / "scripts/deps.sh", *groups,
               env={"PATH": path, **environment})


def test_no_install_prints_one_command_and_installs_nothing(bare_path):
    done = deps(bare_path, "check", "compare", NO_INSTALL="1")
    commands = [line for line in done.stdout.splitlines() if "apt-get install" in line]
    assert done.returncode == 1
    assert len(commands) == 1 and "apt-get called" not in done.stdout
    for package in "gcc pkg-config redis-server clang wrk apache2-utils".split():
        assert commands[0].split().count(package) == 1
        assert re.search(rf"^  {package} +\w", done.stdout, re.M), "says what for"


def test_what_is_still_missing_after_the_installation_is_told(bare_path):
    done = deps(bare_path, "build")
    assert "apt-get called: -o DPkg::Lock::Timeout=600 install" in done.stdout
    assert "still not found" in done.stdout and done.returncode == 1


def test_compare_goes_on_without_what_it_can_do_without(bare_path):
    """Compiler, Redis and Python are there, by whatever means; no load tool.
    The script says so and leaves no stamp: it looks again the next time."""
    stamp = Path(bare_path) / "stamp"
    for tool in "gcc ar pkg-config redis-server redis-cli".split():
        (Path(bare_path) / tool).write_text("#!/bin/sh\nexit 0\n")
        (Path(bare_path) / tool).chmod(0o755)
    for settings in ({"NO_INSTALL": "1"}, {}):
        done = deps(bare_path, "compare", STAMP=str(stamp), **settings)
        assert done.returncode == 0
        assert re.search("^  httperf +a load tool", done.stdout, re.M)
        assert "Continuing without" in done.stdout and not stamp.exists()
    assert deps(bare_path, "load", NO_INSTALL="1").returncode == 1
    (Path(bare_path) / "redis-server").unlink()
    assert deps(bare_path, "compare", NO_INSTALL="1").returncode == 1


def test_nothing_is_said_when_nothing_is_missing():
    done = run("scripts/deps.sh", "build", "run", env={**os.environ, "NO_INSTALL": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_unknown_group_is_refused(bare_path):
    assert deps(bare_path, "nonsense").returncode == 2


# --------------------------------------------------------------------- Makefile

def make(*arguments):
    """Call make on what is built, without building (-o all)."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("MAKE")}
    return run("make", "-o", "all", *arguments, env=environment)


def test_help_names_every_command():
    words = make("help").stdout.split()
    for target in ("all check check-all test check-shape compare study report deps doctor install uninstall clean format "
                   "tidy compile_commands.json help diff-01-02 run-07").split():
        assert target in words


def test_users_flags_replace_the_optimization_alone():
    for line in make("-n", "-B", "V=1", "CC=tcc", "CFLAGS=-Os", "CPPFLAGS=-DX",
                     "LDFLAGS=-s", "FLAVOUR=try", "build/try/common/text.o",
                     "build/try/bin/epoll").stdout.splitlines():
        if line.startswith("tcc") and " -c " in line:
            assert " -Os " in line and " -DX " in line and " -Wconversion " in line
            assert " -O2 " not in line and " -g " not in line
        elif line.startswith("tcc"):
            assert " -s " in line and "relro" in line


def test_variables_reach_the_check_as_they_were_given():
    done = make("-n", "-o", "build/deps/test", "check-unit", "CFLAGS=-O1 -g",
                "WERROR=1")
    words = shlex.split(done.stdout.splitlines()[-1])
    assert words[-1] == "unit" and {"CFLAGS=-O1 -g", "WERROR=1"} <= set(words)


def test_what_is_installed_runs_and_is_removed_again(tmp_path):
    assert make("install", f"DESTDIR={tmp_path}", "PREFIX=/opt/z").returncode == 0
    for name in NAMES:
        done = run(tmp_path / "opt/z/bin" / f"zerohttpd-{name}", "--version")
        assert done.returncode == 0
    assert (tmp_path / "opt/z/share/zerohttpd/public/index.html").is_file()
    assert (tmp_path / "opt/z/share/zerohttpd/templates/guestbook/index.html").is_file()
    assert make("uninstall", f"DESTDIR={tmp_path}", "PREFIX=/opt/z").returncode == 0
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


@pytest.mark.parametrize("pair", ["01-02", "02-03", "03-04", "04-05", "05-06", "06-07"])
def test_two_servers_side_by_side(pair):
    done = make(f"diff-{pair}")
    assert done.returncode == 0
    assert done.stdout.count("int main(int argc, char **argv)") == 2
    assert "1 file changed" in done.stdout
