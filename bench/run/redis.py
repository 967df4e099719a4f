"""A private redis-server: own port and folder, nothing kept on disk."""

import contextlib
import os
import shutil
import socket
import tempfile
import time

from bench.run import process as child

# Ten remarks make a page of the length that a young guestbook has. The counter
# starts with all its digits, so that all pages of a run are equally long.
REMARKS = [f"A remark of the length that guests tend to leave - Guest number {number}"
           for number in range(1, 11)]
FIRST_VISITOR = 1_000_000


class RedisError(Exception):
    """redis-server could not be started or does not answer."""


def command(*words):
    """Return a Redis command as the bytes that go over the wire."""
    data = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in data)


class RedisServer:
    """`with RedisServer(cores) as redis:` runs one on `cores`, for clients of the address
    `host`. `redis.address` is HOST:PORT for the option --redis, `redis.pid` its process."""

    def __init__(self, cores, host="127.0.0.1"):
        self.cores, self.host = cores, host

    def __enter__(self):
        program = shutil.which("redis-server")
        if not program:
            raise RedisError("redis-server is not installed: apt-get install redis-server")
        self.folder = tempfile.mkdtemp(prefix="bench-redis-")
        self.port = child.free_port()
        self.address = f"{self.host}:{self.port}"
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = child.spawn(
                [program, "--port", str(self.port), "--bind", self.host, "--protected-mode", "no",
                 "--unixsocket", os.path.join(self.folder, "redis.sock"),
                 "--save", "", "--dir", self.folder], self.cores, log, self.folder)
        self.pid = self.process.pid
        try:
            self._wait_until_ready()
            self.fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        child.stop(self.process, seconds=5)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_ready(self):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                if self.ask(command("PING")).startswith(b"+PONG"):
                    return
            time.sleep(0.02)
        raise RedisError("redis-server did not answer within 10 s")

    def ask(self, data):
        """Send commands as bytes, return the first bytes of the reply."""
        with socket.create_connection((self.host, self.port), 5) as sock:
            sock.sendall(data)
            return sock.recv(4096)

    def fill(self):
        """Put the guestbook into the state that every cell begins with."""
        self.ask(command("DEL", "guestbook_remarks"))
        self.ask(command("RPUSH", "guestbook_remarks", *REMARKS))
        self.ask(command("SET", "visitor_count", FIRST_VISITOR))
