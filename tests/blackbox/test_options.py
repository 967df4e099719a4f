"""The command line: what each server takes, refuses, and says."""

import re
import socket
import subprocess

import pytest

from tests.support.client import Connection
from tests.support.private_redis import PrivateRedis
from tests.support.processes import DEADLINE, end, spawn, wait_for
from tests.support.servers import FOLDERS, Server, run

pytestmark = pytest.mark.protocol

# Options that belong to a model: those that take them.
OWN = {
    "--workers": {"preforking", "epoll"},
    "--threads": {"prethreaded"},
    "--max-children": {"forking"},
    "--max-threads": {"threaded"},
    "--max-connections": {"poll", "epoll"},
}
SHORT = {"--workers": "-w", "--threads": "-t"}


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


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(executable, server_name, option):
    result = run(executable, option)
    assert result.returncode == 0
    assert result.stderr == ""
    for name in ["--port", "--host", "--root", "--backlog", "--redis",
                 "--pipeline", "--compute", "--keep-alive",
                 "--request-timeout", "--drain-timeout", "--access-log", "--user", "--quiet",
                 "--verbose", "--help", "--version", "REDIS_HOST"]:
        assert name in result.stdout, name
    for name, takers in OWN.items():
        assert (name in result.stdout) == (server_name in takers), name
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(executable, option):
    result = run(executable, option)
    assert result.returncode == 0
    assert result.stderr == ""
    assert re.match(r"zerohttpd/2\.0\b", result.stdout)
    assert result.stdout.count("\n") == 1


# Wrong usage: exit status 2

@pytest.mark.parametrize("options", [
    ["--bogus"], ["-z"], ["--port"], ["-p"], ["--redis"], ["--pipeline=yes"]],
    ids=" ".join)
def test_options_that_there_are_not(executable, options):
    refused(executable, 2, *options)


@pytest.mark.parametrize("option", OWN)
def test_options_of_another_model(executable, server_name, option):
    if server_name in OWN[option]:
        assert run(executable, option, "3", "--help").returncode == 0
        return
    spellings = [[option, "3"], [f"{option}=3"]]
    if option in SHORT:
        spellings += [[SHORT[option], "3"], [SHORT[option] + "3"]]
    for spelling in spellings:
        said = refused(executable, 2, *spelling,
                       mentions=[option, FOLDERS[server_name]])
        assert len(said.split()) > 8, "does not say why"
    # Wrong for two reasons is still wrong usage.
    refused(executable, 2, option, "x")


@pytest.mark.parametrize("option", OWN)
@pytest.mark.parametrize("value", ["0", "-1", "x", "", "3x", "1.5",
                                   "99999999999999999999"])
def test_bounds_that_are_no_bounds(executable, server_name, option, value):
    if server_name in OWN[option]:
        refused(executable, 2, option, value, mentions=[option])


@pytest.mark.parametrize("option, value", [
    *(("--port", v) for v in ["-1", "65536", "http", "", "80x", " ", "1e3"]),
    *(("--backlog", v) for v in ["0", "-5", "many", ""]),
    *((o, v) for o in ["--keep-alive", "--request-timeout",
                       "--drain-timeout"]
      for v in ["-1", "soon", "", "5s", "nan", "1e99", "inf"]),
    ("--request-timeout", "0"),
    *(("--redis", v) for v in ["", "unix:", "host:", "host:port", ":6379",
                               "127.0.0.1:0", "127.0.0.1:65536", "[::1]:",
                               "[]:6379", "unix:/" + 107 * "x"])])
def test_values_that_make_no_sense(executable, option, value):
    refused(executable, 2, option, value, mentions=[option.strip("-")])


@pytest.mark.parametrize("words", [
    ["http"], ["-1"], ["65536"], ["8000", "127.0.0.1", "more"], [""],
    ["8000", "host:port"]], ids=" ".join)
