"""The sockets of the watched processes: ports, clients, what Redis owes."""

import time

from tools.kit import sockets, states
from tools.observe.watch import proc

# Reading the tables takes the kernel some milliseconds. They are read again after 100 times as
# long; for a socket that is not in them, after 20 times. CPU time counts: on a busy machine we may
# be preempted for a second, and would not look again for 100.
_COST, _URGENT = 100, 20
_MOST = 128                     # processes whose sockets are looked at


class Tables:
    """Sockets of the watched processes, by inode."""

    def __init__(self, redis_ports):
        self.redis = set(redis_ports) | {6379}
        self.ports, self.listeners = set(), []
        self.tcp, self.clients = {}, []
        self.numbers = {}       # (host, port) of a client: its number
        self.stale = True
        self._read, self._took = -9.0, 0.0
        self._known = {}        # inode: its ends, before the tables have it
        self._own = {}          # pid: inodes of its sockets
        self._late = set()      # inodes of those on which Redis owes a reply
        self._unanswered = {}   # client: bytes received when Redis owed nothing

    def refresh(self, now, pids):
        """Read the tables again, if it is time; return whether it was."""
        if now < self._read + max(0.1, _URGENT * self._took) or \
                not self.stale and now < self._read + max(0.5, _COST * self._took):
            return False
        begin = time.thread_time()
        self._own, self._known = {}, {}
        inodes = set().union(*map(self.own, pids[:_MOST]))
        self.listeners = [s for s in sockets.tcp(sockets.LISTEN) if s.inode in inodes]
        self.ports = {listener.local[1] for listener in self.listeners}
        six = any(":" in s.local[0] for s in self.listeners)
        found = sockets.tcp(     # where we know which are theirs, no others
            details=True, families=(4, 6) if six else (4,),
            wanted=None if len(pids) > _MOST else lambda inode, port:
            inode in inodes or port in self.ports)
        self.tcp = {s.inode: s for s in found if s.inode}
        self.clients = sorted(
            (s for s in found if s.local[1] in self.ports), key=lambda s: self.number(s.remote))
        self._late = {s.inode for s in self.tcp.values() if s.remote[1]
                      in self.redis and s.quiet_out < s.quiet_in}
        self._remember(pids)
        self.stale = False
        self._read, self._took = now, time.thread_time() - begin
        return True

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
        return bool(self._late) and any(self._late & self.own(pid) for pid in pids[:_MOST])

    def _remember(self, pids):
        """Note whose requests are unanswered although Redis owes nothing."""
        live = {s.remote: s for s in self.clients}
        self._unanswered = {who: count for who, count in self._unanswered.items() if who in live
                            and live[who].received == count}
        if not self.owed(pids):
            self._unanswered.update({s.remote: s.received for s in self.clients})

    def incomplete(self, tcp):
        """Whether a client has sent only a part of its request."""
        return tcp.remote in self._unanswered

    def role(self, pid, fd):
        """Return (role, client's number) of a process's descriptor."""
        inode, text = proc.inode(pid, fd)
        if not inode:
            return ("file" if text.startswith("/") else text.partition(":")[0] or None), None
        tcp = self.tcp.get(inode)
        if tcp is None and inode not in self._known:
            self._known[inode] = proc.ends(pid, fd)
            self.stale = True
        local, remote = (tcp.local, tcp.remote) if tcp else self._known.get(inode) or (None, None)
        if not isinstance(remote, tuple):
            return (states.REDIS if remote and "redis" in remote else remote or None), None
        role = states.role_of(local, remote, self.ports, self.redis)
        return role, self.number(remote) if role == states.CLIENT else None
