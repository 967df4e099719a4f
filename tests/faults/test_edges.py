"""What surrounds a server: limits of the shell that started it, odd kernels, and process 1 of a
container."""

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import socket
import subprocess

import pytest

from tests.support.by_hand import answers, with_strace, without_redis
from tests.support.client import Closed, build
from tests.support.processes import (DEADLINE, children, end, session_members, spawn, wait_for,
                                     zombies)
from tests.support.servers import READY, SMALL_POOL, Server

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


# Limits of the shell that started it

def processes_of(server):
    """List the pids of a server, all of its workers among them."""
    count = 1 + (4 if server.name == "preforking" else 0)   # see SMALL_POOL
    wait_for(lambda: len(session_members(server.pid)) >= count, "its workers")
    return session_members(server.pid)


def limit_file_size():
    """For preexec_fn: what `ulimit -f 4` does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_the_log_at_the_limit_of_file_sizes(launch, own_site):
    """SIGXFSZ would end the server. Lines are lost, with a warning; answers are
    not, and no worker is."""
    log = own_site.root / "access.log"
    server = launch("--access-log", log, preexec_fn=limit_file_size)
    before = set(processes_of(server))
    for _ in range(120):                # a line has 66 bytes
        assert server.request("/answer").body == b"42"
    assert log.stat().st_size == 4096
    assert before <= set(processes_of(server))
    warnings = server.stderr().splitlines()
    assert len(warnings) == 1 and "access log" in warnings[0], warnings
    assert server.stop()[0] == 120


@pytest.mark.shared
def test_the_log_on_a_full_disk(launch):
    """The same, for as long as the disk is full."""
    server = launch("--access-log", "/dev/full")
    for _ in range(20):
        assert server.request("/answer").body == b"42"
    [warning] = server.stderr().splitlines()
    assert "No space left on device; lines are lost" in warning


@pytest.mark.shared
def test_a_cut_line_of_the_log_ends_before_the_next(launch, own_site):
    """The limit falls into a line. When there is room again, the next line has a
    line of its own."""
    log = own_site.root / "access.log"
    server = launch("--access-log", log)
    pids = processes_of(server)
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    for _ in range(3):
        assert server.request("/answer").body == b"42"
    assert log.stat().st_size == 100
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE,
                         (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for _ in range(3):
        assert server.request("/hello").status == 200
    wait_for(lambda: log.read_bytes().count(b"\n") == 5, "five lines")
    lines = log.read_text().split("\n")
    assert len(lines[1]) < len(lines[0])                # the one that was cut
    assert ["/hello" in line for line in lines] == \
        [False, False, True, True, True, False]


# A file that another program holds a lease on

F_SETLEASE = 1024


@pytest.mark.shared
def test_a_leased_file_is_503_and_stops_nobody(launch, own_site):
    """Opening it would wait for its holder to give up the lease, up to
    /proc/sys/fs/lease-break-time seconds."""
    leased = own_site.write("leased.txt", b"content")
    server = launch(root=own_site.root)
    with open(leased, "r+b") as file:
        previous = signal.signal(signal.SIGIO, signal.SIG_IGN)
        try:
            fcntl.fcntl(file, F_SETLEASE, fcntl.F_WRLCK)
            with server.connect() as connection:
                connection.send(build("/leased.txt"))
                assert connection.read_response().status == 503
            assert server.request("/answer").body == b"42"
            fcntl.fcntl(file, F_SETLEASE, fcntl.F_UNLCK)
        finally:
            signal.signal(signal.SIGIO, previous)
    assert server.request("/leased.txt").body == b"content"


# A file that is cut short while a worker has it open

@pytest.mark.shared
def test_a_file_that_is_cut_short_shows_in_its_answer(launch, own_site):
    """A worker trusts a file for half a second, and has sent its old length when
    it finds less. Then the connection ends, which tells the client (RFC 9112, 8);
    it is never kept with bytes missing."""
    file = own_site.write("cut.txt", b"x" * 5000)
    server = launch(root=own_site.root)
    with server.connect() as connection:
        assert connection.request("/cut.txt").body == b"x" * 5000
        os.truncate(file, 0)
        connection.send(build("/cut.txt"))
        with contextlib.suppress(Closed):           # unless it took half a second
            assert connection.read_response().body == b""

    def is_empty():
        with contextlib.suppress(Closed):           # another worker's turn
            return server.request("/cut.txt").get("Content-Length") == "0"

    wait_for(is_empty, "the file as it is now")


# The address of Redis

@as_root
@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare")
def test_a_name_of_redis_means_its_ipv4_address(executable, site, tmp_path):
    """It is looked up once, at the start: getaddrinfo(3) would block a loop. IPv4
    comes first, as Redis listens there in any case."""
    hosts = tmp_path / "hosts"
    hosts.write_text("::1 both.example\n127.0.0.1 both.example\n"
                     "::1 only6.example\n")
    for name, family, address in [("both.example", socket.AF_INET, "127.0.0.1"),
                                  ("only6.example", socket.AF_INET6, "::1"),
                                  ("[::1]", socket.AF_INET6, "::1")]:
        with socket.create_server((address, 0), family=family) as listener:
            server = Server(
                "unshare", "--mount", "sh", "-c",
                'mount --bind "$0" /etc/hosts && exec "$@"', hosts, executable,
                "-p", 0, "--root", site.root, *SMALL_POOL.get(executable.name, []),
                "--redis", f"{name}:{listener.getsockname()[1]}")
            try:
                assert server.request("/guestbook").status == 503
                listener.settimeout(DEADLINE)
                listener.accept()[0].close()        # it has connected
                server.stop()
            finally:
                server.end()


# A kernel that refuses, or says what is not so, played by strace

def refusing(call, error, executable, *more, tracer=()):
    """Return the command for a program whose calls of that name fail."""
    return ["strace", *tracer, "-f", "-o", "/dev/null", "-e", f"trace={call}",
            "-e", f"inject={call}:error={error}", executable, *more]


@with_strace
@pytest.mark.shared
@pytest.mark.parametrize("error", ["ENOSYS", "EPERM"])
def test_a_kernel_without_openat2_is_named_at_the_start(executable, site, error):
    """Linux before 5.6, and a container that refuses what it does not know."""
    done = subprocess.run(refusing("openat2", error, *without_redis(executable, site, "-p", 0)),
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and not done.stdout
    assert "openat2(2)" in done.stderr and "Linux 5.6 or newer" in done.stderr


@with_strace
@pytest.mark.only("poll", "epoll")
@pytest.mark.parametrize("error, warns", [("ECONNABORTED", False), ("EPERM", True)],
                         ids=["lost", "forbidden"])
def test_an_idle_client_stays_where_fewer_clients_would_not_help(
        executable, site, error, warns):
    """accept4 fails four times, and neither descriptors nor memory are short."""
    command = refusing("accept4", f"{error}:when=2..5", *without_redis(
        executable, site, "-p", 0, "--keep-alive", 3600), tracer=["-D"])
    server = Server(*command)
    try:
        with server.connect() as idle, server.connect() as second:
            assert idle.request("/answer").body == b"42"
            assert second.request("/answer").body == b"42"
            assert idle.request("/answer").body == b"42"
        assert bool(server.stderr()) == ("cannot accept" in server.stderr()) == warns
        server.stop()
    finally:
        server.end()


# Process 1 of a container: every orphan becomes its child

@as_root
@pytest.mark.skipif(not (shutil.which("unshare") and shutil.which("nsenter")),
                    reason="needs unshare and nsenter")
def test_process_1_reaps_orphans(executable, site):
    """It serves, replaces its workers and stops as always."""
    container = spawn(["unshare", "--pid", "--mount-proc", "--fork", *without_redis(
        executable, site, "-p", 0)], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE)
    try:
        match = READY.fullmatch(container.stdout.readline().decode())
        address = (match[1], int(match[2]))
        [pid] = children(container.pid)
        for _ in range(10):     # the shell ends first, then its child
            subprocess.run(["nsenter", "-t", str(pid), "-p", "-m", "sh", "-c",
                            "sleep 0.01 & exit"], check=True)
        assert answers(address)
        count = 4 if executable.name == "preforking" else 0     # see SMALL_POOL
        wait_for(lambda: len(children(pid)) == count and not zombies(pid),
                 "the orphans to be gone")
        workers = children(pid)
        if executable.name == "preforking":
            os.kill(workers[0], signal.SIGKILL)
            wait_for(lambda: len(children(pid)) == len(workers) and
                     workers[0] not in children(pid), "another worker")
        assert answers(address)
        os.kill(pid, signal.SIGTERM)
        assert container.wait(DEADLINE) == 0
    finally:
        end(container)
        container.stdout.close()
