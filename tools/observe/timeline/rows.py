"""From system calls to rows of coloured bars. Pure.

A worker's row: what the process or thread does. A client's row: what it waits for. In an event loop
a client's state follows from the last call on its socket, not from what the loop is doing.
"""

import bisect
import collections
import itertools
import re
from dataclasses import dataclass, replace

from tools.kit import states
from tools.kit.slow_redis import frames
from tools.observe.timeline.strace import socket_of


@dataclass(frozen=True)
class Bar:
    """What a worker or a client does for a while."""

    begin: float        # Unix time in seconds
    end: float
    kind: str           # of states.KINDS
    words: str
    calls: tuple        # of strace.Call


@dataclass(frozen=True)
class Row:
    """The bars of a worker or a client."""

    name: str
    role: str           # "worker" or "client"
    bars: list


@dataclass(frozen=True)
class World:
    """What is known beforehand."""

    ports: set          # of the server
    redis: set          # of ports, too
    clients: dict       # {a client's port: its number}
    # What the calls of a program cannot tell. "parks": a thread without work sleeps in futex;
    # "moves": a client's work goes from thread to thread; "timers": a wait for events in which
    # none came was a wait for a timer.
    habits: frozenset = frozenset()


# A call that returns sooner than this has not waited.
INSTANT = 0.0001
# A write that lasts longer than this waits for its client to read.
LONG_WRITE = 0.02
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_ONE_POLLED = re.compile(r"\[\{fd=(.*), events=[^}]*\}\], 1, ", re.DOTALL)
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def build(calls, clients, world, delays=()):
    """Return the Rows of a trace: workers first, then clients.

    `calls`: of strace.parse(); `clients`: of clients.burst(); `delays`: [(tid, begin, end,
    seconds)], how long a thread was ready to run and did not (see add_delays()). Workers that
    served none of the clients have no row."""
    by_tid, about = collections.defaultdict(list), collections.defaultdict(list)
    for call in calls:
        by_tid[call.tid].append(call)
        if number := client_of(call, world):
            about[number].append(call)
    served = {call.tid for own in about.values() for call in own}
    bars = {tid: add_delays(worker_bars(own, world), [d[1:] for d in delays if d[0] == tid])
            for tid, own in by_tid.items() if tid in served}
    loops = {tid for tid in bars if _is_loop(by_tid[tid], world)} \
        if "timers" not in world.habits else set()
    names = name_workers(calls, list(bars), loops)
    made = [Row(names[tid], "worker", bars[tid]) for tid in bars]
    for client in clients:
        own = [call for call in about[client.number] if call.end > client.begin]
        made.append(Row(f"client {client.number}", "client", moving_bars(client, own)
                        if "moves" in world.habits else client_bars(client, own, bars, loops)))
    return made


def client_of(call, world):
    """Return the number of the client that a call is about, or None."""
    text = call.result if call.name in states.ACCEPT else call.arguments
    socket = socket_of(text)
    return world.clients.get(socket.remote[1]) if socket and socket.remote \
        and socket.kind.startswith("TCP") else None


def role(call, world):
    """Return (role, number of the client) of the call's descriptor."""
    polled = _ONE_POLLED.match(call.arguments)
    socket = socket_of(polled[1] if polled else call.arguments)
    if socket is None:
        return None, None
    if not socket.kind:
        text = socket.local[0]
        return ("pipe" if text.startswith("pipe:") else "file"), None
    if not socket.kind.startswith("TCP"):
        return "a local socket", None
    remote = socket.remote
    if call.name == "connect" and remote is None and (port := _PORT.search(call.arguments)):
        remote = "peer", int(port[1])
    return (states.role_of(socket.local, remote, world.ports, world.redis),
            client_of(call, world))


