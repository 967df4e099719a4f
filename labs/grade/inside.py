"""The program that prepares a sandbox, becomes its first process, and starts the submission in it.

sandbox.py, which says what the submission has there, runs it by its path with the standard library
only, and with two descriptors: a socket and the pipe for the submission's output. Each line on the
socket is JSON. The plan comes in, and these go out:

    {"ready": true}     the submission waits for the line "go"
    {"started": true}   execve(2) is next
    {"error": TEXT}     a step failed
    {"ended": STATUS}   how the submission ended; negative: by a signal
"""

import contextlib
import ctypes
import errno
import json
import os
import resource
import shutil
import signal
import socket
import sys
from pathlib import Path

SCRATCH = 64 << 20      # bytes in the folder that the program may write to
NICE = 5                # a submission that spins must not stop the grader
SCRATCH_AT = "/tmp"     # as on any machine: no name that tells a program of the grader
DEVICES = ("null", "zero", "full", "random", "urandom")

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4
AT_FDCWD, AT_RECURSIVE, SYS_MOUNT_SETATTR = -100, 0x8000, 442
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
CAPABILITY_VERSION_3 = 0x20080522
INSIDE = 1000           # the submission's user, as it sees itself

_libc = ctypes.CDLL(None, use_errno=True)


def try_namespaces():
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


def main():
    """Prepare the sandbox that the plan describes, and run the program.

    Three processes: this one, which the grader started; the init of the pid namespace; the program.
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
            if name == "nproc" and not plan["namespaces"] and plan["user"] is None:
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
        raise OSError(errno.EPERM, "no user namespace for the submission")
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
    _set_attributes(target, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, AT_RECURSIVE)


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
