"""Samples a server: threads often, socket tables as seldom as they cost."""

import collections
import contextlib
import threading
import time
from dataclasses import dataclass

from tools.kit import process, procfs, sockets, states
from tools.kit.counters import Counters
from tools.observe.watch import proc, words
from tools.observe.watch.history import History, Slots
from tools.observe.watch.tables import Tables


@dataclass(frozen=True)
class Row:
    """A thread at one time, as views show it."""

    pid: int
    tid: int
    name: str
    kind: str           # of states.KINDS
    words: str
    since: float        # seconds
    served: str         # requests, or clients seen ("≥3"), or ""
    cpu: float          # seconds
    history: object


@dataclass(frozen=True)
class Client:
    """A client at one time, as views show it."""

    number: int
    kind: str
    words: str
    since: float        # seconds


@dataclass(frozen=True)
class Frame:
    """Everything at one time, as views show it."""

    now: float
    title: str
    rows: list
    clients: list       # a sockets.Tcp each, which client() makes a Client
    client: object
    queues: list
    connections: dict   # {state: how many clients}
    rate: float
    total: int
    longest: int        # milliseconds, of a loop's iterations; None: no loop
    notes: list


@dataclass(frozen=True)
class _Sample:
    """One sample of a thread."""

    times: bytes        # texts of its Task
    call: bytes
    ran: int            # nanoseconds
    delayed: int
    switches: int
    meaning: tuple
    name: str           # of the system call, "" while it is not known to be asleep


_COST = 200                     # look for threads after 200 times what it took
SHARE = 0.015                   # of a CPU, at most, for sampling


