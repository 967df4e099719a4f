"""The seven executables: how a test starts one, and what it owes at its end."""

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.client import Connection
from tests.support.processes import (DEADLINE, end, kill_session, session_members, spawn,
                                     wait_for)
from tests.support.procfs import unread
from tools.kit.servers import ARCHITECTURES, LOOP, POOL, SEQUENTIAL, WORKER_EACH

TOP = Path(__file__).resolve().parents[2]       # of the project

# executable -> its folder, which it names in its ready line
FOLDERS = {one.name: one.folder for one in ARCHITECTURES}
LOOPS = tuple(one.name for one in ARCHITECTURES if one.model == LOOP)     # the others block


def serving(clients, *models):
    """Return {executable: the options with which it serves `clients` clients at a time} of the
    architectures of these models; one without such an option needs none."""
    return {one.name: [one.slots, str(clients)] if one.slots else [] for one in ARCHITECTURES
            if one.model in models}


# Those that block, with one place for a client.
ONE_PLACE = serving(1, SEQUENTIAL, WORKER_EACH, POOL)
ONE_CLIENT = {**ONE_PLACE, **{name: ["--max-connections", "1"] for name in LOOPS}}
# Servers, or pools of one worker, that serve one client at a time.
ONE_AT_A_TIME = serving(1, SEQUENTIAL, POOL)
# Four workers or threads are enough for most tests. A hundred of each, in several
# sanitizer builds at the same time, would only take longer to start.
SMALL_POOL = serving(4, POOL)

READY = re.compile(r"listening on http://(\[[0-9a-f:]+\]|[0-9.]+):(\d+)/ "
                   r"\((\w+), .+, backlog (\d+)\)\n")
REPORT = re.compile(
    r"served (\d+) requests on (\d+) connections\n"
    r"CPU time of the server: (\d+\.\d+) s user, (\d+\.\d+) s system\n"
    r"CPU time of its children that ended: (\d+\.\d+) s user, (\d+\.\d+) s system\n")
SANITIZER_REPORT = re.compile(
    "ERROR: AddressSanitizer|ERROR: LeakSanitizer|LeakSanitizer:|"
    "WARNING: ThreadSanitizer|FATAL: ThreadSanitizer|runtime error:|"
    "AddressSanitizer:DEADLYSIGNAL")


class ServerFault(AssertionError):
    """The server broke a promise that all tests rely on."""


