"""The servers under test: which there are, how one is started and ended.

    server = servers.named("epoll")
    with servers.running(server, Start(cores={0}), log_path) as live:
        ...  live.pid, live.port, live.url("/answer")
    live.exit           what it cost, as wait4 tells it
    live.report         its own last line, {"requests": ..., ...} or None
"""

import os
import re
import resource
import shlex
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass

from bench.meter import procfs
from bench.run import netns
from bench.run import process as child

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
READY = re.compile(r"listening on http://\S+?:(\d+)/")
REPORT = re.compile(r"served (\d+) requests? on (\d+) connections?; "
                    r"CPU ([\d.]+) s user, ([\d.]+) s system")
ALL_ENDPOINTS = ("/guestbook", "/answer", "/hello", "/redirect", "/echo")


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
    keep_alive: bool = True
    extra: tuple = ()
    public: str = os.path.join(TOP, "public")   # that a peer's files come from


@dataclass(frozen=True)
class Server:
    """A server of the collection. Peers are another class with the same
    attributes, see peers.py."""

    name: str
    folder: str
    title: str
    kind: str = "architecture"
    endpoints: tuple = ALL_ENDPOINTS
    keep_alive: bool = True
    has_workers: bool = False
    warm_up: float = 0.0
    start_seconds: float = 10.0
    published_as: str = ""

    @property
    def chapter(self):
        """The chapter of docs/ about it."""
        return f"docs/{self.folder}.md"

    def problem(self):
        """Return why it cannot be started, or "" when it can."""
        if os.access(os.path.join(TOP, self.name), os.X_OK):
            return ""
        return f"./{self.name} is not built: run `make all`"

    def command(self, start, port, folder):
        """Return (argv, folder to run it in); port 0 lets the kernel pick.
        `folder` is one that lives as long as this run."""
        argv = [os.path.join(TOP, self.name), "--port", str(port),
                "--host", start.host, "--root", TOP,
                "--backlog", str(start.backlog), "--redis", start.redis]
        if start.workers and self.has_workers:
            argv += ["--workers", str(start.workers)]
        return argv + list(start.extra), TOP


# The order of the article, which is the order of every table and legend.
ARCHITECTURES = (
    Server("iterative", "01_iterative", "iterative"),
    Server("forking", "02_forking", "forking"),
    Server("preforking", "03_preforking", "preforking"),
    Server("threaded", "04_threaded", "threaded"),
    Server("prethreaded", "05_prethreaded", "prethreaded"),
    Server("poll", "06_poll", "poll"),
    Server("epoll", "07_epoll", "epoll", has_workers=True),
)


def named(name):
    """Return the architecture called `name`, "07" or "07_epoll".

    Raises KeyError when there is none.
    """
    for server in ARCHITECTURES:
        if name in (server.name, server.folder, server.folder[:2]):
            return server
    raise KeyError(name)


class Live:
    """A server that runs: see the head of this file."""

    def __init__(self, server, start, process, port, log_path, argv):
        self.server, self.start = server, start
        self.process, self.port = process, port
        self.log_path, self.argv = log_path, argv
        self.exit = self.clean = self.report = None

    @property
    def pid(self):
        """The process that was started; its children have others."""
        return self.process.pid

    def url(self, path, host="127.0.0.1"):
        """Return the address of `path`."""
        return f"http://{host}:{self.port}{path}"

    def log(self):
        """Return what the server has printed so far."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        """End the server and learn what it cost (`exit`, `report`)."""
        if self.exit is None:
            self.exit, self.clean = child.stop(self.process)
            self.report = parse_report(self.log())


def parse_report(text):
    """Return the figures of the server's own report line, or None."""
    found = REPORT.findall(text)
    if not found:
        return None
    requests, connections, user, system = found[-1]
    return {"requests": int(requests), "connections": int(connections),
            "user": float(user), "system": float(system)}


@contextmanager
def running(server, start, log_path):
    """Run `server` until the block ends.

    Raises ServerError when it cannot be started or is not ready in time.
    """
    problem = server.problem()
    if problem:
        raise ServerError(problem)
    ours = server.kind == "architecture"
    port = 0 if ours else child.free_port()
    try:
        argv, folder = server.command(start, port, os.path.dirname(log_path))
        with open(log_path, "wb") as log:
            process = child.spawn(argv, start.cores, log, folder)
    except OSError as error:
        raise ServerError(f"{server.name}: {error.filename}: "
                          f"{error.strerror}") from error
    live = Live(server, start, process, port, log_path, argv)
    try:
        _wait_until_ready(live)
        procfs.settle(live.pid)     # until its workers are there too
        yield live
    finally:
        live.stop()


def _wait_until_ready(live):
    """Wait for the ready line, or for a peer's port to accept."""
    ours = live.server.kind == "architecture"
    until = time.monotonic() + live.server.start_seconds
    while True:
        if ours:
            found = READY.search(live.log())
            if found:
                live.port = int(found.group(1))
                return
        elif _accepts(live.port):
            return
        ended = child.wait(live.process, 0.005 if ours else 0.02)
        if ended:
            live.exit, live.clean = ended, False
            child.kill_session(live.pid)
            said = live.log().strip().splitlines() or ["(it printed nothing)"]
            raise ServerError(f"`{shlex.join(live.argv)}` ended with code "
                              f"{ended.code}: {said[-1]}")
        if time.monotonic() > until:
            raise ServerError(f"`{shlex.join(live.argv)}` was not ready in "
                              f"{live.server.start_seconds:.0f} s")


def _accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 0.5).close()
        return True
    except OSError:
        return False


def raise_descriptor_limit():
    """Let this process and its children open as many descriptors as the
    hard limit allows; return that number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
