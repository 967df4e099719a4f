"""A Redis of our own: its own port, socket and folder, nothing kept on disk."""

import os
import signal
import socket

from tests.support.processes import DEADLINE, guardian
from tools.kit import process as child
from tools.kit.redis import LOOPBACK, SOCKET, RedisError, RedisServer

# Below the range from which the kernel picks ports, so that the
# port is still ours when Redis comes back after it was stopped.
_PORTS = range(20000, 30000)


def _is_free(port):
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError:
        return False
    return True


class PrivateRedis(RedisServer):
    """One redis-server, empty at first, and a client to look into it.

    Reachable as `address` ("127.0.0.1:PORT") and `unix` ("unix:PATH").
    """

    def __init__(self, *options):
        """`options` are words for redis-server's command line."""
        super().__init__(os.sched_getaffinity(0))
        self.limits = options
        self._client = None
        start = os.getpid() * 7 % len(_PORTS)
        self._ports = filter(_is_free, (*_PORTS[start:], *_PORTS[:start]))
        self.__enter__()

    @property
    def unix(self):
        """Its unix socket, in the form that --redis takes."""
        return f"unix:{self.folder}/{SOCKET}"

    def _free_port(self):
        return next(self._ports)

    def fill(self):
        """It begins empty."""

    def _start(self):
        guardian.watch(self.folder)
        started = super()._start()
        if started:
            guardian.watch(self.pid)
            self.hurry()
        return started

    def _hang_up(self):
        if self._client:
            self._client.close()
            self._client = None

    def __call__(self, *command):
        """Run a command; return bytes, int, None or a list of them."""
        if self._client is None:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(DEADLINE)
                connection.connect(f"{self.folder}/{SOCKET}")
                self._client = connection.makefile("rwb")   # which keeps it open
        words = [w.encode() if isinstance(w, str) else bytes(w)
                 for w in command]
        self._client.write(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        self._client.flush()
        return self._reply()

    def _reply(self):
        line = self._client.readline()
        if not line:
            raise ConnectionError("Redis closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        count = int(rest)
        if count < 0:
            return None
        if kind == b"$":
            return self._client.read(count + 2)[:-2]
        return [self._reply() for _ in range(count)]

    def stop(self):
        """End Redis with SIGKILL; its clients see the connection close."""
        self._hang_up()
        child.stop(self.process, signal.SIGKILL)
        guardian.forget(self.pid)
        self.process = None

    def start(self):
        """Start it again where it was, empty."""
        assert self._start(), self._log()

    def freeze(self):
        """Stop the process as SIGSTOP does: connected, but no reply comes."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self):
        """Let a frozen Redis go on."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self):
        """End it and remove its folder."""
        if self.process:
            self.stop()
        self.__exit__()
        guardian.forget(self.folder)
