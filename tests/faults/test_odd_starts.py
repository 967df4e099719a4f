"""Started in unusual ways: without standard streams, environment, arguments or /proc; stopped and
continued; with a log that has no reader."""

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time

import pytest

from tests.support.access_log import fields
from tests.support.client import Connection, build
from tests.support.guest import URLENCODED, form
from tests.support.processes import DEADLINE, children, freeze, session_members, wait_for
from tests.support.servers import FOLDERS, SMALL_POOL, Server
from tools.kit import netns, procfs, sockets

pytestmark = pytest.mark.shared


def expect_service(server):
    """Check that it serves each kind of page, and a report when asked."""
    assert server.request("/answer").body == b"42"
    assert server.request("/").status == 200
    assert server.request("/guestbook").status == 200
    assert server.request("/guestbook", "POST", [URLENCODED],
                          form("Ada", "here")).status == 303
    server.send_signal(signal.SIGUSR1)
    server.read_report()


# Without standard streams

class Mute(Server):
    """A server whose ready line cannot be read: the kernel tells its port."""

    def read_line(self, deadline=DEADLINE):
        port = wait_for(self._port, "the server to listen", deadline)
        return (f"listening on http://127.0.0.1:{port}/ "
                f"({FOLDERS[self.name]}, not read, backlog 1)\n")

    def _port(self):
        assert self.is_running(), self.stderr()
        ours = set(procfs.open_files(self.pid).values())
        return next((one.local[1] for one in sockets.tcp(sockets.LISTEN)
                     if f"socket:[{one.inode}]" in ours), None)


def set_descriptor_limit(server, limit):
    """Set the soft limit of each process of the server; return the old one."""
    for pid in session_members(server.pid):
        old, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
    return old


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_standard_streams(executable, site, redis, closed):
    """Their numbers go to /dev/null, never to a socket: what the server reports
    to its user would be read by a client."""
    def close_some():
        for number in closed:
            os.close(number)

    server = Mute(executable, "-p", 0, "--root", site.root, "--redis", redis.address,
                  "--keep-alive", 60, *SMALL_POOL.get(executable.name, ()),
                  preexec_fn=close_some)
    try:
        for pid in session_members(server.pid):
            table = procfs.open_files(pid)
            assert [table.get(number) for number in closed] == \
                ["/dev/null"] * len(closed)
        with server.connect() as first:
            assert first.request("/answer").body == b"42"
            first.send(build("/answer")[:-2])           # not idle, so it stays
            server.wait_until_read(first)
            server.send_signal(signal.SIGUSR1)          # a report
            limit = set_descriptor_limit(server, 3)     # "cannot accept"
            second = server.connect()
            second.send(build("/answer"))
            first.send(b"\r\n")
            assert first.read_response().body == b"42"
            set_descriptor_limit(server, limit)
        with second:
            assert second.read_response().body == b"42"
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0
    finally:
        server.end()


# Without what a process usually has

def test_no_environment(launch):
    """As `env -i` starts it."""
    expect_service(launch(env={}))


@contextlib.contextmanager
def network_of(pid):
    """What this thread connects within the block, it connects there."""
    setns = ctypes.CDLL(None).setns
    with open("/proc/thread-self/ns/net", "rb") as ours, \
            open(f"/proc/{pid}/ns/net", "rb") as theirs:
        assert setns(theirs.fileno(), netns.CLONE_NEWNET) == 0
        try:
            yield
        finally:
            assert setns(ours.fileno(), netns.CLONE_NEWNET) == 0


@pytest.mark.skipif(os.geteuid() != 0 or bool(netns.problem()),
                    reason="only root may enter another network")
def test_no_arguments_at_all(executable, site):
    """Not even the program's name: all options have their defaults. (Linux 5.18 and newer make
    it one empty argument.)"""
    def execute():
        netns.enter()           # port 8000 is free there
        os.chdir(site.root)
        nothing = (ctypes.c_char_p * 1)(None)
        ctypes.CDLL(None).execve(os.fsencode(executable), nothing, nothing)

    server = Server(executable, preexec_fn=execute)
    try:
        assert server.address == ("127.0.0.1", 8000)
        with network_of(server.pid):
            connection = Connection(server.address)
        with connection:
            assert connection.request("/answer").body == b"42"
            assert connection.request("/guestbook").status == 503
        server.send_signal(signal.SIGTERM)
        server.finish()
    finally:
        server.end()


