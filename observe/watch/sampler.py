"""Samples a server: threads often, socket tables as seldom as they cost."""

import collections
import re
import threading
import time

from observe import sockets, states
from observe.watch import proc, words
from observe.watch.history import History, Slots

# One thread, client and moment as the views show them. Times in seconds;
# served: requests, or clients seen ("≥3"), or "".
Row = collections.namedtuple(
    "Row", "pid tid name kind words since served cpu history")
Client = collections.namedtuple("Client", "number kind words since")
Frame = collections.namedtuple(
    "Frame", "now title rows clients queues connections rate total notes")

# What takes time is done again after so many times of what it took; for new
# sockets, of which we do not know where they lead, sooner.
_COST, _URGENT = 50, 20
SHARE = 0.05                    # of a CPU, at most, for sampling
_MOST = 128                     # processes whose sockets are looked at
_HELD = re.compile(r"waits for client (\d+) to (\w+)")


class Tables:
    """Sockets of the watched processes, by inode."""

    def __init__(self, redis_ports):
        self.redis = set(redis_ports) | {6379}
        self.ports, self.listeners = set(), []
        self.tcp, self.clients = {}, []
        self.numbers = {}       # (host, port) of a client: its number
        self.stale = True
        self.version = 0        # goes up whenever they are read
        self._read, self._took = -9.0, 0.0
        self._known = {}        # inode: its ends, before the tables have it
        self._own = {}          # pid: inodes of its sockets
        self._unanswered = {}   # client: bytes received when Redis owed nothing

    def refresh(self, now, pids):
        """Read the tables again, if it is time."""
        if now < self._read + max(0.1, _URGENT * self._took) or \
                not self.stale and now < self._read + max(0.5,
                                                          _COST * self._took):
            return
        begin = time.monotonic()
        self._own, self._known = {}, {}
        inodes = set().union(*map(self.own, pids))
        self.listeners = [s for s in sockets.tcp(sockets.LISTEN)
                          if s.inode in inodes]
        self.ports = {listener.local[1] for listener in self.listeners}
        six = any(":" in s.local[0] for s in self.listeners)
        found = sockets.tcp(details=True, families=(4, 6) if six else (4,))
        self.tcp = {s.inode: s for s in found if s.inode}
        self.clients = sorted(
            (s for s in found if s.local[1] in self.ports),
            key=lambda s: self.number(s.remote))
        self._remember(pids)
        self.stale = False
        self.version += 1
        self._read, self._took = now, time.monotonic() - begin

    def number(self, remote):
        """Return the number of a client, in the order in which we saw them."""
        return self.numbers.setdefault(remote, len(self.numbers) + 1)

    def own(self, pid):
        """Return the inodes of a process's sockets, as of the last time."""
        if pid not in self._own:
            self._own[pid] = proc.socket_inodes(pid)
        return self._own[pid]

    def owed(self, pids):
        """Whether Redis owes one of these processes a reply."""
        mine = set().union(*map(self.own, pids))
        return any(s.remote[1] in self.redis and s.quiet_out < s.quiet_in
                   for s in self.tcp.values() if s.inode in mine)

    def _remember(self, pids):
        """Note whose requests are unanswered although Redis owes nothing."""
        live = {s.remote: s for s in self.clients}
        self._unanswered = {who: count for who, count
                            in self._unanswered.items() if who in live
                            and live[who].received == count}
        if not self.owed(pids):
            self._unanswered.update({s.remote: s.received
                                     for s in self.clients})

    def incomplete(self, tcp):
        """Whether a client has sent only a part of its request."""
        return tcp.remote in self._unanswered

    def role(self, pid, fd):
        """Return (role, client's number) of a process's descriptor."""
        inode, text = proc.inode(pid, fd)
        if not inode:
            return ("file" if text.startswith("/") else
                    text.partition(":")[0] or None), None
        tcp = self.tcp.get(inode)
        if tcp is None and inode not in self._known:
            self._known[inode] = proc.ends(pid, fd)
            self.stale = True
        local, remote = (tcp.local, tcp.remote) if tcp else \
            self._known.get(inode) or (None, None)
        if not isinstance(remote, tuple):
            return (states.REDIS if remote and "redis" in remote
                    else remote or None), None
        role = states.role_of(local, remote, self.ports, self.redis)
        return role, self.number(remote) if role == states.CLIENT else None


