"""Starts what is watched: a private Redis, one of the seven."""

import argparse
import contextlib
import os
import shutil
import signal
from pathlib import Path

from tools.kit import TOP, process, procfs, scratch, servers, wait
from tools.kit.redis import RedisServer

FOLDERS = [one.folder for one in servers.ARCHITECTURES]
# A pool of four shows the same as one of a hundred, on one screen.
POOL = {one.folder: (one.slots, "4") for one in servers.ARCHITECTURES if one.model == servers.POOL}


class LabError(Exception):
    """Something that is needed cannot be started; the text says why."""


def folder_of(name):
    """Return "05_prethreaded" for 05, 5, prethreaded or 05_prethreaded. Any case will do. Raises
    LabError for a name that is none of these."""
    try:
        return servers.named(name).folder
    except KeyError:
        raise LabError(f"there is no server {name!r}; there are: " + ", ".join(FOLDERS)) from None


def above_zero(kind, most=float("inf")):
    """Return a type for argparse: numbers of a kind, int or float, above 0 and up to `most`."""
    def number(text):
        with contextlib.suppress(ValueError):
            if 0 < kind(text) <= most:
                return kind(text)
        raise argparse.ArgumentTypeError(
            f"{text} is no {'whole ' if kind is int else ''}number above 0"
            + (f" and up to {most}" if most < float("inf") else ""))
    return number


def executable_of(folder):
    """Return the path of a server's executable. Raises LabError without it. The environment
    variable FROM names another folder that it is in."""
    path = TOP / os.environ.get("FROM", "") / folder.partition("_")[2]
    if not os.access(path, os.X_OK):
        raise LabError(f"{path.name} is not built yet; `make` builds it")
    return str(path)


class Redis(RedisServer):
    """A private Redis: a context manager. `port`: where it listens. `frozen`: whether freeze() has
    stopped it."""

    def __init__(self):
        super().__init__(os.sched_getaffinity(0))
        self.frozen = False

    def freeze(self):
        """Stop it, or let it go on: connected, but no reply comes."""
        self.frozen = not self.frozen
        os.kill(self.pid, signal.SIGSTOP if self.frozen else signal.SIGCONT)


class Server:
    """A server that we started: a context manager. `pid`: its first process; `address`: (host,
    port), from the line that says "listening on http://HOST:PORT/"; `warm`: ports of clients that
    came before. It runs in a session of its own, so Ctrl-C does not reach it, and ends with us."""

    warm = ()

    def __init__(self, command, before=()):
        """`before`: words such as strace's, in front of the command. Raises LabError when it does
        not start."""
        for word in (*before[:1], command[0]):
            if not shutil.which(word):
                raise LabError(f"{word} is missing; scripts/deps.sh observe fetches it")
        self._before = bool(before)
        self._log = scratch.file("server")
        self._process = process.spawn([*before, *command], os.sched_getaffinity(0), self._log, TOP)
        self.pid = self._process.pid
        try:
            self.address = self._read_address()
            if before:
                self.pid = procfs.children(self.pid)[0]
        except BaseException:
            self.stop()
            raise

    def _read_address(self):
        found = wait.until(lambda: servers.ready(procfs.read(self._log.name)), 20, self._process)
        if not found:
            raise LabError("the server did not start; it must print a line with \"listening on "
                           f"http://HOST:PORT/\"; it said: {self.said()[-200:]}")
        return found

    def said(self):
        """Return what it has printed, of both outputs."""
        return procfs.read(self._log.name)

    def stop(self):
        """Ask it to stop, wait, and make sure."""
        if self._process.returncode is None:
            if self._before:            # strace ends when its child has
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGTERM)
                process.wait(self._process, 3)
        if self._process.returncode is None:
            process.stop(self._process)
        process.kill_session(self._process.pid)
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def start(folder, redis_port, *options, before=()):
    """Start one of the seven on a free port; return the Server. A pool has four workers, unless
    `options` say otherwise."""
    return Server([executable_of(folder), "--port", "0", "--redis",
                   f"127.0.0.1:{redis_port}", *POOL.get(folder, ()), *options], before)


def site(folder):
    """Make a copy of the site with a file /large in it; return its path. A client that reads it
    slowly makes the server wait: no socket's buffer can take it all."""
    for name in ("public", "templates"):
        shutil.copytree(TOP / name, Path(folder) / name)
    with open(Path(folder) / "public" / "large", "wb") as file:
        file.truncate(16 << 20)
    return str(folder)