class Server:
    """A running server. Use `stop()`, or `end()` where it must not matter.

    `address` is (host, port); `pid` the process that was started; `name` the
    executable's.
    """

    def __init__(self, executable, *options, prefix=(), preexec_fn=None,
                 env=None):
        self.name = Path(executable).name
        self.command = [*prefix, str(executable), *map(str, options)]
        self._stderr = tempfile.TemporaryFile()
        self._process = spawn(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self._stderr, preexec_fn=preexec_fn, env=env)
        self.pid = self._process.pid
        self._stdout = b""
        try:
            ready = self.read_line()
            match = READY.fullmatch(ready)
            if not match:
                raise ServerFault(f"ready line {ready!r}")
        except BaseException:
            self.end()
            raise
        self.address = (match[1].strip("[]"), int(match[2]))
        self.folder = match[3]
        self.backlog = int(match[4])

    # Talking to it.

    def connect(self, **options):
        """Open a connection (see client.Connection)."""
        return Connection(self.address, **options)

    def request(self, target, method="GET", fields=(), body=b"", **options):
        """One request on a connection of its own, which then closes."""
        with self.connect() as connection:
            response = connection.request(
                target, method, [*fields, ("Connection", "close")], body,
                **options)
            connection.expect_closed()
            return response

    def wait_until_read(self, connection):
        """Wait until the server has taken every byte sent to it so far."""
        client = connection.socket.getsockname()
        wait_for(lambda: unread(self.address, client) == 0,
                 "the server to read what was sent")

    # What it says.

    def read_line(self, deadline=DEADLINE):
        """Return the next line of its standard output, with its newline."""
        limit = time.monotonic() + deadline
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._stdout:
            left = limit - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise ServerFault(f"no line on stdout for {deadline:g} s")
            data = os.read(descriptor, 65536)
            if not data:
                self._process.wait()
                raise ServerFault(
                    f"{self.name} ended, exit status "
                    f"{self._process.returncode}:\n{self.stderr()}")
            self._stdout += data
        line, _, self._stdout = self._stdout.partition(b"\n")
        return line.decode() + "\n"

    def read_report(self):
        """Return (requests, connections) of the next report."""
        lines = "".join(self.read_line() for _ in range(3))
        match = REPORT.fullmatch(lines)
        if not match:
            raise ServerFault(f"report {lines!r}")
        return int(match[1]), int(match[2])

    def hang_up(self):
        """Close our end of its standard output."""
        self._process.stdout.close()

    def stderr(self):
        """Return everything it has written to standard error so far."""
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), size, 0).decode(
            errors="replace")

    # Its end.

    def send_signal(self, number):
        """Send it a signal."""
        os.kill(self.pid, number)

    def is_running(self):
        """Whether the process is still there."""
        return self._process.poll() is None

    def wait(self, deadline=DEADLINE):
        """Wait for its exit and return the exit status."""
        try:
            return self._process.wait(deadline)
        except subprocess.TimeoutExpired:
            raise ServerFault(f"{self.name} did not stop within "
                              f"{deadline:g} s") from None

    def check(self):
        """Fail if it is gone or a sanitizer has reported something."""
        report = SANITIZER_REPORT.search(self.stderr())
        if report:
            raise ServerFault(self.stderr()[report.start() - 80:][:8000])
        if not self.is_running():
            raise ServerFault(f"{self.name} ended by itself, exit status "
                              f"{self._process.returncode}:\n{self.stderr()}")

    def finish(self):
        """After a signal to stop: wait, check, return its last report.

        It must exit with 0, its report must be there, no process of it may
        be left and no sanitizer may have complained; else ServerFault.
        """
        try:
            status = self.wait()
            # A child may end shortly after its parent: wait for up to 5 s.
            end_of_grace = time.monotonic() + 5
            while (left := session_members(self.pid)) and \
                    time.monotonic() < end_of_grace:
                time.sleep(0.005)
            kill_session(self.pid)      # else its stdout would not end
            rest = self._stdout + self._process.stdout.read()
            complaint = SANITIZER_REPORT.search(self.stderr())
            if complaint or status != 0:
                raise ServerFault(f"{self.name} stopped with exit status "
                                  f"{status}:\n{self.stderr()[:8000]}")
            match = re.search("(?:^|\n)" + REPORT.pattern + "$",
                              rest.decode())
            if not match:
                raise ServerFault(f"no report at the end of {rest!r}")
            if left:
                raise ServerFault(f"{self.name} left processes behind: "
                                  f"{left}")
            self.cpu_seconds = [float(one) for one in match.groups()[2:]]
            return int(match[1]), int(match[2])
        finally:
            self.end()

    def stop(self, number=signal.SIGTERM):
        """Stop it in the ordinary way and check that it went well.

        Returns (requests, connections) of its report. See `finish`.
        """
        if self.is_running():
            self.send_signal(number)
        return self.finish()

    def end(self):
        """Make sure it is gone, whatever state it is in."""
        end(self._process)
        self._process.stdout.close()
        self._stderr.close()

    @property
    def ended(self):
        """Whether `finish`, `stop` or `end` has been through with it."""
        return self._stderr.closed


def is_refused(server):
    """Whether the server's port refuses connections.

    While the server listens, each call counts as a connection.
    """
    try:
        with server.connect():
            return False
    except ConnectionResetError:        # just while it stopped listening
        return False
    except ConnectionRefusedError:
        return True


def run(executable, *options, deadline=DEADLINE):
    """Run an executable that is to refuse or to inform, until it exits.

    Returns subprocess.CompletedProcess with text. For --help, wrong options
    and the like.
    """
    process = spawn([str(executable), *map(str, options)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=deadline)
        return subprocess.CompletedProcess(process.args, process.returncode,
                                           out, err)
    except subprocess.TimeoutExpired:
        raise ServerFault(f"{process.args} is still running") from None
    finally:
        end(process)
