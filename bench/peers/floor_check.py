"""Does each floor do what its server does, and nothing less?

    python3 -m bench check-floors [DESIGN...]       default: all seven

A floor (bench/peers/floors) bounds a server from below only if both make the
same system calls with the same flags, send the same answer, link the same
libraries and, in 02, have the same memory to copy at a fork. strace follows
both while the same client talks to them:

    prompt   a connection for each request, which comes with the connection
    late     the request follows 20 ms after the connection
    kept     all requests on one connection (06 and 07)

Compared is how often a request makes each call: with its flags, sizes and
error, without descriptors, addresses and contents. Not compared are calls that
come less than once in two requests, such as a look at the template's date, and
those by which malloc gets memory and threads wait for a lock.

Prints each difference; the exit status is 1 if there is one.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter

from bench import peers
from bench.meter import procfs, syscalls
from bench.run import servers

REQUESTS = 10
LATE = 0.02             # seconds from a late client's connection to its request
PAUSE = 0.01            # after a connection: its process or thread ends
KEPT = ("poll", "epoll")
IGNORED = ("brk", "mmap", "munmap", "mprotect", "futex", "restart_syscall")
CORES = frozenset(os.sched_getaffinity(0))
# What differs from run to run: (calls, pattern, replacement).
VARIABLE = [(re.compile(calls), re.compile(pattern), text)
            for calls, pattern, text in (
    (r"", r'"[^"]*"(\.\.\.)?', "bytes"),
    (r"", r" => \{.*\}", ""),                   # what clone3 returns
    (r"", r",(?=\S)", ", "),                    # the two parts of a line
    (r"", r", data=(\{[^}]*\}|0x\w+)", ""),
    (r"", r"0x[0-9a-f]+", "address"),
    (r"", r"fd=\d+", "fd=N"),
    (r"", r"^\d+", "fd"),
    (r"epoll_ctl", r", \d+, ", ", fd, "),
    (r"epoll_wait", r"\[.*\]", "events"),
    (r"epoll_wait|poll", r", [1-9]\d*$", ", a time"),
    (r"getsockopt", r"\{.*\}|bytes", "info"),
    (r"recvfrom", r", address, ", ", bytes, "),
)]


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
    name, arguments, _, error = found.groups()
    for calls, pattern, text in VARIABLE:
        if not calls.pattern or calls.fullmatch(name):
            arguments = pattern.sub(text, arguments)
    return f"{name}({arguments})" + (f" = {error}" if error else "")


def connect(port, at_once):
    """Return a connected socket. Unless `at_once`, the server learns of the
    connection only together with the first request."""
    sock = socket.socket()
    sock.settimeout(5)
    if not at_once:     # the handshake's last ACK waits for data (tcp(7))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    sock.connect(("127.0.0.1", port))
    return sock


def talk(port, late, kept):
    """Send REQUESTS requests, one after the other; return the last answer."""
    close = b"" if kept else b"Connection: close\r\n"
    sock = None
    for _ in range(REQUESTS):
        sock = sock or connect(port, late or kept)
        time.sleep(late)
        sock.sendall(b"GET /answer HTTP/1.1\r\nHost: localhost\r\n"
                     + close + b"\r\n")
        answer = sock.recv(4096)
        if not kept:
            while sock.recv(4096):
                pass
            sock.close()
            sock = None
            time.sleep(PAUSE)
    if sock:
        sock.close()
    return answer


def libraries(program):
    """Return the names of the shared libraries of a program, in their order.
    Raises SubprocessError."""
    listed = subprocess.run(["ldd", program], check=True, text=True,
                            capture_output=True).stdout
    return re.findall(r"^\s*(\S+) =>", listed, re.MULTILINE)


def memory(pid):
    """Return what fork(2) has to copy: {"mappings": number, "KiB of heap":
    written, "KiB of shared memory": written}."""
    found = Counter()
    for line in procfs.read(f"/proc/{pid}/smaps").splitlines():
        words = line.split()
        if re.match(r"[0-9a-f]+-", line):
            found["mappings"] += 1
            kind = "heap" if words[-1] == "[heap]" else \
                "shared memory" if "s" in words[1] else ""
        elif words[0] == {"heap": "Anonymous:", "shared memory": "Rss:"}.get(
                kind):
            found[f"KiB of {kind}"] += int(words[1])
    return found


def look(server, talks, folder):
    """Return {subject: {what: how often}} of a server or of a floor: the calls
    of each of `talks`, the answer, the libraries, the memory."""
    found = {}
    with servers.running(server, servers.Start(cores=CORES),
                         os.path.join(folder, "calls.log")) as live:
        for name, (late, kept) in talks.items():
            # Once before, for what is done only once.
            answer = talk(live.port, 0, kept).decode()
            counted = syscalls.count(
                Calls(), live, CORES,
                lambda: talk(live.port, late, kept) and REQUESTS)
            found[name] = {call: int(times + 0.5)
                           for call, times in counted.items()
                           if call != "all" and times >= 0.5}
        found["answer"] = {re.sub(r"Date: .{29}\r", "Date: ...\r", answer): 1}
        found["libraries"] = {" ".join(libraries(live.argv[0])): 1}
        if server.name.removeprefix("floor-") == "forking":
            found["memory"] = memory(live.pid)
    return found


def differences(design, folder):
    """Return a line for each difference between the server `design` and its
    floors. Raises PeerError, ServerError, SyscallError."""
    said = []
    new = {"prompt": (0, False), "late": (LATE, False)}
    for suffix, talks in (("", new), ("-kept", {"kept": (0, True)})):
        if suffix and design not in KEPT:
            continue
        floor = peers.Peer(f"floor-{design}{suffix}")
        floor.build()
        ours = look(servers.named(design), talks, folder)
        least = look(floor, talks, folder)
        said += [f"{design}, {subject}: {ours[subject].get(what, 0)} in the "
                 f"server, {least[subject].get(what, 0)} in the floor: {what}"
                 for subject in ours
                 for what in sorted(ours[subject].keys()
                                    | least[subject].keys())
                 if ours[subject].get(what) != least[subject].get(what)]
    return said


def main(words=None):
    """Compare the designs that `words` names; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("designs", metavar="DESIGN", nargs="*",
                        help="iterative, forking ...")
    designs = parser.parse_args(words).designs or [
        server.name for server in servers.ARCHITECTURES]
    differs = False
    with tempfile.TemporaryDirectory(prefix="bench-calls-") as folder:
        for design in designs:
            try:
                found = differences(servers.named(design).name, folder)
            except (peers.PeerError, servers.ServerError,
                    syscalls.SyscallError) as error:
                sys.exit(f"check-floors: {error}")
            differs = differs or bool(found)
            print("\n".join([f"{design:12} "
                             f"{'differs' if found else 'the same'}", *found]),
                  flush=True)
    return 1 if differs else 0
