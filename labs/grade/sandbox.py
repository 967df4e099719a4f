"""Runs programs of strangers: a submission, and the compiler on its source.

    isolation = enter()             once, first of all, with a single thread
    with Sandboxed(command, shown, isolation) as program: ...

What a program in the sandbox has (namespaces(7)):

    processes   a pid namespace: it sees and signals its own processes only.
                When the first process of the namespace is killed, the kernel
                kills all others, however they tried to hide.
    files       a mount namespace: the system's libraries and the
                folders of `shown`, read-only, and /tmp, a small file
                system in memory. Nothing else of the machine is there.
    network     the grader's own: a loopback device and nothing behind it.
    rights      a user of its own (another one than root's, where root
                grades), no capability, no way to get one.
    resources   the limits of LIMITS; its memory in all is limited by a
                control group (cgroup.py) where one can be made, and watched.

Where the system forbids namespaces, the same program runs with the limits
alone, and enter() says so. inside.py prepares the sandbox.

Why not bubblewrap, which makes the same namespaces? Its first process ends with the program, and
the kernel then kills what the program left running. A parent that forgets its children is one of
the faults that the labs are about, so here the first process of the namespace stays until the
grader has looked. And bubblewrap run by root keeps root as the user outside; the submission would
own the grader's files and share root's limit of processes.
"""

import contextlib
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from labs.grade import cgroup, inside, memory
from tools.kit import netns, procfs

MIB = 1 << 20
LIMITS = {              # as ulimit names them; see setrlimit(2)
    "nproc": 256,       # threads count, too
    "nofile": 1024,
    "fsize": 64 * MIB,
    "as": 16 << 30,     # address space: threads reserve much and use little
    "cpu": 120,         # seconds for each process
    "core": 0,
}
MEMORY = 1 << 30        # bytes for all processes of a program together
RESERVE = 0.05          # of the machine's memory stays free
OUTPUT = 1 * MIB        # bytes of output; then the writer waits
WATCH = 0.1             # seconds between two looks at the memory
START = 60              # seconds that preparing a sandbox may take: busy machines

# What a dynamically linked program needs of the machine, and what a compiler. A
# submission finds no other program: a finished server may be installed here.
SYSTEM = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib",
          "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/localtime")
COMPILER = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32",
            "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
OWN_USERS = 2_000_000_000       # first of the numbers that no user has


class SandboxError(Exception):
    """The sandbox could not be prepared; the text says which step failed."""


@dataclass(frozen=True)
class Isolation:
    """What enter() found: `namespaces` (bool), and if not, `why` (text)."""

    namespaces: bool
    why: str = ""


def enter():
    """Move the grader into a network of its own; return the Isolation.

    As another user than root also into a user namespace, where the grader may
    make the other namespaces. Call it before there is a second thread.
    """
    try:
        inside.try_namespaces()
        netns.enter()
        return Isolation(True)
    except OSError as error:
        return Isolation(False, str(error))


def why_not_apart():
    """Return why this system cannot keep a submission apart; "" if it can."""
    try:
        inside.try_namespaces()
        return ""
    except OSError as error:
        return str(error)


