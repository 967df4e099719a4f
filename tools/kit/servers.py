"""The servers under test: which there are, how one is started and ended.

    with running(named("epoll"), Start(cores={0}), log_path) as live:
        ...  live.pid, live.port, live.url("/answer")
    live.exit           how it ended, and what wait4 says that it cost
    live.served         how many requests it says that it answered, without those of the
                        warm-up (live.before); or None
"""

import math
import os
import re
import shlex
from contextlib import contextmanager
from dataclasses import dataclass

from tools.kit import TOP, colours, netns, process as child, procfs, sockets, wait

READY = re.compile(r"listening on http://(\[[0-9a-f:]+\]|[0-9.]+):(\d+)/")
SERVED = re.compile(r"served (\d+) requests? on \d+ connections?$", re.MULTILINE)


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
    public: str = str(TOP / "public")       # the files of a peer


@dataclass(frozen=True)
class Server:
    """A server of the collection. Peers have those attributes that a measurement needs."""

    folder: str             # "05_prethreaded": its number and its name
    model: str              # SEQUENTIAL, WORKER_EACH, POOL or LOOP
    at_a_time: float        # clients that it serves at a time, by default
    colour: tuple           # of colours
    says: str               # in a sentence or two, which clients wait
    slots: str = ""         # the option that sets at_a_time
    one_core: bool = False  # whether a single thread computes
    has_loops: bool = False # whether --workers gives it more loops
    reuses: bool = False    # whether memory that a client needed is there for the next one

    # Of peers, these differ. `metered`: False for one of the study self-check, which has no control
    # group and no samples, and so shows what these cost.
    kind = "architecture"
    keep_alive = metered = True
    warm_up, start_seconds = 0.0, 10.0

    @property
    def name(self):
        """Of its executable, such as "prethreaded"."""
        return self.folder.partition("_")[2]

    def problem(self):
        """Return why it cannot be started, or "" when it can."""
        if os.access(TOP / self.name, os.X_OK):
            return ""
        return f"./{self.name} is not built: run `make all`"

    unready = problem           # of peers: after building them

    def command(self, start, port, _folder):
        """Return (argv, folder to run it in); the kernel chooses port 0."""
        argv = [str(TOP / self.name), "--port", str(port), "--host", start.host, "--root", str(TOP),
                "--backlog", str(start.backlog), "--redis", start.redis]
        if start.workers and self.has_loops:
            argv += ["--workers", str(start.workers)]
        return argv + list(start.extra), TOP


SEQUENTIAL = "one client after the other"
WORKER_EACH = "a worker for each client"
POOL = "a fixed number of workers"
LOOP = "an event loop"
# All of them, in the order of every table and legend. at_a_time is the default of the option
# in C, which a test compares.
ARCHITECTURES = (
    Server("01_iterative", SEQUENTIAL, 1, colours.GREY,
           "One process serves one client after the other. While it waits, all others wait "
           "in the accept queue.", one_core=True),
    Server("02_forking", WORKER_EACH, 128, colours.ORANGE,
           "A new process for each client. While one waits, the kernel runs another; each "
           "costs a fork.", "--max-children"),
    Server("03_preforking", POOL, 100, colours.SKY,
           "A fixed number of processes. When all of them wait, new clients stay in the "
           "accept queue.", "--workers"),
    Server("04_threaded", WORKER_EACH, 256, colours.GREEN,
           "A new thread for each client: as 02, but a thread costs less than a process.",
           "--max-threads", reuses=True),
    Server("05_prethreaded", POOL, 100, colours.PINK,
           "A fixed number of threads: as 03, in one process.", "--threads"),
    Server("06_poll", LOOP, math.inf, colours.RED,
           "One loop serves all clients. It waits for all of them together and passes each "
           "descriptor to poll() every time.", one_core=True, reuses=True),
    Server("07_epoll", LOOP, math.inf, colours.BLUE,
           "A loop on each core. The kernel remembers the descriptors, and clients that wait "
           "cost nothing.", has_loops=True, reuses=True),
)
# By each of its names: epoll, 07, 7, 07_epoll.
NAMES = {name: one for one in ARCHITECTURES
         for name in (one.name, one.folder[:2], one.folder[:2].lstrip("0"), one.folder)}


def named(name):
    """Return the architecture of one of the NAMES, in any case of letters. Raises KeyError."""
    return NAMES[name.lower()]


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
    before = 0          # answers to the warm-up: not in `served`

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


def ready(text):
    """Return (host, port) of the ready line in what a server has printed, None without it."""
    found = READY.search(text)
    return (found[1].strip("[]"), int(found[2])) if found else None


@contextmanager
def running(server, start, log_path):
    """Run `server` until the block ends. Raises ServerError when it cannot be started or is not
    ready in time."""
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
    seconds, command = live.server.start_seconds, shlex.join(live.argv)
    if wait.until(lambda: _is_ready(live), seconds, live.process):
        return
    ended = child.wait(live.process, 0)
    if not ended:
        raise ServerError(f"`{command}` was not ready in {seconds:.0f} s")
    said = live.log().strip().splitlines() or ["(it printed nothing)"]
    raise ServerError(f"`{command}` ended with {ended}: {said[-1]}")


def _is_ready(live):
    """Whether our server has printed its port, or a peer accepts at its port: the peer, and
    no other program that took the port before."""
    if live.server.kind == "architecture":
        live.port = (ready(live.log()) or ("", 0))[1]
        return live.port
    try:
        return sockets.accepts(live.port) and any(
            sockets.listeners(one.pid, live.port) for one in procfs.tree(live.pid))
    except OSError:     # no sock_diag
        return False
