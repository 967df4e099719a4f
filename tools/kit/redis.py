"""A private redis-server: own port and folder, nothing kept on disk."""

import contextlib
import os
import shutil
import socket

from tools.kit import process as child, scratch, wait

# Ten remarks make a page of the length that a young guestbook has. The counter
# starts with all its digits, so that all pages of a run are equally long.
REMARKS = [f"A remark of the length that guests tend to leave - Guest number {number}"
           for number in range(1, 11)]
FIRST_VISITOR = 1_000_000
# What any client may do where others than ours can connect: what pages need. The other
# commands could write files (CONFIG, SAVE), run programs (EVAL, MODULE) or end Redis
# (SHUTDOWN). An ACL rule, see redis.io, "ACL SETUSER".
PAGES_ONLY = "on nopass ~* -@all +@read +@write +@connection -@dangerous -@scripting".split()
LOOPBACK = "127.0.0.1"
SOCKET = "redis.sock"   # in the folder of Redis
ATTEMPTS = 5            # ports that another program may take while ours starts
PATIENCE = 60           # seconds for its start: the machine may be crowded


class RedisError(Exception):
    """redis-server could not be started or does not answer."""


def command(*words):
    """Return a Redis command as the bytes that go over the wire."""
    data = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in data)


def ask(where, data):
    """Send commands as bytes to the Redis at `where`, a (host, port) or the path of a Unix
    socket; return the first bytes of the reply. Raises OSError."""
    with contextlib.ExitStack() as stack:
        kind = socket.AF_INET
        if isinstance(where, str):      # a socket's address has room for 107 bytes only
            folder, name = os.path.split(where)
            number = os.open(folder, os.O_PATH)
            stack.callback(os.close, number)
            kind, where = socket.AF_UNIX, f"/proc/self/fd/{number}/{name}"
        sock = stack.enter_context(socket.socket(kind))
        sock.settimeout(PATIENCE)
        sock.connect(where)
        sock.sendall(data)
        return sock.recv(4096)


def fill(where):
    """Put the guestbook of the Redis at `where` (see ask) into the state that a run
    begins with. What was in it is lost: it has to be ours. Raises RedisError, OSError."""
    for words in (("DEL", "guestbook_remarks"), ("RPUSH", "guestbook_remarks", *REMARKS),
                  ("SET", "visitor_count", FIRST_VISITOR)):
        reply = ask(where, command(*words))
        if reply[:1] not in (b":", b"+"):
            raise RedisError(f"Redis refused {words[0]}: {reply.decode().strip()}")


class RedisServer:
    """`with RedisServer(cores) as redis:` runs one on `cores`, for clients of the address
    `host`. `redis.address` is HOST:PORT for the option --redis, `redis.pid` its process.

    We ourselves talk to it through a Unix socket in a folder that only we may enter, so
    never to a Redis of another program that has taken the port. Raises RedisError."""

    restricted = False      # to PAGES_ONLY; outside of the loopback device always
    limits = ()             # words of the command line
    process = folder = None

    def __init__(self, cores, host=LOOPBACK):
        self.cores, self.host = cores, host

    def __enter__(self):
        if not shutil.which("redis-server"):
            raise RedisError("redis-server is missing; scripts/deps.sh run fetches it")
        self.folder = scratch.make("redis")
        try:
            for _ in range(ATTEMPTS):
                self.port = self._free_port()
                self.address = f"{self.host}:{self.port}"
                if self._start():
                    return self
            raise RedisError(self._last_words())
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        if self.process:
            child.stop(self.process, seconds=5)
        scratch.remove(self.folder)

    def _free_port(self):
        """Return a port to try; a subclass may have ports of its own."""
        return child.free_port()

    def _command(self):
        local = self.host == LOOPBACK
        words = ["redis-server", "--port", str(self.port), "--bind", self.host,
                 # With it, only the loopback device reaches a Redis without a password.
                 "--protected-mode", "yes" if local else "no",
                 "--unixsocket", SOCKET, "--unixsocketperm", "700",
                 "--save", "", "--appendonly", "no", "--dir", self.folder, *self.limits]
        if self.restricted or not local:
            words += ["--user", "default", *PAGES_ONLY]
        return words

    def _start(self):
        """Start it on its port, with a guestbook; return False if another program has the port.
        Raises RedisError and OSError."""
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = child.spawn(self._command(), self.cores, log, self.folder)
        self.pid = self.process.pid
        if wait.until(self._answers, PATIENCE, self.process):
            self.fill()
            return True
        if not child.wait(self.process, 0):
            raise RedisError(f"redis-server did not answer within {PATIENCE} s")
        if "Address already in use" in self._log():
            return False
        raise RedisError(self._last_words())

    def _answers(self):
        with contextlib.suppress(OSError):
            return self.ask(command("PING")).startswith(b"+PONG")
        return False

    def _log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def _last_words(self):
        return f"redis-server ended: {self._log().strip().rpartition(chr(10))[2]}"

    def hurry(self):
        """Let it run before all other programs, where that is allowed; not for measurements. The
        servers wait 250 ms for a reply: on a crowded machine Redis could be later, and a page would
        be a 503."""
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.sched_setscheduler(self.pid, os.SCHED_RR, os.sched_param(1))

    def ask(self, data):
        """Send commands as bytes, return the first bytes of the reply."""
        return ask(os.path.join(self.folder, SOCKET), data)

    def fill(self):
        """Put the guestbook into the state that a run begins with."""
        fill(os.path.join(self.folder, SOCKET))
