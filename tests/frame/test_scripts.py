"""The Makefile and the scripts that it calls (deps.sh: test_deps.py)."""

import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import wait_for
from tests.support.servers import FOLDERS, TOP


def run(*command, **settings):
    """Run a command in the project's folder; return the CompletedProcess."""
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=120, cwd=TOP, **settings)


# ---------------------------------------------------------------- with_redis.sh

WITH_REDIS = TOP / "scripts/with_redis.sh"
ASK = 'echo ${1#unix:}; redis-cli -s ${1#unix:} ping'


def wait_until_gone(socket):
    """Wait until the folder of a private Redis is removed, then there is no such process:
    Redis shows where it listens as `redis-server unixsocket:PATH`."""
    wait_for(lambda: not Path(socket).parent.exists(), "the folder to be removed")
    assert not is_named(socket)


def is_named(word):
    """Return whether a process has the word in its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes():
                return True
        except OSError:
            pass                        # ended in between
    return False


def test_the_command_finds_a_redis_that_is_gone_afterwards():
    """The exit status is the command's."""
    done = run(WITH_REDIS, "sh", "-c", f"{ASK}; exit 7", "sh", "@REDIS@")
    socket, pong = done.stdout.splitlines()
    assert pong == "PONG" and done.returncode == 7
    wait_until_gone(socket)


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_an_interrupt_before_redis_runs_leaves_no_folder(tmp_path, name):
    """It comes just after the folder is made. The script leads its session."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "tmp").mkdir()
    made = tmp_path / "bin/mktemp"
    made.write_text(f'#!/bin/sh\n{shutil.which("mktemp")} "$@"\n'
                    f'kill -{name} $(ps -o sid= -p $$)\n')
    made.chmod(0o755)
    done = run(WITH_REDIS, "echo", "ran", start_new_session=True, env={
        **os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "TMPDIR": str(tmp_path / "tmp")})
    assert done.returncode and not done.stdout
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("there, missing", [([], "redis-server"),
                                            (["redis-server"], "redis-cli")])
def test_a_missing_program_is_named(tmp_path, there, missing):
    for name in there:
        (tmp_path / name).symlink_to("/bin/true")
    done = run(WITH_REDIS, "true", env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert f"no {missing} here; scripts/deps.sh run fetches it" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
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
    assert is_named(socket)
    os.killpg(command.pid, number)
    status = command.wait(timeout=60)
    if number != signal.SIGKILL:
        assert status == 3
        assert command.stdout.read() == f"{socket}\nPONG\n"
    wait_until_gone(socket)


def test_redis_outlives_the_command_for_its_children():
    work = f"{ASK}; (sleep 0.3; {ASK}) & exit 0"
    done = run(WITH_REDIS, "sh", "-c", work, "sh", "@REDIS@")
    assert done.stdout.count("PONG") == 2


# --------------------------------------------------------------------- Makefile

def make(*arguments):
    """Call make on what is built, without building (-o all)."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("MAKE")}
    return run("make", "-o", "all", *arguments, env=environment)


def test_a_mac_is_told_where_to_go(tmp_path):
    """First of all, and nothing else."""
    (tmp_path / "uname").write_text("#!/bin/sh\necho Darwin\n")
    (tmp_path / "uname").chmod(0o755)
    done = run("make", "test", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 2 and not done.stdout
    assert "Linux only" in done.stderr.splitlines()[0]
    assert "docs/howto/containers.md" in done.stderr


def test_help_names_every_command():
    assert set("all check check-all test check-shape compare study report deps doctor install "
               "uninstall clean format tidy compile_commands.json help diff-01-02 run-07"
               .split()) <= set(make("help").stdout.split())


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
    done = make("-n", "-o", "build/deps/unit", "check-unit", "CFLAGS=-O1 -g",
                "WERROR=1")
    words = shlex.split(done.stdout.splitlines()[-1])
    assert words[-1] == "unit" and {"CFLAGS=-O1 -g", "WERROR=1"} <= set(words)


def test_what_is_installed_runs_and_is_removed_again(tmp_path):
    assert make("install", f"DESTDIR={tmp_path}", "PREFIX=/opt/z").returncode == 0
    for name in FOLDERS:
        done = run(tmp_path / "opt/z/bin" / f"zerohttpd-{name}", "--version")
        assert done.returncode == 0
    assert (tmp_path / "opt/z/share/zerohttpd/public/index.html").is_file()
    assert (tmp_path / "opt/z/share/zerohttpd/templates/guestbook/index.html").is_file()
    assert make("uninstall", f"DESTDIR={tmp_path}", "PREFIX=/opt/z").returncode == 0
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


def test_two_servers_side_by_side():
    done = make("diff-03-05")
    assert done.returncode == 0
    assert done.stdout.count("int main(int argc, char **argv)") == 2
    assert "1 file changed" in done.stdout
