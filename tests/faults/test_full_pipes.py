"""Readers of standard output and standard error that have stopped reading."""

import contextlib
import fcntl
import os
import select
import signal
import socket
import subprocess
import time

import pytest

from tests.support.by_hand import answers, without_redis
from tests.support.client import Connection, build
from tests.support.processes import DEADLINE, end, session_members, spawn, wait_for
from tests.support.servers import READY
from tools.kit.process import free_port


class FullPipe:
    """A pipe for a server to print to; `fill()` leaves no room in it."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, 4096)

    def fill(self):
        """Write to it as long as that needs no wait."""
        while select.select([], [self.writer], [], 0)[1]:
            os.write(self.writer, b"x" * 4096)

    def close(self):
        """Close both ends."""
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture
def pipe():
    """A FullPipe that is not full yet."""
    instance = FullPipe()
    yield instance
    instance.close()


@contextlib.contextmanager
def printing_to(pipe, command, stderr=None):
    """Run a server that prints to the pipe, from its ready line on; with
    stderr=True, its warnings too. Yields (process, address)."""
    process = spawn(command, stdin=subprocess.DEVNULL, stdout=pipe.writer,
                    stderr=pipe.writer if stderr else None)
    try:
        assert select.select([pipe.reader], [], [], DEADLINE)[0]
        match = READY.fullmatch(os.read(pipe.reader, 4096).decode())
        yield process, (match[1], int(match[2]))
    finally:
        end(process)


def test_the_last_report_waits_for_no_reader(executable, site, pipe):
    """SIGTERM ends the server with status 0. The report is lost."""
    with printing_to(pipe, without_redis(executable, site, "-p", 0)) as (process, address):
        assert answers(address)
        pipe.fill()
        process.terminate()
        assert process.wait(DEADLINE) == 0
        wait_for(lambda: not session_members(process.pid), "its children's end")


def test_a_report_waits_for_no_reader(executable, site, pipe):
    """Nor does it keep clients waiting; when there is room, the next one appears."""
    with printing_to(pipe, without_redis(executable, site, "-p", 0)) as (process, address):
        pipe.fill()
        process.send_signal(signal.SIGUSR1)
        for _ in range(5):
            assert answers(address)
        assert set(os.read(pipe.reader, 65536)) == {ord("x")}
        process.send_signal(signal.SIGUSR1)
        assert select.select([pipe.reader], [], [], DEADLINE)[0]
        assert os.read(pipe.reader, 4096).startswith(b"served ")
        process.terminate()
        assert process.wait(DEADLINE) == 0


def test_the_ready_line_waits_for_no_reader(executable, site, pipe):
    """A server whose first line finds no room serves all the same."""
    address = "127.0.0.1", free_port()
    pipe.fill()
    process = spawn(without_redis(executable, site, "-p", address[1]),
                    stdin=subprocess.DEVNULL, stdout=pipe.writer)
    try:
        wait_for(lambda: answers(address), "the server")
        process.terminate()
        assert process.wait(DEADLINE) == 0
    finally:
        end(process)


def test_a_warning_waits_for_no_reader(executable, own_site, pipe):
    """Standard error is a full pipe, too, and a SIGHUP makes the server warn."""
    log = own_site.root / "logs/access.log"
    log.parent.mkdir()
    command = without_redis(executable, own_site, "-p", 0, "--access-log", log)
    with printing_to(pipe, command, stderr=True) as (process, address):
        log.parent.rename(own_site.root / "elsewhere")
        pipe.fill()
        process.send_signal(signal.SIGHUP)
        for _ in range(5):
            assert answers(address)
        process.terminate()
        assert process.wait(DEADLINE) == 0


def test_a_log_on_a_full_pipe_does_not_hold_a_server_that_stops(
        executable, site, pipe):
    """While it runs, workers wait for the reader of `--access-log -`: that is
    documented. They have until --drain-timeout after SIGTERM."""
    command = without_redis(executable, site, "-p", 0, "--access-log", "-",
                      "--drain-timeout", 1)
    with printing_to(pipe, command) as (process, address):
        pipe.fill()
        clients = [Connection(address) for _ in range(8)]
        for client in clients:
            client.send(build("/answer"))
        with socket.create_connection(address):     # accepted, or in the queue
            time.sleep(0.1)                         # some workers are stuck now
        process.terminate()
        assert process.wait(DEADLINE) == 0
        wait_for(lambda: not session_members(process.pid), "its children's end")
        for client in clients:
            client.close()
