"""What the workers of a server that runs have counted."""

import contextlib
import os
import struct
import time
from dataclasses import dataclass

from tools.kit import procfs, servers

_HEADER = 64            # bytes before the workers, see struct server_shared
_WORKER = struct.Struct("=QQq40x")      # struct worker_slot of common/server.h
_CLOCK_MONOTONIC_COARSE = 6     # of time.h; Python does not name it
# What is shorter than a tick of the kernel, a loop measures as 0.
TICK_MS = 1000 * time.clock_getres(_CLOCK_MONOTONIC_COARSE)


@dataclass(frozen=True)
class Worker:
    """What one worker has counted."""

    requests: int
    connections: int
    longest_ms: int     # its longest iteration, in ticks; of a loop


class Counters:
    """The counters of one of the seven, a Worker for each. Its workers share a piece of memory: 64
    bytes, then 64 for each worker. Other programs have none. `loop`: whether the server is an event
    loop."""

    def __init__(self, pid):
        self._memory, self.loop = None, False
        name = procfs.read(f"/proc/{pid}/comm").strip()
        if name not in servers.NAMES:
            return
        self.loop = servers.named(name).model == servers.LOOP
        for line in procfs.read(f"/proc/{pid}/maps").splitlines():
            if " rw-s " in line and "/dev/zero" in line:
                self._begin, end = (int(part, 16) for part in line.split()[0].split("-"))
                self._size = (end - self._begin - _HEADER) // _WORKER.size * _WORKER.size
                with contextlib.suppress(OSError):
                    self._memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
                return

    def read(self):
        """Return the Workers in the order of their numbers, or None when not known. Workers that
        have counted nothing follow, up to the end of the last page of memory."""
        if self._memory is None:
            return None
        try:
            data = os.pread(self._memory, self._size, self._begin + _HEADER)
        except OSError:
            return None
        return [Worker(*counted) for counted in _WORKER.iter_unpack(data)]

    def close(self):
        """Give the descriptor back."""
        if self._memory is not None:
            os.close(self._memory)
            self._memory = None