class Sandboxed:
    """A program in a sandbox, running: a context manager.

    `command`   words; in each, "{NAME}" is the path of that shown folder, and
                "{scratch}" of the folder that it may write to
    `shown`     {name: folder or file}: what it may read
    `isolation` what enter() returned
    `limits`    changes LIMITS for this program
    `folder`    an empty folder of the grader's for this program
    `system`    what it may read of the machine: SYSTEM, or COMPILER

    .pid        its first process, as the grader sees it in /proc
    .fault      why it was killed, in words; "" if it was not

    Raises SandboxError when it cannot be started.
    """

    def __init__(self, command, shown, isolation, folder, limits=None,
                 memory=MEMORY, system=SYSTEM):
        self.isolation, self.folder = isolation, Path(folder)
        self.memory, self.fault, self._status = memory, "", None
        self.init = self.group = None
        self._said, self._over = bytearray(), threading.Event()
        self._full = threading.Event()      # see stop_reading()
        (self.folder / "scratch").mkdir(exist_ok=True)
        os.chmod(self.folder / "scratch", 0o777)
        paths = {name: f"/{name}" if isolation.namespaces else str(path)
                 for name, path in shown.items()}
        paths["scratch"] = inside.SCRATCH_AT if isolation.namespaces \
            else str(self.folder / "scratch")
        plan = {
            "command": [_fill(word, paths) for word in command],
            "shown": {name: str(path) for name, path in shown.items()},
            "namespaces": isolation.namespaces, "folder": str(self.folder),
            "scratch": paths["scratch"], "system": system,
            "limits": {**LIMITS, **(limits or {})},
            "user": OWN_USERS + os.getpid() if os.getuid() == 0 and
            _is_real_root() else None}
        self._control, theirs = socket.socketpair()
        reader, writer = os.pipe()
        self._reader = reader
        with theirs:
            self._outer = subprocess.Popen(
                [sys.executable, "-I", "-S", inside.__file__, str(theirs.fileno()),
                 str(writer)], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), writer], close_fds=True,
                start_new_session=True, env={"PATH": "/usr/bin:/bin",
                                             "LANG": "C.UTF-8"})
        os.close(writer)
        self._control.settimeout(START)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        try:
            self.group = cgroup.make(memory)
            if self.group:
                self.group.add(self._outer.pid)
            self._begin(plan)
        except BaseException:
            self._kill()
            self._control.close()
            os.close(reader)
            raise
        self._thread.start()

    def _begin(self, plan):
        """Hand the plan over; learn the process ids; let the program go."""
        self._lines = self._control.makefile("r", encoding="utf-8")
        try:
            self._control.sendall(json.dumps(plan).encode() + b"\n")
            word = json.loads(self._lines.readline() or "{}")
        except OSError as error:
            raise SandboxError(f"the sandbox did not start: {error}") from error
        if "ready" not in word:
            raise SandboxError(word.get("error", "the sandbox did not start"))
        # The init is the only child of the program that prepared everything,
        # and the submission, which waits for a word from us, its only child.
        self.init = procfs.children(self._outer.pid)[0]
        self.pid = procfs.children(self.init)[0]
        self._pidfd = os.pidfd_open(self.pid)
        self._control.sendall(b"go\n")
        word = json.loads(self._lines.readline() or "{}")
        if "error" in word:
            raise SandboxError(word["error"])

    @property
    def output(self):
        """What it has printed, standard error too, as text: the first OUTPUT bytes."""
        return bytes(self._said).decode(errors="replace")

    def wait(self, seconds):
        """Return the exit status of the first process (negative: a signal), or
        None if it still runs after `seconds`."""
        if self._status is None:
            # The init says how it ended; if the init was killed, nothing.
            if select.select([self._control], [], [], max(0, seconds))[0]:
                word = json.loads(self._lines.readline() or "{}")
                if "error" in word:     # execve(2) refused it; its end follows
                    self.fault = f"it cannot be run: {word['error']}"
                    word = json.loads(self._lines.readline() or "{}")
                self._status = word.get("ended", -signal.SIGKILL)
        return self._status

    def send(self, number):
        """Send a signal to the first process; nothing if it has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def stop_reading(self):
        """Read what it prints no more, and fill the pipe, until it is full after
        the last look of _watch()."""
        self._full.set()
        pipe = os.open(f"/proc/self/fd/{self._reader}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            for _ in range(3):
                with contextlib.suppress(BlockingIOError):
                    while os.write(pipe, bytes(4096)):
                        pass
                time.sleep(WATCH)
        finally:
            os.close(pipe)

    def processes(self):
        """Return the process ids of all that it runs, also of those that no
        longer descend from the first."""
        return memory.descendants(self.init)

    def read(self, name, limit=inside.SCRATCH):
        """Return the bytes of a file in its {scratch}. Raises SandboxError when
        there is no such file, or it is none that may be trusted.

        No link is followed: it would lead the grader to the grader's files.
        """
        path = f"/proc/{self.init}/root{inside.SCRATCH_AT}/{name}" \
            if self.isolation.namespaces else self.folder / "scratch" / name
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
                    raise SandboxError(f"{name} is not a file of usual size")
                return file.read(limit)
        except OSError as error:
            raise SandboxError(f"no {name}: {error.strerror}") from error

    def _watch(self):
        """Read the output, and look at the memory; runs in a thread.

        When OUTPUT bytes have come, no more are read: the pipe fills, and the
        program waits in write(2). That costs nothing.
        """
        reading, due = True, 0.0
        while not self._over.is_set():
            reading = reading and not self._full.is_set()
            if reading and select.select([self._reader], [], [], WATCH)[0]:
                data = os.read(self._reader, min(1 << 16, OUTPUT - len(self._said)))
                self._said += data
                reading = bool(data) and len(self._said) < OUTPUT
            elif not reading:
                self._over.wait(WATCH)
            if time.monotonic() >= due:
                due = time.monotonic() + WATCH
                self._check_memory()

    def _check_memory(self):
        """Kill all when they use too much memory together."""
        if self._over.is_set():
            return
        pids = self.processes()
        used = memory.used(pids)
        if self.group and self.group.is_over() or used > self.memory and \
                memory.used(pids, exactly=True) > self.memory:
            self.fault = f"it used more than {self.memory // MIB} MiB of memory"
        elif used > self.memory // 8 and memory.free_share() < RESERVE:
            self.fault = "the machine ran out of memory"
        if self.fault:
            self._kill_processes()

    def _kill_processes(self):
        """Kill all that it runs."""
        if self.isolation.namespaces:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
            return
        while pids := self.processes():     # they may fork in between
            for pid in pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)

    def _kill(self):
        """End everything; returns when the last process has gone."""
        for self.init in procfs.children(self._outer.pid):
            self._kill_processes()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
        # A namespace's init ends after all others in it, and the program that waits for it ends
        # then, too. Without an init there is none to wait for.
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self.init:
                self._outer.wait(START)
        self._outer.kill()
        self._outer.wait()
        if self.group:
            self.group.remove()

    def end(self):
        """End all that it runs. The output stays."""
        if self._over.is_set():
            return
        self._check_memory()
        self._over.set()
        self._kill()
        self._thread.join()     # it finds the end of the output
        self.wait(0)
        for file in (self._control, self._lines):
            file.close()
        os.close(self._reader)
        os.close(self._pidfd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def _fill(word, paths):
    """Replace each {name} in a word of a command."""
    for name, path in paths.items():
        word = word.replace("{" + name + "}", path)
    return word


def _is_real_root():
    """Return whether user numbers that belong to no user can be used here."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= OWN_USERS and OWN_USERS + (1 << 23) < first + count:
            return True
    return False
