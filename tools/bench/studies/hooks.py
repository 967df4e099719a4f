"""What the file of a study cannot say: load tools that do not speak HTTP, and what is counted
while a cell is measured."""

import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import statistics
import threading

from tools.bench import load
from tools.bench.load.base import Tool
from tools.bench.machine import neighbours
from tools.kit import TOP, client, process, procfs, redis, sockets
from tools.kit.counters import Counters
from tools.kit.slow_redis import SlowRedis

FOLDER = pathlib.Path(__file__).parent
FILES = {"/10k": 10 * 1024, "/1m": 1024 * 1024}
FIRST = 8           # seconds of load before the measurement
SPREAD_OFTEN = 0.1      # seconds between two checks whether all clients are connected
SPREAD_SAME = 10        # checks with no more clients than before, after which no others come
# The Redis commands of a guestbook page.
PAGE = ("LRANGE guestbook_remarks -100 -1", "INCR visitor_count", "GET visitor_count")


@functools.cache
def site():
    """Make a folder for --root, with FILES to fetch; return its path."""
    root = TOP / "build" / "site"
    for folder in ("templates", "public"):
        shutil.copytree(TOP / folder, root / folder, dirs_exist_ok=True)
    for path, size in FILES.items():
        (root / "public" / path[1:]).write_bytes(os.urandom(size))
    return str(root)


def unix_socket(address):
    """Return --redis for the Unix socket of the Redis at HOST:PORT."""
    asked = redis.command("CONFIG", "GET", "dir")
    answer = redis.ask(("127.0.0.1", int(address.rpartition(":")[2])), asked)
    return f"unix:{answer.splitlines()[-1].decode()}/{redis.SOCKET}"


@functools.cache
def slow_redis(address, ms):
    """Start a proxy before the Redis at HOST:PORT whose replies take `ms` milliseconds longer;
    return its HOST:PORT. It runs until the session ends."""
    proxy = SlowRedis(int(address.rpartition(":")[2]), ms / 1e3).__enter__()
    return f"127.0.0.1:{proxy.port}"


# ---------------------------------------------------------------- load tools

class RedisBenchmark(Tool):
    """redis-benchmark: the commands of a guestbook page, one after the other,
    `depth` of each in one write. The server is Redis."""

    remedy = "scripts/deps.sh run fetches it"

    def __init__(self, depth):
        self.depth, self.name = depth, f"redis-benchmark -P {depth}"
        self.latency = f"{self.name}: not read"

    def path(self):
        return shutil.which("redis-benchmark")

    def pages(self, job):
        """Return how many pages take job.seconds or less."""
        return int(5000 * job.seconds * self.depth)

    def command(self, job, folder):
        redis.fill(("127.0.0.1", job.port))
        return ["sh", "-c", " && ".join(
            f"{self.name} -p {job.port} -q -n {self.pages(job)} -c {job.connections} {words}"
            for words in PAGE)]

    def parse(self, text, job, folder):
        pages = self.pages(job)
        rates = re.findall(r"([\d.]+) requests per second, p50", text)
        if len(rates) != len(PAGE):
            raise load.LoadError("no report: " + load.last_line(text))
        return load.Result(good=pages, seconds=sum(pages / float(rate) for rate in rates))


class WakeUp(Tool):
    """The client in wake_up.c: an answer is a round trip of one byte."""

    name = "wake-up"
    latency = "wake-up: from send to the answer, one at a time"

    def path(self):
        return str(TOP / "build/peers/wake_up/wake_up")     # as its server

    def command(self, job, folder):
        return [self.path(), "ask", str(job.port), str(job.seconds)]

    def parse(self, text, job, folder):
        self.find(r"\A\{", text)
        return load.Result(**json.loads(text))


load.TOOLS |= {tool.name: tool for tool in (WakeUp(), *map(RedisBenchmark, (1, 3, 64)))}


# ------------------------------------------- counted while a cell is measured
#
# Each is a context manager (cell, live, seen, told) around the load of a cell. At its end `seen`
# holds the load.Result, unless the load failed. What it counted goes into `told`: {figure: value}.

@contextlib.contextmanager
def idle(cell, live, seen, told):
    """Keep x connections that fall silent after an answer; tell the bytes (PSS) of each."""
    def memory():
        return sum(procfs.proportional_memory(one.pid) for one in procfs.tree(live.pid))

    before = memory()
    with contextlib.ExitStack() as kept:
        for _ in range(cell.x):
            one = kept.enter_context(client.Connection(("127.0.0.1", live.port), 30))
            one.request("/answer")
            if one.response().status != 200:
                raise load.LoadError(f"{cell.x:,} idle connections were not opened")
        live.before += cell.x
        if cell.x >= 1000:
            told["bytes an idle connection"] = (memory() - before) / cell.x
        yield


@contextlib.contextmanager
def growth(read, name, times, seen, told):
    """Tell by how much each figure that read() returns grows for an answer, as `name`."""
    before = read()
    yield
    if seen and seen[0].good:
        told |= {name.format(key): times * (now - before[key]) / seen[0].good
                 for key, now in read().items()}


