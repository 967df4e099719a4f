"""Honest clients that check everything, among hostile ones, against each server.

    python -m tests.hostile                 all seven, 60 s each, under the sanitizers
    python -m tests.hostile --seconds 10 --servers poll,epoll --seed 7 --bin-dir .

Each request of an honest client has a name of its own in its query. At the end the
books are compared:
- what the server has begun to answer arrived whole: no answer is cut, no
  connection is reset within one;
- the access log has one line for each answer that a client has, with its status and
  its length, and no line for a request that no client has an answer to;
- each remark that a guest was thanked for is in Redis once, and no other twice.

Honest clients keep connections, close them, pipeline, read slowly, and go on asking
while the server closes. Hostile ones drip, say nothing, hang up in the middle of a
request or of an answer, talk nonsense, and send much more than they read. Signals for
a report and for a new log come all the time. No worker is killed and Redis stays: all
that is missing at the end has been lost by the server.

The last line says `N passed, N failed`, a server each.
"""

import argparse
import collections
import os
import random
import re
import signal
import sys
import threading
import time
from pathlib import Path

from tests.support.client import Closed, Connection, Reset, build
from tests.support.site import Site
from tests.support.guest import URLENCODED, form
from tests.support.private_redis import PrivateRedis
from tests.support.servers import FOLDERS, TOP, Server

SANITIZED = TOP / "build" / "address,undefined" / "bin"
HONEST, HOSTILE = 10, 6     # clients at a time
LARGE = os.urandom(300_000)
# Fewer places than clients: idle connections have to make room.
CROWDED = {"iterative": [], "forking": ["--max-children", "5"],
           "preforking": ["--workers", "5"], "threaded": ["--max-threads", "5"],
           "prethreaded": ["--threads", "5"], "poll": ["--max-connections", "8"],
           "epoll": ["--max-connections", "8"]}
KEPT = 10_000               # remarks in the list
LINE = re.compile(r'^\S+ - - \[[^]]+\] "([A-Z]+) (\S+) HTTP/1\.[01]" (\d+) (\d+)$')
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "quarantine_size_mb=4:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1"}


class Books:
    """What the honest clients have seen; several threads write to it."""

    def __init__(self):
        self.answers = {}       # name: (status, bytes of content)
        self.thanked = set()    # names of remarks
        self.asked = 0
        self.faults = []
        self._lock = threading.Lock()
        self._next = 0

    def name(self):
        """Return the name of a new request."""
        with self._lock:
            self._next += 1
            self.asked += 1
            return f"n{self._next}"

    def answered(self, name, response, remark):
        """Enter a whole answer; with a 303 the `remark` has been stored."""
        with self._lock:
            if name in self.answers:
                self.faults.append(f"two answers to {name}")
            self.answers[name] = response.status, len(response.body)
            if remark and response.status == 303:
                self.thanked.add(name)

    def fault(self, what):
        """Enter what must not happen."""
        with self._lock:
            self.faults.append(what)


# ------------------------------------------------------------------ honest

def a_request(books, dice, last):
    """Return (name, bytes, whether it is a remark, what its body must be or None)."""
    name = books.name()
    fields = [("Connection", "close")] if last else []
    kind = dice.choice(["echo", "echo", "large", "guestbook", "remark", "static"])
    if kind == "remark":
        return name, build(f"/guestbook?value={name}", "POST", [URLENCODED, *fields],
                           form("Ada", name)), True, None
    if kind == "echo":
        return name, build(f"/echo?value={name}", fields=fields), False, None
    if kind == "large":
        return name, build(f"/large.bin?{name}", fields=fields), False, LARGE
    path = {"guestbook": "/guestbook", "static": "/notes.txt"}[kind]
    return name, build(f"{path}?{name}", fields=fields), False, None


def ask(connection, requests, eager):
    """Send all requests, in one piece; or one by one, looking at the answers so far:
    then some come while the server closes."""
    if not eager:
        connection.send(b"".join(data for _, data, _, _ in requests))
        return
    for _, data, _, _ in requests:
        connection.send(data)
        if connection.arrived(0.02):
            connection.receive(2048)


def is_cut(fault):
    """Whether an answer had begun. (An idle connection may end while a request is on
    its way, and what follows the last answer gets none: RFC 9112, 9.6.)"""
    return fault.begun if isinstance(fault, Reset) else \
        str(fault) != "closed without an answer"


def a_connection(address, books, dice):
    """Be one honest client, for up to six requests."""
    count = dice.choice([1, 1, 2, 3, 6])
    manner = dice.choice(["one after the other", "in one piece", "eager"])
    slow = dice.random() < 0.4
    requests = [a_request(books, dice, last=n == count - 1 and dice.random() < 0.5)
                for n in range(count)]
    with Connection(address, deadline=120,
                    receive_buffer=4096 if slow else None) as connection:
        try:
            if manner != "one after the other":
                ask(connection, requests, manner == "eager")
            closing = False
            for name, data, remark, wanted in requests:
                if manner == "one after the other":
                    connection.send(data)
                if slow:
                    connection.readable(10)
                    time.sleep(dice.random() / 10)
                    connection.widen()
                response = connection.read_response()
                if closing:
                    books.fault(f"{name}: an answer behind Connection: close")
                if wanted is not None and response.body != wanted:
                    books.fault(f"{name}: wrong content")
                closing = response.closes
                books.answered(name, response, remark)
        except (Closed, Reset) as fault:
            if is_cut(fault):
                books.fault(f"{manner}, {'slow' if slow else 'fast'}: {fault}")


