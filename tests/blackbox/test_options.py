"""The command line: what each server takes, refuses, and says."""

import re
import socket
import subprocess

import pytest

from tests.support.by_hand import answers, without_redis
from tests.support.processes import DEADLINE, end, spawn, wait_for
from tests.support.servers import FOLDERS, Server, run
from tools.kit.process import free_port

pytestmark = pytest.mark.protocol
shown_by_all = pytest.mark.only(*FOLDERS)

# Options that belong to a model: those that take them.
OWN = {
    "--workers": {"preforking", "epoll"},
    "--threads": {"prethreaded"},
    "--max-children": {"forking"},
    "--max-threads": {"threaded"},
    "--max-connections": {"poll", "epoll"},
}


def refused(executable, status, *options, mentions=()):
    """Run it; it must refuse with that status, saying why. Returns stderr."""
    result = run(executable, *options)
    assert result.returncode == status, (result.stdout, result.stderr)
    assert result.stdout == ""
    assert result.stderr.strip(), "not a word on standard error"
    assert result.stderr.endswith("\n")
    assert len(result.stderr.splitlines()) <= 2, result.stderr
    for word in mentions:
        assert word in result.stderr, result.stderr
    return result.stderr


# What it says about itself

def test_the_ready_line(server, server_name):
    assert server.folder == FOLDERS[server_name]
    assert server.address[0] == "127.0.0.1"
    assert server.address[1] > 0


@shown_by_all
def test_help(executable, server_name):
    for option in "-h", "--help":
        result = run(executable, option)
        assert (result.returncode, result.stderr) == (0, "")
        for name in ["--port", "--host", "--root", "--backlog", "--redis", "--pipeline",
                     "--compute", "--keep-alive", "--request-timeout", "--drain-timeout",
                     "--access-log", "--user", "--quiet", "--verbose", "--help", "--version",
                     "REDIS_HOST"]:
            assert name in result.stdout, name
        for name, takers in OWN.items():
            assert (name in result.stdout) == (server_name in takers), name
        assert max(map(len, result.stdout.splitlines())) <= 80


def test_version(executable):
    for option in "-V", "--version":
        result = run(executable, option)
        assert (result.returncode, result.stderr) == (0, "")
        assert re.fullmatch(r"zerohttpd/2\.0\b.*\n", result.stdout)


# Wrong usage: exit status 2. All values: tests/unit/test_options.c.

def test_wrong_usage(executable, server):
    for option, value in [("--port", "80x"), ("--request-timeout", "5s"), ("--redis", "host:")]:
        refused(executable, 2, option, value, mentions=[option.strip("-")])
    for words in ["--bogus"], ["-p"], ["http"], ["8000", "127.0.0.1", "more"]:
        refused(executable, 2, *words)
    # That comes before the port is taken.
    refused(executable, 2, "-p", server.address[1], "--bogus")


@shown_by_all
def test_options_of_a_model(executable, server_name):
    for option, takers in OWN.items():
        if server_name in takers:
            assert run(executable, option, "3", "--help").returncode == 0
            refused(executable, 2, option, "0", mentions=[option])
        else:
            said = refused(executable, 2, option, "3", mentions=[option, FOLDERS[server_name]])
            assert len(said.split()) > 8, "does not say why"


# Cannot run: exit status 1, one line with cause and remedy

def cannot(executable, site, *options, mentions=()):
    said = refused(executable, 1, "-r", site.root, "--redis", "none",
                   *options, mentions=mentions)
    assert said.count("\n") == 1, said
    assert len(said.split()) > 6, "cause and remedy?"


def test_port_in_use(executable, site, server):
    port = str(server.address[1])
    cannot(executable, site, "-p", port,
           mentions=[port, "in use", "--port"])
    assert server.request("/answer").body == b"42"


@pytest.mark.only("epoll")
def test_port_in_use_by_several_loops(launch, executable, site):
    """SO_REUSEPORT is for the loops of one server, not for two servers."""
    server = launch("--workers", "2")
    cannot(executable, site, "-p", server.address[1], mentions=["in use"])


def test_what_there_is_not(executable, site, own_site):
    for host in "192.0.2.1", "no.such.host.invalid", "":
        cannot(executable, site, "-p", "0", "-H", host)
    for option, value in [("-r", "/no/such/folder"), ("--access-log", "/no/such/folder/log"),
                          ("--user", "no-such-user"), ("-r", site.public / "index.html")]:
        cannot(executable, site, "-p", "0", option, value, mentions=[str(value)])
    for missing in "public", "templates":
        folder = (own_site.root / missing).rename(own_site.root / "elsewhere")
        cannot(executable, own_site, "-p", "0", mentions=[missing])
        folder.rename(own_site.root / missing)


# What it takes

def test_an_ipv6_address(launch):
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = launch("-H", "::1")
    assert server.address[0] == "::1"
    assert server.request("/answer").body == b"42"


def test_backlog(launch):
    """The last of an option counts."""
    with open("/proc/sys/net/core/somaxconn", encoding="ascii") as file:
        limit = int(file.read())
    for options, backlog in [(["--backlog", "17"], 17), (["-b", "4096"], min(4096, limit)),
                             (["--backlog", "1", "-b", "9"], 9)]:
        server = launch(*options)
        assert server.backlog == backlog
        assert server.request("/answer").body == b"42"


def test_port_and_redis_host_as_words(executable, site, redis):
    """The article's form: ./epoll 8000 redis.example.org"""
    for words in [["--root", site.root, "0", f"localhost:{redis.port}"],
                  ["0", redis.address, "--root", site.root]]:
        server = Server(executable, *words)
        assert server.request("/guestbook").status == 200
        server.stop()


def test_the_root_is_the_current_folder(executable, site, monkeypatch):
    monkeypatch.chdir(site.root)
    server = Server(executable, "-p", "0", "--redis", "none")
    assert server.request("/").body == \
        (site.public / "index.html").read_bytes()
    server.stop()


def test_quiet(executable, site):
    """Nothing but errors: no ready line, no report. So the port has to be named."""
    address = "127.0.0.1", free_port()
    process = spawn(without_redis(executable, site, "-q", "-p", address[1]),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: answers(address), "the silent server")
        process.terminate()
        assert process.communicate(timeout=DEADLINE) == (b"", b"")
        assert process.returncode == 0
    finally:
        end(process)