def kernel(cell, live, seen, told):
    """Count for each answer what TCP sends, in both directions, the connections made (those to
    Redis, too), and of the server's cores the timer interrupts (1,000 a second or fewer are the
    tick) and the rescheduling interrupts, by which another core asks one of these to choose again
    which thread it runs."""
    def read():
        tcp = sockets.counters()
        found = {"segments": tcp["OutSegs"], "late ACKs": tcp["DelayedACKs"],
                 "connections": tcp["PassiveOpens"]}
        for name, line in (("timer interrupts", "LOC"), ("rescheduling interrupts", "RES")):
            here = procfs.find(f"{line}:(.*)", "/proc/interrupts").split()
            if here:        # x86 has these lines, others have none
                found[name] = sum(int(here[core]) for core in live.start.cores)
        return found
    return growth(read, "{}/answer", 1, seen, told)


def messages(cell, live, seen, told):
    """Count how often Redis reads for each answer. Pages whose commands share a write need one
    read, and so do two writes that come before Redis reads. (Redis says this from version 6 on.)"""
    def read():
        where = ("127.0.0.1", int(live.start.redis.rpartition(":")[2]))
        said = redis.ask(where, redis.command("INFO", "stats")).decode()
        many = re.search(r"total_reads_processed:(\d+)", said)
        return {"reads of Redis": int(many[1])} if many else {}

    if live.start.redis == "none":
        return contextlib.nullcontext()
    return growth(read, "{}/answer", 1, seen, told)


@contextlib.contextmanager
def spread(cell, live, seen, told):
    """Tell how evenly several loops share the clients: by how many per cent of the mean the loop
    that is farthest off differs from it. This is counted when all clients are connected; if they
    never are, when the most are: a tool may open fewer, so this ends SPREAD_SAME looks after the
    last one came. New connections end too soon to be counted."""
    if not cell.variant.keep_alive:
        yield
        return
    loops = [one.pid for one in procfs.tree(live.pid) if one.pid != live.pid]
    before = [procfs.open_descriptors(pid) for pid in loops]
    ended = threading.Event()

    def look():
        most = same = 0
        while len(loops) > 1 and most < cell.x and same < SPREAD_SAME \
                and not ended.wait(SPREAD_OFTEN):
            clients = [procfs.open_descriptors(pid) - held for pid, held in zip(loops, before)]
            same += bool(most)      # before the first client comes, the tool starts
            if sum(clients) > most:
                same, most, mean = 0, sum(clients), statistics.fmean(clients)
                told["per cent off an even share, at most"] = \
                    100 * max(abs(one - mean) for one in clients) / mean

    thread = threading.Thread(target=look)
    try:
        process.start(thread)
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def balancer(cell, live, seen, told):
    """Tell how many microseconds of CPU time the balancer and the instances behind it each spend
    on a request."""
    def read():
        spent = {"the balancer": 0.0, "the instances": 0.0}
        for one in procfs.tree(live.pid):
            name = procfs.read(f"/proc/{one.pid}/comm").strip()
            whose = "balancer" if name in ("haproxy", "nginx") else "instances"
            spent[f"the {whose}"] += procfs.cpu_time([one])
        return spent
    return growth(read, "us/request in {}", 1e6, seen, told)


def said_by(server, name):
    """Return what a server's way says as NAME=WORD, each of them."""
    return [word.partition("=")[2] for word in server.way if word.startswith(f"{name}=")]


@contextlib.contextmanager
def first(cell, live, _seen, _told):
    """Make the load of an open loop for FIRST seconds before it is measured, with as many requests
    a second as the server's way says. A just-in-time compiler has to see this load: another one,
    such as wrk's, teaches it other things. In `count` it comes before what counts."""
    one = cell.variant
    calls = one.requests_each or 1
    for rate in said_by(live.server, "first"):
        live.before += load.run(one.tool, load.demanded(
            live.url(one.path), float(rate) / calls, FIRST, one.keep_alive, calls=calls),
            os.sched_getaffinity(0)).good
    yield


def helpers(cell, live, seen, told):
    """Tell how many microseconds of CPU time the server spends on an answer outside the first
    thread of each process: where Node compiles, and collects garbage. The time of threads that have
    ended is not in it."""
    def read():
        return {"other threads": sum(
            procfs.read_int(f"/proc/{one.pid}/task/{thread}/schedstat")
            for one in procfs.tree(live.pid) for thread in procfs.threads(one.pid)
            if thread != one.pid)}
    return growth(read, "us/answer in {}", 1e-3, seen, told)


@contextlib.contextmanager
def neighbour(_cell, live, _seen, _told):
    """Run the neighbour that the server's way names on each core, see machine/neighbours.py: on
    the server's, too, where this program may not run."""
    names = said_by(live.server, "neighbour")
    with neighbours.running(names, os.sched_getaffinity(0) | live.start.cores):
        yield


@contextlib.contextmanager
def queue(cell, live, seen, told):
    """Tell what the same arrivals would take in a queue with one server, see load/arrivals.py."""
    yield
    if seen:
        told |= {f"ms in a queue with one server, {name}": ms for name, ms in seen[0].queue.items()}


@contextlib.contextmanager
def iteration(cell, live, seen, told):
    """Tell how long the longest iteration of a loop took, in ticks of the kernel."""
    yield
    counters = Counters(live.pid)
    workers = counters.read()
    counters.close()
    if workers and counters.loop:
        told["ms, the longest iteration"] = max(worker.longest_ms for worker in workers)


HOOKS = {"idle": idle, "first": first, "neighbours": neighbour, "kernel": kernel,
         "messages": messages, "helpers": helpers, "spread": spread, "balancer": balancer,
         "queue": queue, "iteration": iteration}
