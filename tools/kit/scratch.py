"""Temporary folders and files that are gone after a run, however it ended.

Each is locked (flock(2)) while the run that made it lives. The kernel releases the lock also
when the run is killed, and the next run of the same user removes what is not locked.
scripts/with_redis.sh does the same.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile

from tools.kit import wait

PREFIX = "zerohttpd."
PATIENCE = 10           # seconds: what a killed run started may still write while it ends
_held = {}              # {folder: its descriptor, which has the lock}
_swept = False


@contextlib.contextmanager
def folder(what):
    """Yield the path of a new folder that only we may enter; `what` becomes part of its name. It
    is removed after the block. Raises OSError."""
    path = make(what)
    try:
        yield path
    finally:
        remove(path)


def make(what):
    """Return the path of a new folder, which lasts until remove(), or until the next run
    after we have ended. Raises OSError."""
    _sweep_once()
    while True:
        path = tempfile.mkdtemp(prefix=f"{PREFIX}{what}.")
        if (descriptor := hold(path)) is not None:
            _held[path] = descriptor
            return path


def remove(path):
    """Remove a folder of make(), and all that is in it."""
    _remove(path)
    if (descriptor := _held.pop(path, None)) is not None:
        os.close(descriptor)


def file(what, mode="w+b"):
    """Return a new file as tempfile.NamedTemporaryFile() does. Raises OSError."""
    _sweep_once()
    while True:
        made = tempfile.NamedTemporaryFile(mode, prefix=f"{PREFIX}{what}.")
        fcntl.flock(made, fcntl.LOCK_EX)
        if _is_at(made.name, made.fileno()):
            return made


def hold(path):
    """Lock a file or folder; return the descriptor that has the lock, or None if another run
    has removed it before. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    if _is_at(path, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def sweep(parent, prefix, removes):
    """Call removes(path) on all in `parent` whose name begins with `prefix`, that is ours, and
    that no run holds."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for one in entries:
            if one.name.startswith(prefix):
                with contextlib.suppress(OSError):
                    _sweep(one.path, removes)


def _sweep(path, removes):
    """Raises OSError if it is held, or not ours."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            removes(path)
    finally:
        os.close(descriptor)


def _sweep_once():
    global _swept
    if not _swept:
        _swept = True
        sweep(tempfile.gettempdir(), PREFIX, _remove)


def _is_at(path, descriptor):
    """Return whether an open file is still the one at `path`."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove(path):
    """Remove a file, or a folder with all that is in it, also where folders are read-only."""
    def allow(_, name, error):
        if isinstance(error[1], PermissionError):
            with contextlib.suppress(OSError):
                os.chmod(os.path.dirname(name), 0o700)
                if os.path.isdir(name) and not os.path.islink(name):
                    os.chmod(name, 0o700)

    def is_gone():
        if os.path.isdir(path):
            shutil.rmtree(path, onerror=allow)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        return not os.path.lexists(path)

    wait.until(is_gone, PATIENCE)