def _waits(call, role):
    """Whether a call waits for something, rather than doing work."""
    if call.end - call.begin < INSTANT:
        return False
    if call.name in states.SEND:
        return role == states.CLIENT and call.end - call.begin > LONG_WRITE
    if call.name in ("futex", "fcntl"):
        return bool(re.search("WAIT|SETLKW", call.arguments)) or \
            ("LOCK_PI" in call.arguments and "UNLOCK" not in call.arguments)
    if call.name in states.RECEIVE and role == "file" or call.name == "openat":
        return False
    return "EAGAIN" not in call.result and "DONTWAIT" not in call.arguments \
        and call.name in (states.ACCEPT | states.RECEIVE | states.MANY
                          | states.LOCK | states.SLEEP | states.CHILD | states.SIGNAL | {"connect"})


def worker_bars(calls, world):
    """Return the bars of one thread, from its calls in order."""
    bars, loop = [], _Loop(world)
    before = calls[0].begin
    for call in calls:
        if call.begin > before:
            bars.append(Bar(before, call.begin, "run", "runs", ()))
        kind_of_fd, number = role(call, world)
        if not _waits(call, kind_of_fd):
            kind, words = "run", "runs"
        elif "timers" in world.habits and call.name in states.MANY and call.result[:1] == "0":
            kind, words = "other", "waits for a timer"
        elif _waits_for_many(call):
            kind, words = loop.waits()
        elif "parks" in world.habits and call.name == "futex":
            kind, words = "idle", "parked: waits for work"
        elif _ONE_POLLED.match(call.arguments):
            kind, words = states.meaning("read", kind_of_fd, number)
        elif call.name == "fcntl":
            kind, words = states.meaning("flock", None)
        else:
            kind, words = states.meaning(call.name, kind_of_fd, number,
                                         call.name not in states.MANY)
        loop.saw(call, kind_of_fd, number)
        bars.append(Bar(call.begin, call.end, kind, words, (call,)))
        before = max(before, call.end)
    return merge(bars)


def _waits_for_many(call):
    """Whether a call waits for more than one descriptor, as a loop does."""
    return call.name in states.MANY and not (
        call.arguments.startswith("NULL, 0") or _ONE_POLLED.match(call.arguments))


class _Loop:
    """What an event loop owes, and what Redis owes it."""

    def __init__(self, world):
        self.world = world
        self.clients = set()
        self.owed = {}          # by descriptor: replies, or answers of another application
        self.connecting = False

    def waits(self):
        """Return the meaning of a wait for events now."""
        return states.loop_meaning(any(self.owed.values()) or self.connecting, len(self.clients))

    def saw(self, call, role, number):
        """Take note of a call."""
        if number:
            (self.clients.discard if call.name == "close" else self.clients.add)(number)
        if role != states.REDIS:
            return
        if call.name == "connect":
            self.connecting = True
            return
        fd = socket.fd if (socket := socket_of(call.arguments)) else None
        if call.name == "close":
            self.connecting, self.owed[fd] = False, 0
        elif call.name in states.SEND | states.RECEIVE and "DONTWAIT" not in call.arguments:
            self.connecting = False
            sign = 1 if call.name in states.SEND else -1
            self.owed[fd] = max(0, self.owed.get(fd, 0) + sign * messages(call))


def messages(call):
    """Return how many Redis commands or replies a call transferred; 1 for other data."""
    text = _TEXT.search(call.arguments)
    if not text:
        return 0
    data = text[1].encode("latin-1", "replace").decode("unicode_escape")
    try:
        return len(frames(data.encode("latin-1", "replace")))
    except ValueError:
        return 1


def merge(bars):
    """Join neighbours of the same kind and words."""
    merged = []
    for bar in bars:
        last = merged[-1] if merged else None
        if last and bar.begin - last.end < 1e-6 and \
                (last.kind, last.words) == (bar.kind, bar.words):
            merged[-1] = replace(last, end=max(last.end, bar.end), calls=last.calls + bar.calls)
        else:
            merged.append(bar)
    return merged


def add_delays(bars, delays):
    """Show when a thread that could run had to wait for the CPU. `delays`: [(begin, end, seconds)],
    from the kernel's count, which says how long in an interval, not when: the end of the running
    time is taken."""
    for begin, end, seconds in delays:
        if seconds < 0.001:
            continue
        fresh = []
        for bar in reversed(bars):
            left, right = max(bar.begin, begin), min(bar.end, end)
            if bar.kind != "run" or right <= left or seconds <= 0:
                fresh.append(bar)
                continue
            cut = max(left, right - seconds)
            seconds -= right - cut
            fresh += [part for part in (
                replace(bar, begin=right), Bar(cut, right, "cpu", states.KINDS["cpu"][0], ()),
                replace(bar, end=cut)) if part.end > part.begin]
        bars = fresh[::-1]
    return bars


