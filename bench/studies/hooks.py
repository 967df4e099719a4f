"""What the file of a study cannot say: load tools that do not speak HTTP, and
what is counted beside a load or after all of them."""

import contextlib
import functools
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading

from bench import load
from bench.load.base import Tool
from bench.meter import instructions, procfs, sockets
from bench.run import redis as redis_server
from bench.run import servers

BUILD = os.path.join(servers.TOP, "build", "studies")
FILES = {"/10k": 10 * 1024, "/1m": 1024 * 1024}
PAGE = ("LRANGE guestbook_remarks -100 -1", "INCR visitor_count",
        "GET visitor_count")        # the Redis commands of a guestbook page
IDLE_CLIENTS = r"""
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
kept = []
for number in range(int(sys.argv[2])):
    host = f"127.0.0.{1 + number // 7000}"
    one = socket.create_connection((host, int(sys.argv[1])), 30)
    one.sendall(b"GET /answer HTTP/1.1\r\nHost: localhost\r\n\r\n")
    if not one.recv(4096).startswith(b"HTTP/1.1 200"):
        sys.exit("no answer")
    kept.append(one)
print("open", flush=True)
sys.stdin.read()
"""


@functools.cache
def site():
    """Make a folder for --root, with FILES to fetch; return its path."""
    root = os.path.join(BUILD, "site")
    shutil.copytree(os.path.join(servers.TOP, "templates"),
                    root + "/templates", dirs_exist_ok=True)
    os.makedirs(root + "/public", exist_ok=True)
    for path, size in FILES.items():
        with open(f"{root}/public{path}", "wb") as file:
            file.write(random.Random(size).randbytes(size))
    return root


def redis_at(port):
    """Return the RedisServer that listens on `port`, to talk to it."""
    redis = redis_server.RedisServer(())
    redis.port = int(port)
    return redis


def unix_socket(address):
    """Return --redis for the Unix socket of the Redis at HOST:PORT."""
    told = redis_at(address.rpartition(":")[2]).ask(
        redis_server.command("CONFIG", "GET", "unixsocket"))
    return "unix:" + told.split(b"\r\n")[-2].decode()


# ---------------------------------------------------------------- load tools

class RedisBenchmark(Tool):
    """redis-benchmark: the three commands of a guestbook page, one after the
    other; `script` is how many go into one write. The server is Redis."""

    name, remedy = "redis-benchmark", "apt-get install redis-tools"
    latency = "redis-benchmark: not read"

    def command(self, job, folder):
        """Return argv; fill the guestbook."""
        redis_at(job.port).fill()
        depth = job.script or "1"
        number = int(job.seconds * (5000 if depth == "1" else 25000))
        each = shlex.join([self.name, "-p", str(job.port), "-q", "-n",
                           str(number), "-c", str(job.connections), "-P", depth])
        return ["sh", "-c", f"echo {number} pages; " + " && ".join(
            f"{each} {words}" for words in PAGE)]

    def parse(self, text, job, folder):
        """Return the Result: a page takes as long as its commands."""
        rates = re.findall(r"([\d.]+) requests per second, p50", text)
        pages = re.search(r"^(\d+) pages", text)
        if len(rates) != len(PAGE):
            raise load.LoadError("no report: " + load.last_line(text))
        return load.Result(good=int(pages[1]), seconds=sum(
            int(pages[1]) / float(rate) for rate in rates))


class WakeUp(Tool):
    """The client in wake_up.c: an answer is a round trip of one byte."""

    name = "wake-up"
    latency = "wake-up: from send to the answer, one at a time"

    def path(self):
        """Return the program, which is built with its server."""
        return os.path.join(BUILD, "wake_up")

    def command(self, job, folder):
        """Return argv."""
        return [self.path(), "ask", str(job.port), str(job.seconds)]

    def parse(self, text, job, folder):
        """Return the Result that it prints as JSON."""
        if not text.startswith("{"):
            raise load.LoadError("no report: " + load.last_line(text))
        return load.Result(**json.loads(text))


load.TOOLS.update({one.name: one for one in (RedisBenchmark(), WakeUp())})


