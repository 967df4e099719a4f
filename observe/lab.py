"""Starts what is watched: a private Redis, one of the seven, a slow Redis."""

import contextlib
import ctypes
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]       # of the project
FOLDERS = sorted(p.name for p in TOP.glob("0[1-7]_*") if p.is_dir())
# A pool of four shows the same as one of a hundred, on one screen.
POOL = {"03_preforking": ["--workers", "4"],
        "05_prethreaded": ["--threads", "4"]}
READY = re.compile(r"http://(\[[0-9a-f:]+\]|[0-9.]+):(\d+)/")
_PR_SET_PDEATHSIG = 1


class LabError(Exception):
    """Something that is needed cannot be started; the text says why."""


def folder_of(name):
    """Return "05_prethreaded" for 05, 5, prethreaded or 05_prethreaded.

    Any case will do. Raises LabError for a name that is none of these.
    """
    wanted = name.lower()
    for folder in FOLDERS:
        number, _, word = folder.partition("_")
        if wanted in (folder, word, number, number.lstrip("0")):
            return folder
    raise LabError(f"there is no server {name!r}; there are: "
                   + ", ".join(FOLDERS))


def executable_of(folder):
    """Return the path of a server's executable. Raises LabError without it."""
    path = TOP / folder.partition("_")[2]
    if not os.access(path, os.X_OK):
        raise LabError(f"{path.name} is not built yet; `make` builds it")
    return str(path)


def spawn(command, **options):
    """Start a program in a session of its own, which ends with ours.

    Ctrl-C in the terminal does not reach it. Raises LabError.
    """
    if not shutil.which(command[0]):
        raise LabError(f"{command[0]} is not installed; "
                       "`scripts/deps.sh run test` installs it")
    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl

    def before_exec():
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:      # it has ended already
            os._exit(1)
    return subprocess.Popen(command, stdin=subprocess.DEVNULL,
                            start_new_session=True, preexec_fn=before_exec,
                            **options)


def end(process, seconds=3):
    """End a process that spawn() started, and its session."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class Redis:
    """A private redis-server on a free port of 127.0.0.1: a context manager.

    `port`: where it listens. `frozen`: whether freeze() has stopped it.
    """

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="zerohttpd-observe.")
        self.frozen = False
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._process = spawn(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
             "--dir", self.folder, "--save", "", "--appendonly", "no",
             "--daemonize", "no"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise

    def _wait(self):
        limit = time.monotonic() + 10
        while time.monotonic() < limit and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(
                    ("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(16) == b"+PONG\r\n":
                    return
            time.sleep(0.02)
        raise LabError("redis-server does not start")

    def freeze(self):
        """Stop it, or let it go on: connected, but no reply comes."""
        self.frozen = not self.frozen
        os.kill(self._process.pid,
                signal.SIGSTOP if self.frozen else signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.frozen:
            self.freeze()
        end(self._process)
        shutil.rmtree(self.folder, ignore_errors=True)


class Server:
    """A server that we started: a context manager.

    `process`: what was started; `pid`: the server's first process; `address`:
    (host, port), from the line that says "http://HOST:PORT/".
    """

    def __init__(self, command, before=(), stderr=None):
        """`before`: words such as strace's, in front of the command."""
        self._before = bool(before)
        self.process = spawn([*before, *command], cwd=TOP,
                             stdout=subprocess.PIPE, stderr=stderr)
        self.pid = self.process.pid
        try:
            self.address = self._read_address()
            if before:
                self.pid = children(self.pid)[0]
        except BaseException:
            self.__exit__()
            raise

    def _read_address(self):
        limit, text = time.monotonic() + 20, b""
        while time.monotonic() < limit:
            if not select.select([self.process.stdout], [], [], 0.2)[0]:
                continue
            data = os.read(self.process.stdout.fileno(), 4096)
            text += data
            match = READY.search(text.decode(errors="replace"))
            if match:
                return match[1].strip("[]"), int(match[2])
            if not data:
                break
        raise LabError("the server did not start; it must print a line with "
                       "http://HOST:PORT/")

    def __enter__(self):
        return self

    def stop(self):
        """Ask it to stop, wait, and make sure."""
        if self._before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(3)
        end(self.process)
        self.process.stdout.close()

    def __exit__(self, *_):
        self.stop()


def start(folder, redis_port, *options, before=(), stderr=None):
    """Start one of the seven on a free port; return the Server.

    A pool has four workers, unless `options` say otherwise.
    """
    return Server([executable_of(folder), "--port", "0", "--redis",
                   f"127.0.0.1:{redis_port}", *POOL.get(folder, ()),
                   *options], before, stderr)


def site(folder, size=16 << 20):
    """Make a copy of the site with a file /large in it; return its path.

    A client that reads it slowly makes the server wait: no socket's buffer
    can take it all.
    """
    for name in ("public", "templates"):
        shutil.copytree(TOP / name, Path(folder) / name)
    with open(Path(folder) / "public" / "large", "wb") as file:
        file.truncate(size)
    return str(folder)


def children(pid):
    """Return the process ids of a process's children."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children",
                      encoding="ascii") as file:
                found += map(int, file.read().split())
    return found
