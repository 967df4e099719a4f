"""Which system calls a request costs: counted by strace in a pass of its own, never in a timed one.

strace stops the server twice at each call, which makes a request several times as
expensive. What depends on the pace may come in other proportions than in a timed run: how
many clients one epoll_wait() returns, or how often a read finds nothing yet.
"""

import re
from pathlib import Path

from tools.kit import procfs, scratch, strace

ROW = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?((?!total$)\w+)$", re.MULTILINE)


def table(text):
    """Return {name: calls} from the table that strace -c prints."""
    return {name: int(calls) for calls, name in ROW.findall(text)}


def count(live, cores, work, options=("-f", "-c"), parse=table):
    """Return {name: calls a request} of the server `live` while work() runs, most frequent first,
    with the sum as "all". work() returns how many requests were answered; strace runs on `cores`,
    parse() returns {name: calls} of what it writes with `options`. Raises strace.StraceError, also
    if nothing was counted."""
    with scratch.folder("calls") as name:
        folder = Path(name)
        pids = [one.pid for one in procfs.tree(live.pid)]
        with strace.following(pids, options, folder / "out", cores):
            requests = work()
        counts = parse("".join(map(procfs.read, folder.glob("out*"))))
    if not requests:
        raise strace.StraceError("no request was answered while strace ran")
    if not counts:
        raise strace.StraceError("strace wrote no calls: may it trace here?")
    counts["all"] = sum(counts.values())
    return {name: counts[name] / requests for name in sorted(counts, key=counts.get, reverse=True)}