class Sampler:
    """Looks at a process and its descendants `rate` times a second."""

    def __init__(self, pid, title, redis_ports=(), rate=50):
        proc.raise_limit()
        self.pid, self.title, self.rate = pid, title, rate
        self.histories = {}
        self.tables = Tables(redis_ports)
        self.counters = proc.Counters(pid)
        self.paused = False
        self.hidden = self.rounds = 0
        self._tasks, self._last = {}, {}
        self._seen = collections.defaultdict(set)
        self._slots, self._pids, self._due = Slots(), [pid], 0.0
        self._rates = collections.deque(maxlen=11)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.step()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        for task in self._tasks.values():
            task.close()

    def _run(self):
        due = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            begin = time.thread_time()
            if not self.paused:
                self.step()
            took = time.thread_time() - begin
            due = max(due + max(1 / self.rate, took / SHARE),
                      time.monotonic())

    def step(self):
        """Take one sample of everything."""
        with self._lock:
            self.rounds += 1
            now = time.monotonic()
            if now >= self._due:
                self._find_tasks(now)
            try:
                self.tables.refresh(now, self._pids[:_MOST])
            except OSError:             # no sock_diag here
                pass
            for task in list(self._tasks.values()):
                try:
                    self._sample(task, time.monotonic())
                except (OSError, ValueError):   # it has ended
                    self._forget(task)

    def _find_tasks(self, now):
        self._pids = proc.processes(self.pid)
        live = [(pid, tid) for pid in self._pids for tid in proc.threads(pid)]
        for tid in self._tasks.keys() - {tid for _, tid in live}:
            self._forget(self._tasks[tid])
        for pid, tid in live:
            if tid not in self._tasks:
                try:
                    self._tasks[tid] = proc.Task(pid, tid)
                except OSError:
                    continue
                self.histories[tid] = History(now)
        for task in self._tasks.values():
            task.stopped = task.letter() in "TtZ"
        self.hidden = sum(task.hidden for task in self._tasks.values())
        self._due = now + max(0.1, _COST * (time.monotonic() - now))

    def _forget(self, task):
        task.close()
        self._tasks.pop(task.tid, None)
        self._last.pop(task.tid, None)
        self.histories.pop(task.tid, None)

    def _sample(self, task, now):
        reading = task.read()
        text, ran, delayed, switches = reading
        last = self._last.get(task.tid)
        history = self.histories[task.tid]
        if last and not task.stopped and \
                last[3] == self.tables.version and last[0][0] == text and last[0][3] == switches and \
                text is not None and not text.startswith(b"running"):
            meaning, name = last[1:3]       # it has not run since
        else:
            meaning, name = self._meaning(task, text, ran - last[0][1]
                                          if last else 0, delayed
                                          - last[0][2] if last else 0)
        self._last[task.tid] = reading, meaning, name, self.tables.version
        kind, said = self._loop(task, meaning, name)
        history.add(now, kind, said, name in states.ACCEPT and last
                    and last[0][3] != switches)

    def _meaning(self, task, text, ran, delayed):
        """Return (meaning, name of the system call or "")."""
        if text is None:
            return words.hidden(task.wchan(), task.letter()), ""
        name, arguments = words.parse_syscall(text.decode())
        if name == "running":
            letter = task.letter() if ran == delayed == 0 else "R"
            return (words.awake(ran, delayed) if letter == "R"
                    else words.LETTERS.get(letter, ("run", "runs"))), ""
        if not name or task.stopped:
            return words.LETTERS.get(task.letter(), ("run", "runs")), ""

        def role(fd):
            found = self.tables.role(task.pid, fd)
            if found[1]:
                self._seen[task.tid].add(found[1])
            return found
        return words.blocked(name, arguments, role), name

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
            total = sum(counted) if counted else None
            self._rates.append((now, total or 0))
            first, last = self._rates[0], self._rates[-1]
            rate = (last[1] - first[1]) / (last[0] - first[0]) \
                if len(self._rates) > 1 and total is not None else None
            many = collections.Counter(t.pid for t in self._tasks.values())
            rows = [self._row(task, now, counted, many)
                    for task in sorted(self._tasks.values(),
                                       key=lambda t: (t.pid != self.pid,
                                                      t.tid))]
            held = {int(match[1]): match[2] for row in rows
                    if (match := _HELD.match(row.words))}
            owed = self.tables.owed(self._pids[:_MOST])
            return Frame(
                now, self.title, rows, [self._client(tcp, owed, held) for tcp
                                        in self.tables.clients],
                self._queues(), collections.Counter(
                    tcp.state for tcp in self.tables.clients),
                rate, total, self._notes())

    def _queues(self):
        try:
            fresh = {s.inode: s for s in sockets.tcp(sockets.LISTEN)}
        except OSError:
            fresh = {}
        return [(s.local[1], fresh.get(s.inode, s).unread,
                 fresh.get(s.inode, s).unsent) for s in self.tables.listeners]

    def _row(self, task, now, counted, many):
        history = self.histories[task.tid]
        ran = self._last[task.tid][0][1] if task.tid in self._last else 0
        child = task.pid != self.pid
        thread = task.tid != task.pid
        name = f"thread {task.tid}" if thread else \
            f"main {task.tid}" if many[task.pid] > 1 else \
            f"process {task.pid}" if child or len(self._pids) == 1 else \
            f"parent {task.pid}"
        return Row(task.pid, task.tid, name, history.kind, history.words,
                   now - history.since, self._served(task, counted), ran,
                   history)

    def _served(self, task, counted):
        workers = self._pids[1:]
        if counted and task.tid == task.pid:
            if len(self._tasks) == 1:
                return str(counted[0])
            if self.title[:2] in ("03", "07") and task.pid in workers:
                slot = self._slots.assign(workers)[task.pid]
                return str(counted[slot]) if slot < len(counted) else ""
        seen = len(self._seen[task.tid])
        return f"≥{seen}" if seen else ""

    def _client(self, tcp, owed, held):
        """`held`: {number: "send" or "read"}, for whom a worker waits."""
        number = self.tables.number(tcp.remote)
        (kind, said), since = words.client_words(
            tcp, owed and held.get(number) != "send",
            self.tables.incomplete(tcp))
        return Client(number, kind, said, since or 0)

    def _notes(self):
        if not self._tasks:
            return ["It has ended."]
        if not self.hidden:
            return []
        return [f"{self.hidden} of {len(self._tasks)} threads do not let "
                "their system calls be seen (Yama's ptrace_scope, or another "
                "user): these rows say only where the kernel sleeps"]
