"""Starts a submission in its sandbox, and stops it."""

import random
import re
import shutil
import signal
import tempfile
from pathlib import Path

from labs.grade.observe import PATIENCE, Seen
from labs.grade.sandbox import Sandboxed
from tools.kit import wait

READY = re.compile(r"listening on http://127\.0\.0\.1:(\d+)/")
# Seconds until the line with the port must be there. If it was missing once,
# and no server has started yet, the next has half of that.
START, LEAST = 10.0, 0.5
# On a busy machine, a test is slow: no time-out of the server may end what it
# holds, a kept connection for example. The seconds differ from start to start,
# or a program could know the grader by them.
PATIENT = ("--keep-alive", "--request-timeout", "--drain-timeout")
LONG = range(101, 140)


class Server(Sandboxed):
    """A submission in its sandbox that listens: a context manager.

    .port       where it listens        .pid     its first process, in /proc
    .redis      what it got as --redis  .output  what it printed, as text

    It may live in a pid namespace: the numbers that it prints, and those in
    strace's results of fork(2), are not those of the grader's /proc.
    """

    patience = START        # of the next start

    def __init__(self, program, args, shown, isolation, redis="none", limits=None):
        """`shown` is what build.prepare() returned; `limits` change those of
        sandbox.LIMITS. Raises Seen when it does not start."""
        program = Path(program)
        self.redis = redis
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=program.parents[1]))
        folder.chmod(0o711)
        super().__init__(
            [f"{{program}}/{program.name}", "--root", "{site}", "--host",
             "127.0.0.1", "--port", "0", "--redis", redis,
             *(word for name in PATIENT for word in (name, str(random.choice(LONG)))),
             *map(str, args)],
            {"program": program.parent, "site": shown["site"]}, isolation, folder, limits)
        try:
            self.port = self._read_port()
        except BaseException:
            self.end()
            raise

    def _read_port(self):
        found = wait.until(lambda: READY.search(self.output) or self.ending, Server.patience)
        if isinstance(found, re.Match):
            Server.patience = START
            return int(found[1])
        if found:
            raise Seen(f"the program ended: {self.ending}; it said: "
                       f"{self.output[-300:].strip()!r}", "a running server")
        waited, Server.patience = Server.patience, max(LEAST, Server.patience / 2)
        raise Seen(f"no line with the address after {waited:g} s; it said: "
                   f"{self.output[-300:].strip()!r}",
                   "server_ready() prints \"listening on http://...\"")

    @property
    def ending(self):
        """How the first process ended, in words; "" while it runs."""
        code = self.wait(0)
        if code is None:
            return ""
        if self.fault:
            return self.fault
        return (signal.Signals(-code).name if code < 0 else f"exit status {code}")

    def wait(self, seconds=PATIENCE):
        """As every program in a sandbox, with the patience of a test."""
        return super().wait(seconds)

    def end(self):
        """Kill whatever is left of it."""
        super().end()
        shutil.rmtree(self.folder, ignore_errors=True)
