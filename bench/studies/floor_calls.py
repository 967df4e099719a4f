#!/usr/bin/env python3
"""Does each floor make the system calls of its server, with the same flags?

    bench/floor_calls.py [DESIGN...]           default: all seven

A floor (bench/peers/floors) bounds a server from below only if both make the
same system calls. Each is traced by strace while the same client talks to it:

    prompt   a connection for each request, which comes with the connection
    late     the request follows 20 ms after the connection
    kept     all requests on one connection (06 and 07)

What is compared is how often a request makes each call: with its flags, sizes
and error, without descriptors, addresses and contents. Calls that come less
than once in two requests do not count, such as a look at the template's date,
nor do those by which malloc gets memory and threads wait for a lock.

Prints where they differ; the exit status is 0 where none does.
"""

import argparse
import os
import re
import socket
import sys
import tempfile
import time
from collections import Counter

from bench import peers
from bench.run import servers
from bench.meter import syscalls

REQUESTS = 10
LATE = 0.02             # seconds from a late client's connection to its request
PAUSE = 0.01            # after a connection: its process or thread ends
KEPT = ("poll", "epoll")
IGNORED = ("brk", "mmap", "munmap", "mprotect", "futex", "restart_syscall")
CORES = frozenset(os.sched_getaffinity(0))


class Calls(syscalls.Strace):
    """strace with the arguments of each call."""

    options = ("-s", "0", "-v")

    def parse(self, text):
        """Return {call: times}, with "all" for the sum."""
        counts = Counter(filter(None, map(normalize, complete(text))))
        counts["all"] = sum(counts.values())
        return counts


def complete(text):
    """Yield the calls of strace's output as lines without a process id. A call
    that others interrupted is in two parts, which are put together."""
    begun = {}
    for line in text.splitlines():
        pid, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[pid] = call.removesuffix("<unfinished ...>").strip()
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", call)
        yield begun.pop(pid, "") + resumed[1] if resumed else call


def normalize(call):
    """Return a line of strace without what differs from run to run; None for
    what is not a call that is compared."""
    found = re.match(r"(\w+)\((.*)\)\s+= (\S+)(?: (E[A-Z]+))?", call)
    if not found or found[1] in IGNORED:
        return None
    name, told, _, error = found.groups()
    told = re.sub(r'"[^"]*"(\.\.\.)?', "bytes", told)
    told = re.sub(r" => \{.*\}", "", told)          # what clone3 returns
    told = re.sub(r",(?=\S)", ", ", told)           # two parts of a line
    told = re.sub(r", data=(\{[^}]*\}|0x\w+)", "", told)
    told = re.sub(r"0x[0-9a-f]+", "address", told)
    told = re.sub(r"fd=\d+", "fd=N", told)
    told = re.sub(r"^\d+", "fd", told)
    if name == "epoll_ctl":
        told = re.sub(r", \d+, ", ", fd, ", told)
    if name == "epoll_wait":
        told = re.sub(r"\[.*\]", "events", told)
    if name in ("epoll_wait", "poll"):
        told = re.sub(r", [1-9]\d*$", ", a time", told)
    if name == "getsockopt":
        told = re.sub(r"\{.*\}|bytes", "info", told)
    if name == "recvfrom":
        told = re.sub(r", address, ", ", bytes, ", told)
    return f"{name}({told})" + (f" = {error}" if error else "")


def connect(port, at_once):
    """Return a socket that is connected; unless `at_once`, the server learns of
    it only together with the first request."""
    sock = socket.socket()
    sock.settimeout(5)
    if not at_once:     # the handshake's last ACK waits for data (tcp(7))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    sock.connect(("127.0.0.1", port))
    return sock


def talk(port, late, kept):
    """Send REQUESTS requests, one after the other; return how many."""
    close = b"" if kept else b"Connection: close\r\n"
    sock = None
    for _ in range(REQUESTS):
        sock = sock or connect(port, late or kept)
        time.sleep(late)
        sock.sendall(b"GET /answer HTTP/1.1\r\nHost: localhost\r\n"
                     + close + b"\r\n")
        if kept:
            sock.recv(4096)
            continue
        while sock.recv(4096):
            pass
        sock.close()
        sock = None
        time.sleep(PAUSE)
    return REQUESTS


def calls_of(server, talks, folder):
    """Return {talk: {call: times a request}} of a server or floor."""
    found = {}
    start = servers.Start(cores=CORES)
    with servers.running(server, start,
                         os.path.join(folder, "calls.log")) as live:
        for name, (late, kept) in talks.items():
            talk(live.port, 0, kept)    # what is done only once is done now
            counted = syscalls.count(
                Calls(), live, CORES,
                lambda: talk(live.port, late, kept))
            found[name] = {call: int(times + 0.5)
                           for call, times in counted.items()
                           if call != "all" and times >= 0.5}
    return found


def differences(design, folder):
    """Return lines about calls that the server `design` makes more often than
    its floor, or less. Raises PeerError, ServerError, SyscallError."""
    said = []
    new = {"prompt": (0, False), "late": (LATE, False)}
    for suffix, talks in (("", new), ("-kept", {"kept": (0, True)})):
        if suffix and design not in KEPT:
            continue
        floor = peers.Peer(f"floor-{design}{suffix}")
        floor.build()
        ours = calls_of(servers.named(design), talks, folder)
        least = calls_of(floor, talks, folder)
        for name in talks:
            said += [f"{design}, {name}: {ours[name].get(call, 0)} in the "
                     f"server, {least[name].get(call, 0)} in the floor: {call}"
                     for call in sorted(ours[name].keys() | least[name].keys())
                     if ours[name].get(call) != least[name].get(call)]
    return said


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = [server.name for server in servers.ARCHITECTURES]
    parser.add_argument("designs", metavar="DESIGN", nargs="*",
                        help="iterative, forking ...")
    designs = parser.parse_args().designs or names
    said = []
    with tempfile.TemporaryDirectory(prefix="bench-calls-") as folder:
        for design in designs:
            found = differences(servers.named(design).name, folder)
            print(f"{design:12} {'differs' if found else 'the same calls'}",
                  flush=True)
            said += found
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (peers.PeerError, servers.ServerError,
            syscalls.SyscallError) as error:
        sys.exit(f"floor_calls.py: {error}")