def clip(bars, begin, end):
    """Return the parts of bars between two times."""
    first = bisect.bisect_right([bar.end for bar in bars], begin)
    return [replace(bar, begin=max(bar.begin, begin), end=min(bar.end, end))
            for bar in bars[first:] if bar.begin < end and bar.end > begin]


def _is_loop(calls, world):
    """Whether a thread waits for several descriptors, clients among them."""
    return any(map(_waits_for_many, calls)) and any(
        call.name in states.RECEIVE and client_of(call, world) for call in calls)


def name_workers(calls, tids, loops):
    """Return {tid: name}, as the architecture calls it."""
    threads = {int(call.result) for call in calls
               if call.name in ("clone", "clone3") and call.result.isdigit()
               and "CLONE_THREAD" in call.arguments}
    first = calls[0].tid if calls else None
    names, counts = {}, collections.Counter()
    for tid in tids:
        if tid == first:
            names[tid] = "loop" if tid in loops else "process" if len(tids) == 1 else \
                "main thread" if threads else "parent"
            continue
        word = "thread" if tid in threads else \
            "loop" if tid in loops else "child" if first in tids else "worker"
        counts[word] += 1
        names[tid] = f"{word} {counts[word]}"
    return names


def client_bars(client, own, bars, loops):
    """Return the bars of a client, from its connect to its last byte. `own`: the calls about it;
    `bars`: {tid: bars} of workers; `loops`: those of them that are event loops."""
    queued = min(own[0].end if own else client.end, client.end)
    row = [Bar(client.begin, queued, "queue", states.KINDS["queue"][0], tuple(own[:1]))]
    serving = next((call for call in own[1:] if call.name != "close" or call.tid != own[0].tid),
                   None)
    if not serving:
        return row
    tid, begin = serving.tid, max(serving.begin, queued)
    if begin > queued:
        row.append(Bar(queued, begin, "run", "is handed to a worker"
                       if tid != own[0].tid else "runs", ()))
    last = max(call.end for call in own if call.tid == tid)
    part = clip(bars[tid], begin, min(last, client.end))
    if tid in loops:
        part = [_in_loop(bar, own) for bar in part]
    return merge(row + part)


def moving_bars(client, own):
    """Return the bars of a client whose work moves between threads: they follow from `own`, the
    calls on its socket, by whichever thread. Clients of a burst send immediately, so until its
    request is read, one that has been accepted waits for a thread."""
    accepted = next((call for call in own if call.name in states.ACCEPT), None)
    came = next((call for call in own if call.name in states.RECEIVE and _received(call)), None)
    left = next((call for call in own if call.name in states.SEND), None)
    times = [min(call.end if call else client.end, client.end) for call in (accepted, came)]
    times.append(min(left.begin if left else client.end, client.end))
    times = [client.begin, *itertools.accumulate(times, max)]
    said = (("queue", states.KINDS["queue"][0], accepted),
            ("other", "accepted, waits for a thread", came),
            ("redis", states.KINDS["redis"][0], left))
    return [Bar(begin, end, kind, words, (call,) if call else ())
            for (kind, words, call), begin, end in zip(said, times, times[1:])]


def _received(call):
    """Whether a call received something: its result is a number above 0."""
    return re.match("[1-9]", call.result) is not None


def _in_loop(bar, own):
    """Return a loop's bar as one of its clients sees it."""
    if not any(map(_waits_for_many, bar.calls)) or bar.kind == "run":
        return bar
    last = [call for call in own if call.begin <= bar.begin]
    received = last and last[-1].name in states.RECEIVE and _received(last[-1])
    if received and bar.kind == "redis":
        return replace(bar, words=states.KINDS["redis"][0])
    return replace(bar, kind="client", words="the server waits for it to send")
