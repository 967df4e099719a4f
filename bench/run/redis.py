"""A private redis-server: own port and folder, nothing kept on disk."""

import os
import shutil
import signal
import socket
import tempfile
import time

from bench.run import process as child

# Ten remarks of this length make a guestbook page of the size that a young
# guestbook has; the counter starts with all its digits, so that the pages of
# a run are all equally long.
REMARKS = 10
REMARK = "A remark of the length that guests tend to leave - Guest number {}"
FIRST_VISITOR = 1_000_000


class RedisError(Exception):
    """redis-server could not be started or does not answer."""


def command(*words):
    """Return a Redis command as the bytes that go over the wire."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class RedisServer:
    """`with RedisServer(cores) as redis:` runs one on `cores`; `redis.address`
    and `redis.unix` say where it is, `redis.pid` is its process."""

    def __init__(self, cores):
        self.cores = cores
        self.process = None
        self.port = 0

    @property
    def address(self):
        """HOST:PORT for the option --redis."""
        return f"127.0.0.1:{self.port}"

    @property
    def unix(self):
        """unix:PATH for the option --redis: the same server without TCP."""
        return f"unix:{self.folder}/redis.sock"

    @property
    def pid(self):
        """The process id."""
        return self.process.pid

    def __enter__(self):
        program = shutil.which("redis-server")
        if not program:
            raise RedisError("redis-server is not installed: "
                             "apt-get install redis-server")
        self.folder = tempfile.mkdtemp(prefix="bench-redis-")
        self.port = child.free_port()
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = child.spawn(
                [program, "--port", str(self.port), "--bind", "127.0.0.1",
                 "--unixsocket", self.unix.removeprefix("unix:"),
                 "--save", "", "--appendonly", "no", "--dir", self.folder,
                 "--tcp-backlog", "511", "--maxclients", "10000"],
                self.cores, log, self.folder)
        try:
            self._wait_until_ready()
            self.fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process and self.process.returncode is None:
            child.stop(self.process, signal.SIGTERM, 5)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_ready(self):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                if self.ask(command("PING")).startswith(b"+PONG"):
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise RedisError("redis-server did not answer within 10 s, see "
                         + os.path.join(self.folder, "log"))

    def ask(self, data):
        """Send commands as bytes, return the first bytes of the reply."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as sock:
            sock.sendall(data)
            return sock.recv(4096)

    def fill(self):
        """Put the guestbook into the state that every cell begins with."""
        remarks = [REMARK.format(n) for n in range(1, REMARKS + 1)]
        self.ask(command("DEL", "guestbook_remarks"))
        self.ask(command("RPUSH", "guestbook_remarks", *remarks))
        self.ask(command("SET", "visitor_count", FIRST_VISITOR))
