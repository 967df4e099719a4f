"""A private Redis that a submission cannot turn against the grader."""

import os
import time

from bench.run import process
from bench.run.redis import RedisServer, command

# The pages need these. Others could write files (CONFIG, SAVE), run programs
# (EVAL, MODULE) or end Redis (SHUTDOWN); nobody can take them back.
ALLOWED = ("-@all", "+@read", "+@write", "+@connection", "-@dangerous",
           "-@scripting")


class Redis(RedisServer):
    """A context manager; .address is HOST:PORT.

    stop() ends it, again() starts one on the same port. Raises RedisError
    when there is no redis-server.
    """

    def __init__(self):
        super().__init__(os.sched_getaffinity(0))

    def fill(self):
        """Fill the guestbook, then give up dangerous commands."""
        super().fill()
        self.ask(command("ACL", "SETUSER", "default", *ALLOWED))

    def stop(self):
        """End it: connections are closed, new ones refused."""
        process.stop(self.process, seconds=5)

    def again(self):
        """Start another on the same port."""
        log = os.path.join(self.folder, "log")
        with open(log, "ab") as file:
            self.process = process.spawn(
                ["redis-server", "--port", str(self.port), "--bind",
                 "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
                 self.folder], self.cores, file, self.folder)
        until = time.monotonic() + 10
        while not self._answers():
            if time.monotonic() > until:
                raise TimeoutError("redis-server did not start again")
            time.sleep(0.02)
        self.fill()
