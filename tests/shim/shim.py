"""The library that makes system calls fail, seen from the test: it writes how
often each fault should come, and reads which ones came. See shim.c."""

import collections
import fcntl
import mmap
import os
import re
import struct
import subprocess

from tests.support.processes import make_folder, remove_folder
from tests.support.servers import TOP

LIBRARY = "build/shim.so"

# struct state and struct row of shim.c.
_STATE = struct.Struct("=IIIiQq")
_ROW = struct.Struct("=32sIIII")
_SIZE = 16384

Row = collections.namedtuple("Row", "tried injected")

# Why accept(2) fails although a client waits; an idle one may have to go.
NO_ROOM = ("accept_aborted", "accept_process_descriptors",
           "accept_system_descriptors", "accept_buffers", "accept_memory")

# What no client may notice: its answer is as whole as ever.
SOFT = {
    **dict.fromkeys(("recv_short", "send_short", "sendfile_short",
                     "redis_read_short", "redis_write_short"), 0.25),
    **dict.fromkeys(("recv_again", "recv_interrupted", "send_again",
                     "send_interrupted", "sendfile_again",
                     "sendfile_interrupted", "redis_read_again",
                     "redis_read_interrupted", "redis_write_again",
                     "redis_write_interrupted", "redis_connect_interrupted",
                     "accept_again",
                     "accept_interrupted", "epoll_wait_interrupted",
                     "poll_interrupted", "sem_wait_interrupted",
                     "openat2_again"), 0.1),
    **dict.fromkeys(NO_ROOM, 0.03),
    **dict.fromkeys(("fork_processes", "fork_memory", "thread_threads"), 0.05),
}

# What may cost a page that needs Redis, or a file: 503, and others are served.
LACKING = {
    **dict.fromkeys(("redis_connect_port", "redis_socket_descriptors",
                     "redis_epoll_memory"), 0.1),
    **dict.fromkeys(("openat2_process_descriptors",
                     "openat2_system_descriptors", "openat2_memory"), 0.02),
}

# What may cost a client its connection: one client for each fault.
HARD = {
    **dict.fromkeys(("recv_memory", "send_memory", "sendfile_memory"), 0.005),
    **dict.fromkeys(("epoll_add_watches", "epoll_add_memory"), 0.05),
    "malloc_memory": 0.005,
}


def _build():
    """Build the library, unless it is up to date. One test at a time does it."""
    (TOP / LIBRARY).parent.mkdir(exist_ok=True)
    with open(TOP / f"{LIBRARY}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "--silent", LIBRARY], cwd=TOP, check=True)


def _runtimes(executable):
    """List the sanitizers' libraries of an executable. They insist on being
    loaded before any other; then they call the next library, which is ours."""
    text = subprocess.run(["ldd", executable], check=True, text=True,
                          capture_output=True).stdout
    return re.findall(r"=> (\S+/lib[at]san\.so\S*)", text)


def _has_hiredis(executable):
    """Return whether hiredis is linked statically, as where its package is only unpacked."""
    symbols = subprocess.run(["nm", executable], check=True, text=True, capture_output=True).stdout
    return bool(re.search(r" [Tt] redisReaderCreateWithFunctions$", symbols, re.MULTILINE))


class Shim:
    """The library for one server. `environment` is what the server needs."""

    def __init__(self, executable, seed):
        _build()
        self._folder = make_folder("shim")
        file = self._folder / "state"
        file.write_bytes(bytes(_SIZE))
        file.chmod(0o666)               # for servers that gave up being root
        with open(file, "r+b") as state:
            self._memory = mmap.mmap(state.fileno(), _SIZE)
        self._write_header(seed=seed)
        runtimes = _runtimes(executable)
        # A sanitizer has an allocator of its own. And hiredis 0.14 gets all the memory that it
        # asks for; where it is linked statically, its calls look like the server's.
        self.spares_memory = bool(runtimes) or _has_hiredis(executable)
        libraries = [*runtimes, str(TOP / LIBRARY)]
        self.environment = {**os.environ, "SHIM": str(file),
                            "LD_PRELOAD": " ".join(libraries)}

    def close(self):
        """Forget what was counted."""
        self._memory.close()
        remove_folder(self._folder)

    def _header(self):
        return _STATE.unpack_from(self._memory)

    def _write_header(self, **values):
        for name, value in values.items():
            form, place = {"seed": ("=I", 4), "on": ("=I", 8),
                           "clock": ("=q", 24)}[name]
            struct.pack_into(form, self._memory, place, value)

    def _rows(self):
        count = self._header()[0]
        assert count, "the library was not loaded"
        for i in range(count):
            place = _STATE.size + i * _ROW.size
            name, *rest = _ROW.unpack_from(self._memory, place)
            yield name.rstrip(b"\0").decode(), place, rest

    def set(self, chances):
        """Set how likely each fault is, from 0.0 to 1.0; others do not come."""
        left = dict(chances)
        for name, place, _ in self._rows():
            chance = int(65536 * left.pop(name, 0))
            struct.pack_into("=I", self._memory, place + 32, chance)
        assert not left, f"the library does not know {list(left)}"
        self._write_header(on=1)

    def set_clock(self, seconds):
        """Set the server's clock `seconds` ahead of ours, or behind."""
        self._write_header(clock=seconds)

    def stop(self):
        """No fault comes from now on."""
        self._write_header(on=0)

    def counts(self):
        """Return {fault: (calls that could have had it, calls that had it)}."""
        return {name: Row(tried, injected)
                for name, _, (_, tried, injected, _) in self._rows()}

    def injected(self, names):
        """Return how often the faults of these names came."""
        counts = self.counts()
        return sum(counts[name].injected for name in names)

    @property
    def calls(self):
        """How many system calls went through the library."""
        return self._header()[4]

    @property
    def clients(self):
        """How many descriptors of clients are open, in all processes."""
        return self._header()[3]