# ------------------------------------------------------------ beside a load

# Each is a context manager (live, x, seen, told) around the load of a cell. At
# its end `seen` holds the load.Result; what it found goes into the dict `told`.

@contextlib.contextmanager
def idle_clients(live, x, seen, told):
    """Keep x connections that fall silent after an answer; tell the memory
    (PSS) of each."""
    def memory():
        return sum(procfs.proportional_memory(one.pid)
                   for one in procfs.tree(live.pid))
    before = memory()
    crowd = subprocess.Popen(
        [sys.executable, "-c", IDLE_CLIENTS, str(live.port), str(x)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if crowd.stdout.readline() != b"open\n":
            raise load.LoadError(f"{x:,} idle connections were not opened")
        if x >= 1000:
            told["bytes an idle connection"] = (memory() - before) / x
        yield
    finally:
        crowd.communicate()


@contextlib.contextmanager
def packets(live, x, seen, told):
    """Count what TCP sends for each answer, in both directions."""
    def read():
        tcp = sockets.tcp_counters()
        return {"segments": tcp["OutSegs"],
                "late acknowledgements": tcp["DelayedACKs"]}
    before = read()
    yield
    told |= {f"{name} an answer": (now - before[name]) / seen[0].good
             for name, now in read().items() if seen and seen[0].good}


@contextlib.contextmanager
def timers(live, x, seen, told):
    """Count the timers that expire on the server's cores for each answer,
    where perf can."""
    if not shutil.which("perf"):
        yield
        return
    perf = subprocess.Popen(
        ["perf", "stat", "-x", ",", "-e", "timer:hrtimer_expire_entry", "-C",
         ",".join(map(str, live.start.cores))], stderr=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        perf.send_signal(signal.SIGINT)
        count = timer_count(perf.communicate()[1])
    if count is not None and seen and seen[0].good:
        told["timers an answer"] = count / seen[0].good


def timer_count(report):
    """Return the count in what `perf stat -x,` wrote; None without one."""
    found = re.search(r"^(\d+),[^,]*,timer:hrtimer", report, re.MULTILINE)
    return int(found[1]) if found else None


@contextlib.contextmanager
def spread(live, x, seen, told):
    """Tell how evenly the loops of a server share its clients after 1 s."""
    pids = [one.pid for one in procfs.tree(live.pid) if one.pid != live.pid]
    before = [procfs.open_descriptors(pid) for pid in pids]

    def look():
        clients = [procfs.open_descriptors(pid) - held
                   for pid, held in zip(pids, before)]
        if len(clients) > 1 and sum(clients):
            told["per cent off an even share, at most"] = off(clients)

    timer = threading.Timer(1.0, look)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def off(clients):
    """Return by how many per cent of the mean the loop that is farthest off
    differs from it."""
    mean = sum(clients) / len(clients)
    return 100 * max(abs(one - mean) for one in clients) / mean


# ------------------------------------------------------------ after all loads

def count_instructions(study):
    """Note the user instructions of a request, counted by callgrind. A pool
    that serves one client at a time has one worker, or the first request to
    each would count; few are counted of 02, as valgrind takes long to fork."""
    special = {"preforking": ["--workers", "1"], "prethreaded": ["--threads", "1"]}
    with redis_server.RedisServer(os.sched_getaffinity(0)) as redis:
        for one, server in ((one, server) for one in study.variants
                            for server in study.servers
                            if server.kind == "architecture"
                            and study.applies(server, one)):
            options = [*one.options[server.name], *special.get(server.name, ()),
                       "--redis", redis.address if one.redis == "tcp" else "none"]
            counts = (20, 70) if server.name == "forking" else (160, 960)
            try:
                study.note(one.name, server.name, one.clients[0], {
                    "instructions a request": instructions.per_request(
                        os.path.join(servers.TOP, server.name), options,
                        instructions.Talk(one.path, one.keep_alive), *counts)})
            except (OSError, RuntimeError) as error:
                print(f"not counted: {error}", flush=True)


BESIDE = {"idle": idle_clients, "packets": packets, "timers": timers, "spread": spread}
AFTER = {"instructions": count_instructions}
