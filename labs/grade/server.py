"""Starts a submission, and stops it."""

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from labs.grade.lab import TOP
from labs.grade.observe import PATIENCE, Seen

READY = re.compile(r"listening on http://127\.0\.0\.1:(\d+)/")
START = 10          # seconds until the line with the port must be there


class Server:
    """A running submission: a context manager.

    .port       where it listens        .pid     its first process, in /proc
    .redis      what it got as --redis  .output  what it printed, as text
    """

    def __init__(self, program, args, redis="none", limits=None):
        self.redis, self.limits = redis, limits or {}
        self._log = tempfile.NamedTemporaryFile()
        self._process = subprocess.Popen(
            [str(program), "--host", "127.0.0.1", "--port", "0", "--redis",
             redis, *map(str, args)], cwd=TOP, stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=subprocess.STDOUT,
            start_new_session=True)
        self.pid = self._process.pid
        try:
            self.port = self._read_port()
        except BaseException:
            self.end()
            raise

    @property
    def output(self):
        """What the submission has printed, standard error too."""
        return Path(self._log.name).read_text(encoding="utf-8",
                                              errors="replace")

    def _read_port(self):
        until = time.monotonic() + START
        while time.monotonic() < until:
            match = READY.search(self.output)
            if match:
                return int(match[1])
            if self._process.poll() is not None:
                raise Seen(f"the program ended with {self.ending}; it said: "
                           f"{self.output[-300:].strip()!r}",
                           "a running server")
            time.sleep(0.01)
        raise Seen(f"no line with the address after {START} s; it said: "
                   f"{self.output[-300:].strip()!r}",
                   "server_ready() prints \"listening on http://...\"")

    @property
    def ending(self):
        """How the first process ended, in words; "" while it runs."""
        code = self._process.poll()
        if code is None:
            return ""
        return (signal.Signals(-code).name if code < 0
                else f"exit status {code}")

    def send(self, number=signal.SIGTERM):
        """Send a signal to the first process."""
        self._process.send_signal(number)

    def wait(self, seconds=PATIENCE):
        """Wait for the first process to end; return its exit status (negative:
        a signal), or None if it still runs after `seconds`."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, number=signal.SIGTERM, seconds=PATIENCE):
        """Send a signal and wait; see wait()."""
        self.send(number)
        return self.wait(seconds)

    def end(self):
        """Kill whatever is left of it."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