def test_words_that_make_no_sense(executable, words):
    refused(executable, 2, *words)


def test_an_option_is_wrong_before_the_port_is_taken(executable, server):
    refused(executable, 2, "-p", server.address[1], "--bogus")


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


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid",
                                  "256.1.1.1", ""])
def test_an_address_that_is_not_ours(executable, site, host):
    cannot(executable, site, "-p", "0", "-H", host)


def test_no_such_folder(executable, site):
    cannot(executable, site, "-p", "0", "-r", "/no/such/folder",
           mentions=["/no/such/folder"])


@pytest.mark.parametrize("missing", ["public", "templates"])
def test_a_folder_without(executable, own_site, missing):
    (own_site.root / missing).rename(own_site.root / "elsewhere")
    cannot(executable, own_site, "-p", "0", mentions=[missing])


def test_a_file_for_a_folder(executable, site):
    cannot(executable, site, "-p", "0", "-r", site.public / "index.html")


def test_a_log_that_cannot_be_written(executable, site):
    cannot(executable, site, "-p", "0", "--access-log", "/no/such/folder/log",
           mentions=["/no/such/folder/log"])


def test_no_such_user(executable, site):
    cannot(executable, site, "-p", "0", "--user", "no-such-user",
           mentions=["no-such-user"])


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


def test_a_host_by_name(launch):
    server = launch("--redis", "none", "-H", "127.0.0.1")
    assert server.request("/answer").body == b"42"


@pytest.mark.parametrize("backlog", ["1", "17", "4096"])
def test_backlog(launch, backlog):
    server = launch("--backlog", backlog)
    with open("/proc/sys/net/core/somaxconn", encoding="ascii") as file:
        limit = int(file.read())
    assert server.backlog == min(int(backlog), limit)
    assert server.request("/answer").body == b"42"


def test_the_last_of_an_option_counts(launch):
    server = launch("--backlog", "1", "-b", "9")
    assert server.backlog == 9


def test_seconds_may_have_decimals(launch):
    for value in ["0.5", ".5", "2.25", "1e1"]:
        server = launch("--keep-alive", value, "--request-timeout", value,
                        "--drain-timeout", value)
        assert server.request("/answer").body == b"42"
        server.stop()


def test_port_and_redis_host_as_words(executable, site, redis):
    """The article's form: ./epoll 8000 redis.example.org"""
    server = Server(executable, "--root", site.root, "0", redis.address)
    assert server.request("/guestbook").status == 200
    server.stop()


def test_a_redis_host_by_name(executable, site):
    instance = PrivateRedis()
    try:
        server = Server(executable, "-p", 0, "--root", site.root, "--redis",
                        f"localhost:{instance.port}")
        assert server.request("/guestbook").status == 200
        server.stop()
    finally:
        instance.close()


def test_options_after_words(executable, site):
    server = Server(executable, "0", "--root", site.root, "--redis", "none")
    assert server.request("/answer").body == b"42"
    server.stop()


def test_the_root_is_the_current_folder(executable, site, monkeypatch):
    monkeypatch.chdir(site.root)
    server = Server(executable, "-p", "0", "--redis", "none")
    assert server.request("/").body == \
        (site.public / "index.html").read_bytes()
    server.stop()


def test_quiet(executable, site):
    """Nothing but errors: no ready line, no report. So the port has to be
    named: one that the kernel has just shown to be free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()

    def answers():
        try:
            with Connection(address) as connection:
                return connection.request("/answer").body == b"42"
        except ConnectionRefusedError:
            return False

    process = spawn([executable, "-q", "-p", str(address[1]), "-r", site.root,
                     "--redis", "none"], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(answers, "the silent server")
        process.terminate()
        assert process.communicate(timeout=DEADLINE) == (b"", b"")
        assert process.returncode == 0
    finally:
        end(process)


def test_verbose(launch):
    server = launch("-v")
    assert server.request("/answer").body == b"42"
