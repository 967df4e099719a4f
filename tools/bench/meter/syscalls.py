"""Which system calls a request costs: counted by strace in a pass of its own,
never in a timed one.

strace stops the server twice at each call, which makes a request several times as
expensive. What depends on the pace may come in other proportions than in a timed run: how
many clients one epoll_wait() returns, or how often a read finds nothing yet. To follow a
running server takes root, or kernel.yama.ptrace_scope = 0.
"""

import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

from tools.kit import procfs, process as child

SECONDS = 20            # until strace must have begun, or ended
ROW = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?((?!total$)\w+)$", re.MULTILINE)


class SyscallError(Exception):
    """System calls cannot be counted here; the text says why."""


def table(text):
    """Return {name: calls} from the table that strace -c prints."""
    return {name: int(calls) for calls, name in ROW.findall(text)}


def missing():
    """Return why calls cannot be counted, "" if they can."""
    return "" if shutil.which("strace") else "strace is not installed (apt-get install strace)"


def count(live, cores, work, options=("-f", "-c"), parse=table):
    """Count the calls of the server `live` while `work()` runs. `work` returns how many requests
    were answered; strace runs on `cores`, and parse() returns {name: calls} from what it writes
    with `options`. Returns {name: calls a request}, most frequent first, with the sum as "all".
    Raises SyscallError."""
    with tempfile.TemporaryDirectory(prefix="bench-calls-") as name:
        folder, until = Path(name), time.monotonic() + SECONDS
        pids = [str(one.pid) for one in procfs.tree(live.pid)]
        with open(folder / "log", "wb") as log:
            process = child.spawn(["strace", *options, "-o", "out", "-p", ",".join(pids)],
                                  cores, log, folder)
        try:
            while (said := procfs.read(folder / "log")).count(" attached") < len(pids):
                if child.wait(process, 0.01) or time.monotonic() > until:
                    raise SyscallError("strace: " + said.strip()[-200:])
            requests = work()
        finally:
            child.stop(process, signal.SIGINT, SECONDS)
        counts = parse("".join(map(procfs.read, folder.glob("out*"))))
    if not requests or not counts:
        raise SyscallError("nothing was counted")
    counts["all"] = sum(counts.values())
    return {name: counts[name] / requests for name in sorted(counts, key=counts.get, reverse=True)}