def honest(address, books, seed, stop):
    """Be one honest client after the other until `stop` is set."""
    dice = random.Random(seed)
    while not stop.is_set():
        try:
            a_connection(address, books, dice)
        except (AssertionError, OSError) as fault:
            books.fault(repr(fault))


# ----------------------------------------------------------------- hostile

def drips(connection, dice):
    """Half a request, byte after byte."""
    for byte in build("/answer")[:dice.randrange(5, 20)]:
        if not connection.send(bytes([byte])):
            return
        time.sleep(0.01)


def says_nothing(_connection, dice):
    """As a browser that connects in advance."""
    time.sleep(dice.random() / 5)


def hangs_up(connection, dice):
    """In the middle of a request, or of an answer."""
    data = build("/large.bin")
    connection.send(data[:-2] if dice.random() < 0.5 else data)
    if dice.random() < 0.5:
        connection.reset()


def talks_nonsense(connection, dice):
    """Bytes that are no request, or too many of them."""
    connection.send(dice.choice([
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64,
        b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100_000,
        b"POST /guestbook HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        b"\r\nzz\r\n", b"\r\n" * 1000, b"\r\nPOST / HTTP/1.1\r\nHost: a\r\n"
        b"Content-Length: 9\r\n\r\n123"]))
    connection.readable(0.2)


def wants_too_much(connection, _dice):
    """Many large answers, none of which is read."""
    connection.send(build("/large.bin") * 20)
    connection.readable(0.1)


def hostile(address, seed, stop):
    """Be one hostile client after the other until `stop` is set."""
    dice = random.Random(seed)
    while not stop.is_set():
        try:
            with Connection(address, deadline=120, receive_buffer=4096) as connection:
                dice.choice([drips, says_nothing, hangs_up, talks_nonsense,
                             wants_too_much])(connection, dice)
        except (AssertionError, OSError):
            pass                # it deserves no better


# ------------------------------------------------------------------ the books

def compare_log(books, path):
    """Return in words what differs between the log and the clients' books."""
    logged = collections.defaultdict(list)
    faults = []
    for line in path.read_text().splitlines():
        match = LINE.match(line)
        if match is None:
            if '" 4' not in line and '" 5' not in line:     # of what is no request
                faults.append(f"no log line: {line!r}")
            continue
        _, target, status, length = match.groups()
        name = re.search(r"[?=](n\d+)$", target)
        if name:
            logged[name[1]].append((int(status), int(length)))
    for name, (status, length) in books.answers.items():
        if logged[name] != [(status, length)]:
            faults.append(f"{name}: answered {status}, {length} bytes; the log has "
                          f"{logged[name]}")
    for name in logged:
        if name not in books.answers and logged[name]:
            faults.append(f"{name}: logged {logged[name]}, and no client has it")
    return faults


def compare_remarks(books, redis):
    """Return in words what differs between the list in Redis and the thanks."""
    stored = collections.Counter(
        remark.decode().split(" - ")[0]
        for remark in redis("LRANGE", "guestbook_remarks", "0", "-1"))
    allowed = (1,) if stored.total() < KEPT else (0, 1)     # the oldest go
    return [f"{name}: thanked, and {stored[name]} times in Redis"
            for name in books.thanked if stored[name] not in allowed] + \
           [f"{name}: {count} times in Redis"
            for name, count in stored.items() if count > 1]


def play(executable, seconds, seed):
    """Run one server for `seconds`; return (its Books, faults in words)."""
    site, redis, books, stop = Site(), PrivateRedis(), Books(), threading.Event()
    site.write("large.bin", LARGE)
    site.write("notes.txt", b"notes")
    log = Path(redis.folder, "access.log")
    server = Server(executable, "-p", 0, "--root", site.root,
                    "--redis", redis.address, "--keep-alive", "1",
                    "--request-timeout", "20", "--access-log", log,
                    *CROWDED[executable.name])
    try:
        clients = [threading.Thread(target=honest, daemon=True, args=(
            server.address, books, f"{seed} honest {n}", stop)) for n in range(HONEST)]
        clients += [threading.Thread(target=hostile, daemon=True, args=(
            server.address, f"{seed} hostile {n}", stop)) for n in range(HOSTILE)]
        for client in clients:
            client.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not books.faults:
            time.sleep(0.5)
            server.send_signal(signal.SIGHUP)
            server.send_signal(signal.SIGUSR1)
            server.check()
        stop.set()
        for client in clients:
            client.join()
        server.stop()       # also compares the status, and what it says at the end
        faults = books.faults + compare_log(books, log) + compare_remarks(books, redis)
    except AssertionError as fault:
        faults = [*books.faults, str(fault)]
    finally:
        stop.set()
        server.end()
        redis.close()
        site.remove()
    return books, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", default=",".join(FOLDERS))
    parser.add_argument("--bin-dir", type=Path, default=SANITIZED)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.update(SANITIZER_OPTIONS)
    failed = 0
    names = options.servers.split(",")
    for name in names:
        books, faults = play(options.bin_dir.resolve() / name, options.seconds, options.seed)
        failed += bool(faults)
        print(f"{name:11} {books.asked:8,} requests, {len(books.answers):8,} answers, "
              f"{len(books.thanked):7,} remarks, {len(faults)} faults", flush=True)
        for fault in faults[:10]:
            print(f"    {fault[:300]}")
    print(f"{len(names) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
