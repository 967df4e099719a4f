"""A private Redis that a submission cannot turn against the grader."""

import os
import shutil
import tempfile

from bench.run import process
from bench.run.redis import RedisError, RedisServer, command

# The pages need these. Others could write files (CONFIG, SAVE), run programs
# (EVAL, MODULE) or end Redis (SHUTDOWN); no client can take them back.
ALLOWED = ("-@all", "+@read", "+@write", "+@connection", "-@dangerous",
           "-@scripting")


class Redis(RedisServer):
    """A context manager; .address is HOST:PORT.

    stop() ends it, again() starts one on the same port. Raises RedisError
    when it does not start.
    """

    def __init__(self):
        super().__init__(os.sched_getaffinity(0))

    def __enter__(self):
        if not shutil.which("redis-server"):
            raise RedisError("redis-server is not installed: "
                             "apt-get install redis-server")
        self.folder = tempfile.mkdtemp(prefix="redis-")
        self.port = process.free_port()
        self.address = f"127.0.0.1:{self.port}"
        try:
            self.again()
        except BaseException:
            self.__exit__()
            raise
        return self

    def stop(self):
        """End it: connections are closed, new ones refused."""
        process.stop(self.process, seconds=5)

    def again(self):
        """Start one on the port, with a guestbook; then give up the dangerous
        commands."""
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = process.spawn(
                ["redis-server", "--port", str(self.port), "--bind",
                 "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
                 self.folder], self.cores, log, self.folder)
        self.pid = self.process.pid
        self._wait_until_ready()
        self.fill()
        self.ask(command("ACL", "SETUSER", "default", *ALLOWED))
