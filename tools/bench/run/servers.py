"""The servers under test: which there are, how one is started and ended.

    with running(named("epoll"), Start(cores={0}), log_path) as live:
        ...  live.pid, live.port, live.url("/answer")
    live.exit           how it ended, and what wait4 says that it cost
    live.served         how many requests it says that it answered, or None
"""

import os
import re
import shlex
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass

from tools.bench.meter import sockets
from tools.kit import procfs, netns, process as child

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
READY = re.compile(r"listening on http://\S+?:(\d+)/")
SERVED = re.compile(r"served (\d+) requests? on \d+ connections?; CPU ")


class ServerError(Exception):
    """The server could not be started; the text says why."""


@dataclass(frozen=True)
class Start:
    """How to start a server. `workers` None leaves the server's default."""

    cores: frozenset = frozenset({0})
    redis: str = "none"
    backlog: int = netns.QUEUE
    host: str = "127.0.0.1"
    workers: int = None
    extra: tuple = ()
    public: str = os.path.join(TOP, "public")   # the files of a peer


@dataclass(frozen=True)
class Server:
    """A server of the collection. Peers have the same attributes."""

    name: str
    folder: str
    has_workers: bool = False

    # Of peers, these differ.
    kind = "architecture"
    endpoints = ("/guestbook", "/answer", "/hello", "/redirect", "/echo")
    keep_alive = metered = True
    warm_up, start_seconds = 0.0, 10.0

    def problem(self):
        """Return why it cannot be started, or "" when it can."""
        if os.access(os.path.join(TOP, self.name), os.X_OK):
            return ""
        return f"./{self.name} is not built: run `make all`"

    unready = problem           # of peers: after building them

    def command(self, start, port, _folder):
        """Return (argv, folder to run it in); the kernel chooses port 0."""
        argv = [os.path.join(TOP, self.name), "--port", str(port),
                "--host", start.host, "--root", TOP,
                "--backlog", str(start.backlog), "--redis", start.redis]
        if start.workers and self.has_workers:
            argv += ["--workers", str(start.workers)]
        return argv + list(start.extra), TOP


# The order of every table and legend.
ARCHITECTURES = (
    Server("iterative", "01_iterative"),
    Server("forking", "02_forking"),
    Server("preforking", "03_preforking"),
    Server("threaded", "04_threaded"),
    Server("prethreaded", "05_prethreaded"),
    Server("poll", "06_poll"),
    Server("epoll", "07_epoll", has_workers=True),
)
# By each of its names: epoll, 07, 07_epoll.
NAMES = {name: one for one in ARCHITECTURES for name in (one.name, one.folder[:2], one.folder)}


def named(name):
    """Return the architecture of one of the NAMES. Raises KeyError."""
    return NAMES[name]


@dataclass
class Live:
    """A server that runs: see the head of this file."""

    server: object
    start: Start
    process: object
    port: int
    log_path: str
    argv: list
    exit = served = None
    before = 0          # answers before the load: not in `served`

    @property
    def pid(self):
        """The process that was started; its children have others."""
        return self.process.pid

    def url(self, path):
        """Return the address of `path`."""
        return f"http://127.0.0.1:{self.port}{path}"

    def log(self):
        """Return what the server has printed so far."""
        return procfs.read(self.log_path)

    def stop(self):
        """End the server and learn what it cost (`exit`, `served`)."""
        if self.exit is None:
            self.exit = child.stop(self.process)
            said = SERVED.findall(self.log())
            self.served = int(said[-1]) - self.before if said else None


@contextmanager
def running(server, start, log_path):
    """Run `server` until the block ends. Raises ServerError when it cannot be started or is
    not ready in time."""
    problem = server.problem()
    if problem:
        raise ServerError(problem)
    port = 0 if server.kind == "architecture" else child.free_port()
    try:
        argv, folder = server.command(start, port, os.path.dirname(log_path))
        with open(log_path, "wb") as log:
            process = child.spawn(argv, start.cores, log, folder)
    except OSError as error:
        raise ServerError(f"{server.name}: {error.filename}: {error.strerror}") from error
    live = Live(server, start, process, port, log_path, argv)
    try:
        _wait_until_ready(live)
        procfs.settle(live.pid)     # until its workers are there too
        yield live
    finally:
        live.stop()


def _wait_until_ready(live):
    """Wait until the server is ready. Raises ServerError."""
    until = time.monotonic() + live.server.start_seconds
    command = shlex.join(live.argv)
    while not _is_ready(live):
        ended = child.wait(live.process, 0.01)
        if ended:
            said = live.log().strip().splitlines() or ["(it printed nothing)"]
            raise ServerError(f"`{command}` ended with {ended}: {said[-1]}")
        if time.monotonic() > until:
            raise ServerError(f"`{command}` was not ready in {live.server.start_seconds:.0f} s")


def _is_ready(live):
    """Whether our server has printed its port, or a peer accepts at its port: the peer, and
    no other program that took the port before."""
    if live.server.kind == "architecture":
        found = READY.search(live.log())
        live.port = int(found.group(1)) if found else 0
        return live.port
    try:
        socket.create_connection(("127.0.0.1", live.port), 0.5).close()
        return any(sockets.listeners(one.pid, live.port) for one in procfs.tree(live.pid))
    except OSError:
        return False