class Sampler:
    """Looks at a process and its descendants `rate` times a second."""

    def __init__(self, pid, title, redis_ports=(), rate=50):
        process.allow_descriptors()     # three for a thread
        self.pid, self.title, self.rate = pid, title, rate
        self.histories = {}
        self.tables = Tables(redis_ports)
        self.counters = Counters(pid)
        self.paused = False
        self.hidden = self.rounds = 0
        self._tasks = {}        # tid: Task, in the order of the rows
        self._meanings = {}     # (tid, text of syscall): what it means
        self._seen = collections.defaultdict(set)
        self._slots, self._pids, self._due = Slots(), [pid], 0.0
        self._rates = collections.deque(maxlen=11)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.step()
        process.start(self._thread)
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        for task in self._tasks.values():
            task.close()
        self.counters.close()

    def _run(self):
        due = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            begin = time.thread_time()
            if not self.paused:
                self.step()
            took = time.thread_time() - begin
            due = max(due + max(1 / self.rate, took / SHARE), time.monotonic())

    def step(self):
        """Take one sample of everything."""
        with self._lock:
            self.rounds += 1
            now = time.monotonic()
            if now >= self._due:
                self._find_tasks(now)
            fresh = False
            with contextlib.suppress(OSError):      # no sock_diag here
                fresh = self.tables.refresh(now, self._pids)
            if fresh:
                self._meanings = {}
            for task in list(self._tasks.values()):
                try:
                    self._sample(task, time.monotonic(), fresh)
                except (OSError, ValueError):   # it has ended
                    self._forget(task)

    def _find_tasks(self, now):
        threads, self._pids, live = {}, [self.pid], []
        for pid in self._pids:
            threads[pid] = procfs.threads(pid)
            for tid in threads[pid]:
                with contextlib.suppress(OSError):      # it has ended
                    task = self._tasks.get(tid) or proc.Task(pid, tid)
                    self._pids += task.children()
                    live.append(task)
        for tid in self._tasks.keys() - {task.tid for task in live}:
            self._forget(self._tasks[tid])
        live.sort(key=lambda task: (task.pid != self.pid, task.tid))
        self._tasks = {task.tid: task for task in live}
        for tid in self._tasks.keys() - self.histories:
            self.histories[tid] = History(now)
        # A signal stops all threads of a process, so one letter for each will
        # do, unless the main thread has ended before the others.
        letters = {pid: proc.letter(pid, pid) for pid in self._pids}
        for task in self._tasks.values():
            if (letter := letters.get(task.pid, "Z")) == "Z":
                letter = proc.letter(task.pid, task.tid)
            task.stopped = letter in "TtZ"
            task.name = f"thread {task.tid}" if task.tid != task.pid else \
                f"main {task.tid}" if len(threads.get(task.pid, ())) > 1 else \
                f"process {task.pid}" if task.pid != self.pid \
                or len(threads) == 1 else f"parent {task.pid}"
        self.hidden = sum(task.hidden for task in self._tasks.values())
        self._due = now + max(0.1, _COST * (time.monotonic() - now))

    def _forget(self, task):
        task.close()
        self._tasks.pop(task.tid, None)
        self.histories.pop(task.tid, None)

    def _sample(self, task, now, fresh):
        """`fresh`: the tables have been read since the last sample."""
        # In this order: where the thread runs between the two, the next sample
        # finds other times, and looks at its call again.
        times, last = task.times(), task.last
        same = last and last.name and not fresh and not task.stopped
        if same and times == last.times:    # it has not run since
            self.histories[task.tid].stay(now)
            return
        call = task.call()
        ran, delayed, switches = map(int, times.split())
        before = last or _Sample(times, call, ran, delayed, switches, None, "")
        # The same call with the same arguments. Where the thread has run since, its
        # descriptor may be another connection: the next tables tell, in 0.5 s.
        meaning, name = (last.meaning, last.name) \
            if same and call and call == last.call else self._meaning(
                task, call, (ran - before.ran) / 1e9, (delayed - before.delayed) / 1e9)
        task.last = _Sample(times, call, ran, delayed, switches, meaning, name)
        kind, said = self._loop(task, meaning, name)
        self.histories[task.tid].add(now, kind, said, name in states.ACCEPT
                                     and before.switches != switches)

    def _meaning(self, task, text, ran, delayed):
        """Return (meaning, name of the system call or "")."""
        if text is None:
            letter = proc.letter(task.pid, task.tid)
            where = procfs.read(f"/proc/{task.pid}/task/{task.tid}/wchan")
            return words.hidden(where, letter), "hidden" if letter == "S" else ""
        known = self._meanings.get((task.tid, text))
        if known and not task.stopped:
            return known
        name, arguments = words.parse_syscall(text.decode())
        if name == "running":
            letter = "R" if ran or delayed else proc.letter(task.pid, task.tid)
            return (words.awake(ran, delayed) if letter == "R"
                    else words.LETTERS.get(letter, ("run", "runs"))), ""
        if not name or task.stopped:
            letter = proc.letter(task.pid, task.tid)
            return words.LETTERS.get(letter, ("run", "runs")), ""

        def role(fd):
            found = self.tables.role(task.pid, fd)
            if found[1]:
                self._seen[task.tid].add(found[1])
            return found
        found = words.blocked(name, arguments, role), name
        if found[0][0] != "client":     # another client may come to this call
            self._meanings[task.tid, text] = found
        return found

    def _loop(self, task, meaning, name):
        """Say what an event loop waits for: the tables know."""
        if name not in states.MANY or meaning[1] != "waits for events":
            return meaning
        mine = self.tables.own(task.pid)
        count = sum(tcp.inode in mine for tcp in self.tables.clients)
        return states.loop_meaning(self.tables.owed([task.pid]), count)

    def frame(self):
        """Return the Frame of now."""
        with self._lock:
            now = time.monotonic()
            counted = self.counters.read()
            total = sum(worker.requests for worker in counted) if counted else None
            longest = max(worker.longest_ms for worker in counted) \
                if counted and self.counters.loop else None
            self._rates.append((now, total or 0))
            first, last = self._rates[0], self._rates[-1]
            rate = (last[1] - first[1]) / (last[0] - first[0]) \
                if len(self._rates) > 1 and total is not None else None
            slots = self._slots.assign(self._pids[1:]) if self.title[:2] in ("03", "07") else {}
            rows = [self._row(task, now, counted, slots) for task in self._tasks.values()]
            said = {row.words for row in rows}
            owed = self.tables.owed(self._pids)
            return Frame(
                now, self.title, rows, self.tables.clients,
                lambda tcp: self._client(tcp, owed, said),
                self._queues(), collections.Counter(
                    tcp.state for tcp in self.tables.clients),
                rate, total, longest, self._notes())

    def _queues(self):
        families = {6 if ":" in s.local[0] else 4 for s in self.tables.listeners}
        fresh = {}
        with contextlib.suppress(OSError):
            fresh = {s.inode: s for s in sockets.tcp(sockets.LISTEN, families=families)}
        return [(s.local[1], fresh.get(s.inode, s).unread,
                 fresh.get(s.inode, s).unsent) for s in self.tables.listeners]

    def _row(self, task, now, counted, slots):
        history = self.histories[task.tid]
        return Row(task.pid, task.tid, task.name, history.kind, history.words,
                   now - history.since, self._served(task, counted, slots),
                   task.last.ran / 1e9 if task.last else 0, history)

    def _served(self, task, counted, slots):
        if counted and task.tid == task.pid:
            slot = 0 if len(self._tasks) == 1 else slots.get(task.pid, 9999)
            if slot < len(counted):
                return str(counted[slot].requests)
        seen = len(self._seen[task.tid])
        return f"≥{seen}" if seen else ""

    def _client(self, tcp, owed, said):
        """`said`: the words of all rows, which name clients that hold a worker."""
        number = self.tables.number(tcp.remote)
        _, waited_for = states.meaning("read", states.CLIENT, number)
        (kind, text), since = words.client_words(
            tcp, owed and waited_for not in said, self.tables.incomplete(tcp))
        return Client(number, kind, text, since or 0)

    def _notes(self):
        if not self._tasks:
            return ["It has ended."]
        if not self.hidden:
            return []
        return [f"{self.hidden} of {len(self._tasks)} threads do not let "
                "their system calls be seen (Yama's ptrace_scope, or another "
                "user): these rows say only where the kernel sleeps"]
