"""A private Redis that a submission cannot turn against the grader."""

import os

from labs.grade.observe import Seen
from tools.kit import process
from tools.kit.redis import RedisServer


class Redis(RedisServer):
    """A context manager; .address is HOST:PORT. From its first answer on, each client may
    use only the commands that pages need, and fill 64 MB.

    stop() ends it, again() starts one on the same port. Raises RedisError when it does not start.
    """

    restricted = True
    # Memory of Redis is not counted as the submission's. One value has 1 MB at most.
    limits = ("--maxmemory", "64mb", "--proto-max-bulk-len", "1mb")

    def __init__(self):
        super().__init__(os.sched_getaffinity(0))

    def stop(self):
        """End it: connections are closed, new ones refused."""
        process.stop(self.process, seconds=5)

    def again(self):
        """Start one on the port, with a guestbook. Raises Seen when the port is
        taken: only the submission can have done that."""
        if not self._start():
            raise Seen(f"a program that took the port of Redis, {self.address}",
                       "a port that stays free while Redis is away")
