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
alone, and enter() says so.

This file is a module and a program: Sandboxed starts it again as the program
that prepares the sandbox (`main`). That one uses the standard library only.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

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
SCRATCH = 64 * MIB      # bytes in {scratch}
WATCH = 0.1             # seconds between two looks at the memory
START = 60              # seconds that preparing a sandbox may take: busy machines
NICE = 5                # a submission that spins must not stop the grader

# What a dynamically linked program needs of the machine, and what a compiler. A
# submission finds no other program: a finished server may be installed here.
SYSTEM = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib",
          "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/localtime")
COMPILER = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32",
            "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
SCRATCH_AT = "/tmp"     # as on any machine: no name that tells a program of the grader
DEVICES = ("null", "zero", "full", "random", "urandom")

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4
AT_FDCWD, AT_RECURSIVE, SYS_MOUNT_SETATTR = -100, 0x8000, 442
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
CAPABILITY_VERSION_3 = 0x20080522
INSIDE = 1000           # the submission's user, as it sees itself
OWN_USERS = 2_000_000_000       # first of the numbers that no user has

_libc = ctypes.CDLL(None, use_errno=True)


class SandboxError(Exception):
    """The sandbox could not be prepared; the text says which step failed."""


@dataclass(frozen=True)
class Isolation:
    """What enter() found: `namespaces` (bool), and if not, `why` (text)."""

    namespaces: bool
    why: str = ""


# ------------------------------------------------------------- the grader's side

def enter():
    """Move the grader into a network of its own; return the Isolation.

    As another user than root also into a user namespace, where the grader may
    make the other namespaces. Call it before there is a second thread.
    """
    try:
        from tools.kit import netns
        _try_namespaces()
        netns.enter()
        return Isolation(True)
    except OSError as error:
        return Isolation(False, str(error))


def _try_namespaces():
    """Raise OSError where namespaces are forbidden, or no file system can be
    mounted in them, as after chroot(2): a child tries both."""
    flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS
    flags |= CLONE_NEWUSER if os.getuid() != 0 else 0
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _call("unshare(2)", _libc.unshare(flags))
            _mount(None, "/", None, MS_REC | MS_PRIVATE)
        except OSError as error:
            os.write(writer, json.dumps([error.errno, error.strerror]).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as said:
        error = said.read()
    os.waitpid(child, 0)
    if error:
        raise OSError(*json.loads(error))


def why_not_apart():
    """Return why this system cannot keep a submission apart; "" if it can."""
    try:
        _try_namespaces()
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
        paths["scratch"] = SCRATCH_AT if isolation.namespaces \
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
                [sys.executable, "-I", "-S", __file__, str(theirs.fileno()),
                 str(writer)], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), writer], close_fds=True,
                start_new_session=True, env={"PATH": "/usr/bin:/bin",
                                             "LANG": "C.UTF-8"})
        os.close(writer)
        self._control.settimeout(START)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        try:
            from labs.grade import cgroup
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
        self.init = _children(self._outer.pid)[0]
        self.pid = _children(self.init)[0]
        self._pidfd = os.pidfd_open(self.pid)
        self._control.sendall(b"go\n")
        word = json.loads(self._lines.readline() or "{}")
        if "error" in word:
            raise SandboxError(word["error"])

    @property
    def output(self):
        """What it has printed, standard error too, as text: the first OUTPUT
        bytes."""
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
        return _descendants(self.init)

    def read(self, name, limit=SCRATCH):
        """Return the bytes of a file in its {scratch}. Raises SandboxError when
        there is no such file, or it is none that may be trusted.

        No link is followed: it would lead the grader to the grader's files.
        """
        path = f"/proc/{self.init}/root{SCRATCH_AT}/{name}" \
            if self.isolation.namespaces else self.folder / "scratch" / name
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW |
                              os.O_NONBLOCK), "rb") as file:
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
                data = os.read(self._reader, min(1 << 16,
                                                 OUTPUT - len(self._said)))
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
        used = sum(map(_resident, pids)) + _files_in_memory(pids)
        if self.group and self.group.is_over() or used > self.memory and \
                sum(map(_proportional, pids)) + _files_in_memory(pids) > self.memory:
            self.fault = f"it used more than {self.memory // MIB} MiB of memory"
        elif used > self.memory // 8 and _free_share() < RESERVE:
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
        for self.init in _children(self._outer.pid):
            self._kill_processes()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
        # A namespace's init ends after all others in it, and the program that
        # waits for it ends then, too. Without an init there is none to wait
        # for.
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


