"""Each floor does what its server does, and nothing less.

A floor (tools/bench/peers/floors) bounds a server from below only if both make the same system
calls with the same flags, send the same answer, link the same libraries, have the same
socket options and, in 02, the same memory to copy at a fork. strace follows both while the
same client talks to them. It sees the options that a connection gets; those of the listening
socket, which connections inherit, are read from the socket.

Compared is how often a request makes each call: with its flags, sizes and error, without
descriptors, addresses and contents. Not compared are calls that come less than once in two
requests, such as a look at the template's date, and those by which malloc gets memory and
threads wait for a lock.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter

import pytest

from tools.bench import peers
from tools.bench.meter import syscalls
from tools.kit import TOP, netns, procfs, servers, sockets, strace

REQUESTS = 10
PAUSE = 0.01            # after a connection: its process or thread ends
# name: (seconds from a client's connection to its request, whether it is kept)
NEW = {"prompt": (0, False), "late": (0.02, False)}
KEPT = {"kept": (0, True)}      # all requests on one connection (06 and 07)
CALL = re.compile(r"^(\w+)\((.*)\) += \S+(?: (E[A-Z]+))?", re.MULTILINE)     # of strace
# Arguments, and a file for each thread: in one file, the lines of two would interrupt each other.
OPTIONS = ("-ff", "-s", "0", "-v")
IGNORED = ("brk", "mmap", "munmap", "mprotect", "futex", "restart_syscall")
CORES = frozenset(os.sched_getaffinity(0))
PIDFD_GETFD = 438       # pidfd_getfd(2)
# What changes without a call: the state of a connection, where it is, which program wrote the
# options.
NOT_OPTIONS = ("TCP_INFO", "TCP_CC_INFO", "SO_INCOMING_CPU", "SO_MEMINFO", "SO_COOKIE",
               "SO_INCOMING_NAPI_ID", "SO_PEERCRED", "SO_PEERSEC", "TCP_TIMESTAMP")
VARIABLE = [            # what differs from run to run: calls, pattern, name
    (r"\w+", r'"[^"]*"(\.\.\.)?', "bytes"),
    (r"\w+", r" => \{.*\}", ""),                # what clone3 returns
    (r"\w+", r", data=(\{[^}]*\}|0x\w+)", ""),
    (r"\w+", r"0x[0-9a-f]+", "address"),
    (r"\w+", r"fd=\d+", "fd=N"),
    (r"\w+", r"^\d+", "fd"),
    (r"epoll_ctl", r", \d+, ", ", fd, "),
    (r"epoll_wait", r"\[.*\]", "events"),
    (r"epoll_wait|poll", r", [1-9]\d*$", ", a time"),
    (r"getsockopt", r"\{.*\}|bytes", "info"),
    (r"recvfrom", r", address, ", ", bytes, "),
]


def parse(text):
    """Return {call: times} from what strace wrote, without what differs from run to run."""
    found = Counter()
    for name, arguments, error in CALL.findall(text):
        for calls, pattern, instead in VARIABLE:
            if re.fullmatch(calls, name):
                arguments = re.sub(pattern, instead, arguments)
        if name not in IGNORED:
            found[f"{name}({arguments})" + (f" = {error}" if error else "")] += 1
    return found


def talk(port, late, kept):
    """Send REQUESTS requests, one after the other; return the last answer."""
    close = b"" if kept else b"Connection: close\r\n"
    for number in range(REQUESTS):
        if not (kept and number):
            sock = socket.socket()
            sock.settimeout(60)
            if not late and not kept:
                # The handshake's last ACK waits for data (tcp(7)), so that
                # the server learns of both together.
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            sock.connect(("127.0.0.1", port))
        time.sleep(late)
        sock.sendall(b"GET /answer HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n")
        answer = sock.recv(4096)
        if not kept:
            while sock.recv(4096):
                pass
            sock.close()
            time.sleep(PAUSE)
    sock.close()
    return answer.decode()


def socket_options(live):
    """Return {option: value} of the listening socket of a server that runs. What a kernel or a
    Python does not know is not there."""
    pidfd = os.pidfd_open(live.pid)
    number = min(sockets.listeners(live.pid, live.port))
    copied = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, number, 0)
    os.close(pidfd)
    if copied < 0:
        pytest.skip(f"pidfd_getfd(2): {os.strerror(ctypes.get_errno())}")
    found = {"file status flags": fcntl.fcntl(copied, fcntl.F_GETFL)}
    with socket.socket(fileno=copied) as one:
        for level, prefix in ((socket.SOL_SOCKET, "SO_"), (socket.IPPROTO_TCP, "TCP_")):
            for name in dir(socket):
                if name.startswith(prefix) and name not in NOT_OPTIONS:
                    with contextlib.suppress(OSError):
                        value = one.getsockopt(level, getattr(socket, name), 16)
                        found[name] = int.from_bytes(value, sys.byteorder)
    return found


def memory(pid):
    """Return what fork(2) has to copy: {"mappings": number, "KiB of heap": written, "KiB of
    shared memory": written}."""
    found = Counter()
    for line in procfs.read(f"/proc/{pid}/smaps").splitlines():
        words = line.split()
        if re.match(r"[0-9a-f]+-", line):
            found["mappings"] += 1
            kind = "heap" if words[-1] == "[heap]" else "shared memory" if "s" in words[1] else ""
        elif words[0] == {"heap": "Anonymous:", "shared memory": "Rss:"}.get(kind):
            found[f"KiB of {kind}"] += int(words[1])
    return found


def count(live, late, kept, attempts=10):
    """Return {call: times a request} while we talk. On a crowded machine, a child of the
    client before may end just when strace wants to follow it."""
    try:
        return syscalls.count(live, CORES, lambda: talk(live.port, late, kept) and REQUESTS,
                              OPTIONS, parse)
    except strace.StraceError:
        if attempts == 1:
            raise
        return count(live, late, kept, attempts - 1)


def look(server, talks, folder):
    """Return {subject: {what: how often}} of a server or of a floor: the calls of each of
    `talks`, the answer, the libraries, the memory."""
    found = {}
    with servers.running(server, servers.Start(cores=CORES),
                         os.path.join(folder, "calls.log")) as live:
        for name, (late, kept) in talks.items():
            # Once before, for what is done only once.
            answer = talk(live.port, 0, kept)
            counted = count(live, late, kept)
            found[name] = {call: int(times + 0.5) for call, times in counted.items()
                           if call != "all" and times >= 0.5}
        found["answer"] = {re.sub(r"Date: .{29}\r", "Date: ...\r", answer): 1}
        listed = subprocess.run(["ldd", live.argv[0]], check=True, text=True,
                                capture_output=True).stdout
        found["libraries"] = {" ".join(re.findall(r"^\s*(\S+) =>", listed, re.MULTILINE)): 1}
        found["listening socket"] = {f"{name} = {value}": 1
                                     for name, value in socket_options(live).items()}
        if server.name.removeprefix("floor-") == "forking":
            found["memory"] = memory(live.pid)
    return found


def differences(design, folder):
    """Return a line for each difference between the server `design` and its floors."""
    if servers.named(design).problem():
        pytest.skip(servers.named(design).problem())
    said = []
    for name, talks in ((f"floor-{design}", NEW), (f"floor-{design}-kept", KEPT)):
        if name not in peers.found():
            continue
        floor = peers.Peer(name)
        floor.build()
        try:
            ours, least = (look(one, talks, folder) for one in (servers.named(design), floor))
        except strace.StraceError as error:
            pytest.skip(str(error))     # a container may not trace
        said += [f"{design}, {subject}: {mine.get(what, 0)} in the server, "
                 f"{least[subject].get(what, 0)} in the floor: {what}"
                 for subject, mine in ours.items()
                 for what in sorted(mine.keys() | least[subject].keys())
                 if mine.get(what) != least[subject].get(what)]
    return said


@pytest.mark.skipif(not (shutil.which("strace") and shutil.which("gcc")),
                    reason="needs strace and gcc")
@pytest.mark.parametrize("design", [server.name for server in servers.ARCHITECTURES])
def test_floor_is_like_its_server(design, tmp_path):
    """Change a call or the answer of a server, and its floor has to follow."""
    # Calls of a crowded machine may be interrupted; another difference is there each time.
    said = differences(design, tmp_path)
    for _ in range(4):
        said = said and differences(design, tmp_path)
    assert not said


# In a process of its own, as it moves to a network of its own.
QUEUES = """
import os, sys
from tools.bench import peers
from tools.kit import netns, servers, sockets
try:
    netns.enter()
except OSError as error:
    sys.exit(f"no network: {error}")
start = servers.Start(frozenset(os.sched_getaffinity(0)))
for one in peers.Peer("floor-epoll"), servers.named("epoll"):
    with servers.running(one, start, sys.argv[1]) as live:
        print(sockets.accept_queue(live.port)[1])
"""


def test_the_accept_queue_of_a_floor_is_as_long_as_its_servers(tmp_path):
    """Else a floor with more clients than it holds would cost more than the server."""
    if why := servers.named("epoll").problem() or peers.Peer("floor-epoll").unready():
        pytest.skip(why)
    done = subprocess.run([sys.executable, "-c", QUEUES, tmp_path / "log"], cwd=TOP,
                          text=True, capture_output=True, check=False)
    if done.stderr.startswith("no network"):
        pytest.skip(done.stderr)
    assert done.stdout.split() == 2 * [str(netns.QUEUE)], done.stderr
