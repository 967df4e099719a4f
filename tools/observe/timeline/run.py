"""Runs a server under strace, lets clients come, and keeps what happened."""

import contextlib
import threading
import time
from dataclasses import dataclass, replace

from tools.kit import process, procfs, scratch, sockets
from tools.kit.strace import words
from tools.observe import clients, lab
from tools.kit.slow_redis import SlowRedis
from tools.observe.timeline import lines, rows, strace

# Only what says something about waiting: the fewer, the cheaper.
TRACED = ("accept,accept4,connect,recvfrom,recvmsg,sendto,sendmsg,read,readv,"
          "write,writev,sendfile,close,poll,ppoll,select,pselect6,epoll_wait,"
          "epoll_pwait,epoll_pwait2,epoll_ctl,futex,flock,fcntl,nanosleep,"
          "clock_nanosleep,clone,clone3,fork,vfork,wait4,waitid,"
          "rt_sigtimedwait,rt_sigsuspend,pause")
OPTIONS = ("-ttt", "-T", "-y", "-s", "1024", "-e", f"trace={TRACED}", "-e", "signal=none")
PAUSE = 0.05                    # seconds until a late client's request
MARGIN = 0.02                   # of the burst, left and right of it


@dataclass(frozen=True)
class Timeline:
    """The picture of a burst."""

    title: str
    begin: float        # of the picture, Unix time in seconds
    end: float
    rows: list          # of rows.Row
    seconds: float      # from the first connect to the last answer
    plain: float        # the same without strace
    failed: int         # clients without a page
    slow: float = 0.0   # the same with stacks, which gave the lines; 0: there are no lines
    peer: str = "Redis"     # what it waits for that is no client
    lesson: str = ""        # what is to be seen, in a few words


def record(folder, count, delay, path, options=()):
    """Return the Timeline of `count` clients that ask one of the seven. `delay`: seconds until each
    reply of Redis. A second burst is recorded with stacks, for the lines of source. Raises
    lab.LabError and RedisError."""
    with lab.Redis() as redis, SlowRedis(redis.port, delay) as slow:
        def start(before=()):
            return lab.start(folder, slow.port, *options, before=before)

        def burst(pause):
            return lambda address, watch=lambda port: None: clients.burst(
                address, count, clients.page(path), watch, pause=pause)
        with start() as server:
            plain = length(burst(0)(server.address))
        trace = traced(start, burst(0), {slow.port})
        # Here a call is slow, and a server that waits for a request might find it there. So
        # some requests come later.
        with_stacks = traced(start, burst(PAUSE), {slow.port}, more=("-k",))
        found = lines.known(strace.parse(with_stacks.text), with_stacks.world,
                            lab.executable_of(folder))
        title = " ".join([folder.replace("_", " "), *options])
        return assemble(title, trace, plain, found, length(with_stacks.came) if found else 0.0)


@dataclass(frozen=True)
class Trace:
    """What was recorded of one burst."""

    text: str           # strace's, with addresses of sockets
    came: list          # of clients.burst()
    world: rows.World
    delays: list        # of Sampler


def traced(start, burst, redis, habits=frozenset(), more=()):
    """Return the Trace of what burst(address, watch) sends to the server that start(before)
    starts; `before` are the words of strace, which runs it. `redis`: the ports of Redis or of the
    application behind it; `habits`: of rows.World; `more`: options of strace. Raises
    lab.LabError."""
    with scratch.file("timeline", "r") as file:
        with start(words([*more, *OPTIONS], file.name)) as server, Sampler(server) as sampler:
            came = burst(server.address, sampler.watch)
            server.stop()
        text = strace.name_sockets(file.read(), server.address[1],
                                   [*server.warm, *(c.port for c in came)], sampler.clients)
    world = rows.World({server.address[1]}, redis, {one.port: one.number for one in came}, habits)
    return Trace(text, came, world, sampler.delays)


def length(came):
    """Return how many seconds a burst took, from the first connect to the last answer."""
    return max(c.end for c in came) - min(c.begin for c in came)


def assemble(title, trace, plain, found=None, slow=0.0, peer="Redis", lesson=""):
    """Return the Timeline of a Trace. `found`: the lines of source, of lines.known(); the other
    arguments are the Timeline's. Pure."""
    begin, seconds = min(c.begin for c in trace.came), length(trace.came)
    edge = seconds * MARGIN
    calls = strace.parse(trace.text)
    if found:
        calls = lines.annotated(calls, trace.world, found)
    made = rows.build(calls, trace.came, trace.world, trace.delays)
    made = [replace(row, bars=[replace(bar, words=bar.words.replace("Redis", peer)) for bar in
                               rows.clip(row.bars, begin - edge, begin + seconds + edge)])
            for row in made]
    return Timeline(title, begin, begin + seconds + edge,
                    [row for row in made if row.bars], seconds, plain,
                    sum(client.status != 200 for client in trace.came), slow, peer, lesson)


class Sampler:
    """Looks at the server while it is traced: a context manager. `delays`: [(tid, begin, end,
    seconds)], how long each thread waited for the CPU, Unix time. `clients`: {inode of the server's
    socket: port}."""

    INTERVAL = 0.005

    def __init__(self, server):
        self.delays, self.clients = [], {}
        self._server = server
        self._wanted = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        process.start(self._thread)
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def watch(self, port):
        """Find out which of the server's sockets this client has."""
        self._wanted.append(port)

    def _run(self):
        before, last = {}, time.time()
        while not self._over.wait(self.INTERVAL):
            for port in list(self._wanted):
                self._identify(port)
            now, seen = time.time(), {}
            for pid in [self._server.pid, *procfs.children(self._server.pid)]:
                seen.update(self._of(pid))
            for tid, nanoseconds in seen.items():
                grown = (nanoseconds - before.get(tid, nanoseconds)) / 1e9
                if grown > 0.001:
                    self.delays.append((tid, last, now, grown))
            before, last = seen, now

    def _identify(self, port):
        with contextlib.suppress(OSError):
            found = sockets.lookup(self._server.address, ("127.0.0.1", port))
            if found and found.inode:       # 0: not accepted yet
                self.clients[found.inode] = port
                self._wanted.remove(port)

    @staticmethod
    def _of(pid):
        found = {thread: procfs.read(f"/proc/{pid}/task/{thread}/schedstat").split()
                 for thread in procfs.threads(pid)}
        return {thread: int(words[1]) for thread, words in found.items() if words}