def _children(pid):
    """Return the process ids of the children of a process."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{task}/children")
                             .read_text().split())
    return found


def _descendants(pid):
    """Return the process ids of all that descend from a process."""
    found, new = [], _children(pid)
    while new:
        found += new
        new = [child for one in new for child in _children(one)]
    return found


def _resident(pid):
    """Return the bytes of memory that a process uses, without files on a disk."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/status").read_text()
        return sum(int(line.split()[1]) * 1024 for line in text.splitlines()
                   if line.startswith(("RssAnon:", "RssShmem:")))
    return 0


def _proportional(pid):
    """The same, where pages that n processes share count for 1/n in each."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return sum(int(line.split()[1]) * 1024 for line in text.splitlines()
                   if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return _resident(pid)


def _files_in_memory(pids):
    """Return the bytes in files of memfd_create(2) that processes have open. One that is
    mapped, too, counts twice."""
    sizes = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    path = f"/proc/{pid}/fd/{name}"
                    if os.readlink(path).startswith("/memfd:"):
                        file = os.stat(path)
                        sizes[file.st_dev, file.st_ino] = file.st_blocks * 512
    return sum(sizes.values())


def _free_share():
    """Return the share of the machine's memory that is free, 0 to 1."""
    lines = dict(line.split(":") for line in
                 Path("/proc/meminfo").read_text().splitlines())
    return int(lines["MemAvailable"].split()[0]) / \
        int(lines["MemTotal"].split()[0])


# ------------------------------------------------------------ inside the sandbox

