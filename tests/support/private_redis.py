"""A Redis of our own: its own port, socket and folder, nothing kept on disk."""

import contextlib
import os
import signal
import socket
import subprocess

from tests.support.processes import (DEADLINE, end, make_folder, remove_folder, spawn,
                                     wait_for)

# Below the range from which the kernel picks ports, so that the
# port is still ours when Redis comes back after it was stopped.
_PORTS = range(20000, 30000)


class RedisError(Exception):
    """Redis answered with an error."""


class PrivateRedis:
    """One redis-server and a client to look into it.

    Reachable as `address` ("127.0.0.1:PORT") and `unix` ("unix:PATH").
    """

    def __init__(self, *options):
        """`options` are words for redis-server's command line."""
        self._options = options
        self.folder = make_folder("redis")
        self._process = None
        self._client = None
        start = os.getpid() * 7 % len(_PORTS)
        for port in (*_PORTS[start:], *_PORTS[:start]):
            self.port = port
            if self._port_is_free() and self._start():
                return
        raise RuntimeError("no free port for redis-server")

    @property
    def address(self):
        """Where it listens, in the form that --redis takes."""
        return f"127.0.0.1:{self.port}"

    @property
    def unix(self):
        """Its unix socket, in the form that --redis takes."""
        return f"unix:{self.folder}/redis.sock"

    def _port_is_free(self):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self.port))
            except OSError:
                return False
        return True

    def _start(self):
        with open(self.folder / "log", "ab") as log:
            self._process = spawn(
                ["redis-server", "--port", str(self.port),
                 "--bind", "127.0.0.1", "--dir", str(self.folder),
                 "--unixsocket", f"{self.folder}/redis.sock",
                 "--unixsocketperm", "777",
                 "--save", "", "--appendonly", "no", "--daemonize", "no",
                 *self._options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._hurry()
        wait_for(lambda: self._process.poll() is not None or self._answers(),
                 "redis-server to start")
        if self._process.poll() is not None:    # another program took the port
            end(self._process)
            self._process = None
        return self._process is not None

    def _hurry(self):
        """Let it run before all other programs, where that is allowed.

        The servers give a reply 250 ms. On a crowded machine, Redis could be later, and a
        page of a test that is not about that would be a 503."""
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.sched_setscheduler(self._process.pid, os.SCHED_RR, os.sched_param(1))

    def _answers(self):
        try:
            return self("PING") == b"PONG"
        except (OSError, RedisError):
            self._hang_up()
            return False

    def _hang_up(self):
        if self._client:
            self._client.close()
            self._client = None

    def __call__(self, *command):
        """Run a command; return bytes, int, None or a list of them."""
        if self._client is None:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(DEADLINE)
            try:
                connection.connect(f"{self.folder}/redis.sock")
            except OSError:
                connection.close()
                raise
            self._client = connection.makefile("rwb")
            connection.close()          # the file keeps it open
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
        """End Redis; its clients see the connection close."""
        self._hang_up()
        end(self._process)
        self._process = None

    def start(self):
        """Start it again where it was, empty."""
        assert self._start(), (self.folder / "log").read_text()

    def freeze(self):
        """Stop the process as SIGSTOP does: connected, but no reply comes."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self):
        """Let a frozen Redis go on."""
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self):
        """End it and remove its folder."""
        if self._process:
            self.stop()
        remove_folder(self.folder)