OWN_MOUNTS = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


@pytest.mark.skipif(subprocess.run([*OWN_MOUNTS, "true"], capture_output=True,
                                   check=False).returncode != 0,
                    reason="this user may not make namespaces")
def test_no_proc(launch, own_site):
    """Where /proc is not mounted."""
    log = own_site.root / "access.log"
    server = launch("--access-log", log, prefix=[
        *OWN_MOUNTS, "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$0" "$@"'])
    assert os.listdir(f"/proc/{server.pid}/root/proc") == []
    expect_service(server)
    server.send_signal(signal.SIGHUP)
    assert server.request("/answer").body == b"42"
    server.stop()
    lines = log.read_text(encoding="ascii").splitlines()
    assert len(lines) == 5 and all(map(fields, lines))


# Stopped and continued

def stop_and_continue(launch, site, server_name, choose):
    """Play it with the processes that choose(server) returns.

    For longer than a request may take and an idle client may stay. What the
    server has begun arrives whole, no process is replaced, and all goes on. A
    request that was late for that reason alone is answered, too: 408 or 200.
    """
    large = os.urandom(3_000_000)
    site.write("large.bin", large)
    server = launch("--request-timeout", 1, "--keep-alive", 1, root=site.root)
    if server_name == "preforking":
        wait_for(lambda: len(children(server.pid)) == 4, "four workers")
    last = [("Connection", "close")]
    with server.connect(receive_buffer=4096) as reader, \
            server.connect() as half, server.connect() as newcomer:
        reader.send(build("/large.bin", fields=last))
        reader.receive(1000)
        half.send(build("/answer", fields=last)[:-2])
        if server_name != "iterative":          # it waits in the accept queue
            server.wait_until_read(half)
        before = session_members(server.pid)
        stopped = choose(server)
        freeze(stopped)
        half.send(b"\r\n")
        newcomer.send(build("/answer", fields=last))
        until = time.monotonic() + 1.5          # longer than each limit
        while time.monotonic() < until:
            if reader.arrived():    # what the kernel had taken before the stop
                reader.receive(1000)
            time.sleep(0.02)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        reader.widen()
        assert reader.read_response().body == large
        reader.expect_closed()
        assert newcomer.read_response().body == b"42"
        newcomer.expect_closed()
        assert half.read_response().status in (200, 408)
        half.expect_closed()
    if server_name != "forking":    # its children end with their clients
        assert session_members(server.pid) == before
    expect_service(server)
    assert server.stderr() == ""


def test_all_processes_are_stopped(launch, own_site, server_name):
    """As Ctrl-Z and `fg` do it, or a machine that is suspended."""
    stop_and_continue(launch, own_site, server_name,
                      lambda server: session_members(server.pid))


@pytest.mark.only("forking", "preforking")
def test_the_parent_is_stopped(launch, own_site, server_name):
    stop_and_continue(launch, own_site, server_name,
                      lambda server: [server.pid])


@pytest.mark.only("forking", "preforking")
def test_the_children_are_stopped(launch, own_site, server_name):
    stop_and_continue(launch, own_site, server_name,
                      lambda server: children(server.pid))


# A log that has no reader

def test_the_reader_of_the_log_has_gone(launch, own_site):
    """Writing to a pipe without a reader is an error, SIGPIPE not an end."""
    fifo = own_site.root / "log"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    server = launch("--access-log", fifo)
    server.request("/answer")
    os.close(reader)
    expect_service(server)


def test_the_reader_of_standard_output_has_gone(launch):
    """The log, the reports and the last report find a closed pipe."""
    server = launch("--access-log", "-")
    server.hang_up()
    for _ in range(8):
        assert server.request("/answer").body == b"42"
        server.send_signal(signal.SIGUSR1)
    server.send_signal(signal.SIGTERM)
    assert server.wait() == 0
    server.end()