def main():
    """Prepare the sandbox that the plan describes, and run the program.

    Three processes: this one, which the grader started; the init of the pid
    namespace; the program.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    output = int(sys.argv[2])
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    plan = json.loads(control.makefile("r", encoding="utf-8").readline())
    try:
        if plan["namespaces"]:
            _call("unshare", _libc.unshare(CLONE_NEWNS | CLONE_NEWPID |
                                           CLONE_NEWIPC | CLONE_NEWUTS))
        init = os.fork()
        if init == 0:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            _run_init(plan, control, output)
    except OSError as error:
        _tell(control, error=str(error))
        os._exit(1)
    control.close()
    os.close(output)
    os.waitpid(init, 0)


def _run_init(plan, control, output):
    """Be the first process of the namespace: mount, start the program, reap."""
    try:
        # No debugger may attach to us: we have rights that it lacks.
        _prctl(PR_SET_DUMPABLE, 0)
        if plan["namespaces"]:
            _make_root(plan)
        else:
            _prctl(PR_SET_CHILD_SUBREAPER, 1)
        asks, asked = os.pipe()         # the child asks for its user ...
        mapped, maps = os.pipe()        # ... and learns that it has it
        child = os.fork()
        if child == 0:
            _become_program(plan, control, output, asked, mapped)
        os.close(asked)
        os.close(output)
        if os.read(asks, 1) == b"m":    # it is in a user namespace of its own
            Path(f"/proc/{child}/setgroups").write_text("deny")
            user = os.getuid() if plan["user"] is None else plan["user"]
            group = os.getgid() if plan["user"] is None else plan["user"]
            Path(f"/proc/{child}/uid_map").write_text(f"{INSIDE} {user} 1")
            Path(f"/proc/{child}/gid_map").write_text(f"{INSIDE} {group} 1")
        os.write(maps, b"m")
    except OSError as error:
        _tell(control, error=str(error))
        os._exit(1)
    while True:         # until the grader kills us
        try:
            pid, status = os.waitpid(-1, 0)
            if pid == child:
                with contextlib.suppress(OSError):
                    _tell(control, ended=os.waitstatus_to_exitcode(status))
        except ChildProcessError:
            control.recv(1)             # nothing comes but the end
            os._exit(0)


def _become_program(plan, control, output, asked, mapped):
    """Give up all rights and run the command. Does not return."""
    try:
        os.setsid()
        if plan["namespaces"]:
            _enter_user(plan, asked, mapped)
        else:
            if plan["user"] is not None:
                os.setgroups([])
                os.setresgid(*[plan["user"]] * 3)
                os.setresuid(*[plan["user"]] * 3)
            os.write(asked, b"-")
            os.read(mapped, 1)
        _drop_capabilities()
        with contextlib.suppress(OSError):
            os.nice(NICE)
        with contextlib.suppress(OSError):  # the kernel ends it before others
            Path("/proc/self/oom_score_adj").write_text("1000")
        os.chdir(plan["scratch"])
        for name, value in plan["limits"].items():
            if name == "nproc" and not plan["namespaces"] \
                    and plan["user"] is None:
                continue        # it would count all processes of the user
            number = getattr(resource, f"RLIMIT_{name.upper()}")
            hard = resource.getrlimit(number)[1]
            if hard != resource.RLIM_INFINITY:
                value = min(value, hard)
            resource.setrlimit(number, (value, value))
        _tell(control, ready=True)
        if control.recv(16) != b"go\n":
            os._exit(1)
        for target in (1, 2):
            os.dup2(output, target)
        _tell(control, started=True)
        for fd in map(int, os.listdir("/proc/self/fd")):
            if fd > 2:
                with contextlib.suppress(OSError):
                    os.set_inheritable(fd, False)
        # Python ignores SIGPIPE, and execve(2) keeps what is ignored.
        for number in range(1, signal.NSIG):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        os.execve(plan["command"][0], plan["command"],
                  {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
                   "TMPDIR": plan["scratch"], "HOME": plan["scratch"]})
    except OSError as error:
        with contextlib.suppress(OSError):
            _tell(control, error=str(error))
    os._exit(127)


def _enter_user(plan, asked, mapped):
    """Become a user without rights, in a user namespace if there is one.

    The limit of processes counts for each user namespace, so that programs of
    one user do not count for each other.
    """
    if plan["user"] is not None:
        os.setgroups([])
    own = _libc.unshare(CLONE_NEWUSER) == 0
    os.write(asked, b"m" if own else b"-")
    os.read(mapped, 1)
    if not own and plan["user"] is None:
        raise SandboxError("no user namespace for the submission")
    user = INSIDE if own else plan["user"]
    os.setresgid(user, user, user)
    if own:     # it may not make namespaces of its own, in which it is root
        with contextlib.suppress(OSError):
            Path("/proc/sys/user/max_user_namespaces").write_text("0")
    os.setresuid(user, user, user)


def _drop_capabilities():
    """Give up all capabilities, also those that a program could bring."""
    for number in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    _call("capset", _libc.capset(header, (ctypes.c_uint32 * 6)()))


def _make_root(plan):
    """Build the file system that the program sees, and move into it."""
    root = os.path.join(plan["folder"], "root")
    os.makedirs(root, exist_ok=True)
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    _mount("root", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m")
    for path in plan["system"]:
        if os.path.islink(path):        # /bin -> usr/bin
            with contextlib.suppress(FileExistsError):
                os.makedirs(os.path.dirname(root + path), exist_ok=True)
                if path.startswith("/etc/"):
                    shutil.copy(path, root + path)
                else:
                    os.symlink(os.readlink(path), root + path)
        elif os.path.exists(path):
            _show(path, root + path)
    for name, path in plan["shown"].items():
        _show(path, f"{root}/{name}")
    os.mkdir(root + SCRATCH_AT)
    _mount("scratch", root + SCRATCH_AT, "tmpfs", MS_NOSUID | MS_NODEV,
           f"mode=777,size={SCRATCH},nr_inodes=4096")
    os.mkdir(f"{root}/dev")
    for name in DEVICES:
        Path(f"{root}/dev/{name}").touch()
        _mount(f"/dev/{name}", f"{root}/dev/{name}", None, MS_BIND)
    os.mkdir(f"{root}/proc")
    _mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.chdir(root)
    # The old root lies below the new one until it is unmounted; see the last
    # paragraph of pivot_root(2).
    _call("pivot_root", _libc.pivot_root(b".", b"."))
    _call("umount", _libc.umount2(b".", MNT_DETACH))
    os.chdir("/")
    _set_attributes("/", MOUNT_ATTR_RDONLY, 0)


def _show(path, target):
    """Make a file or folder visible, read-only, at `target`."""
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    _mount(path, target, None, MS_BIND | MS_REC)
    _set_attributes(target, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
                    MOUNT_ATTR_NODEV, AT_RECURSIVE)


def _mount(source, target, kind, flags, options=None):
    """mount(2); raises OSError."""
    words = [word and os.fsencode(word) for word in (source, target, kind)]
    _call(f"mount {target}", _libc.mount(
        *words, ctypes.c_ulong(flags), options and options.encode()))


def _set_attributes(target, attributes, flags):
    """mount_setattr(2), which an older C library has no function for."""
    wanted = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    _call(f"mount_setattr {target}", _libc.syscall(
        ctypes.c_long(SYS_MOUNT_SETATTR), AT_FDCWD, os.fsencode(target),
        ctypes.c_uint(flags), wanted, ctypes.c_size_t(32)))


def _prctl(what, value):
    """prctl(2); raises OSError."""
    _call("prctl", _libc.prctl(what, int(value), 0, 0, 0))


def _call(what, result):
    """Raise OSError when a call of the C library failed."""
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def _tell(control, **words):
    """Send the grader one line."""
    control.sendall(json.dumps(words).encode() + b"\n")


if __name__ == "__main__":
    main()
