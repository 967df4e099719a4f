"""What a system call means: the states that all views share. Pure.

A kind is one of the keys of KINDS: the colour of a bar. A meaning is a pair
(kind, words): the words name the client or the address.
"""

import re

from tools.kit import colours
from tools.kit.colours import GROUND, QUIET, TEXT

# kind: (its words in a legend, colour on light ground, on dark ground)
KINDS = {
    "run": ("runs", *colours.GREEN),
    "client": ("waits for a client", *colours.ORANGE),
    "redis": ("waits for Redis", *colours.BLUE),
    "lock": ("waits for a lock", *colours.RED),
    "cpu": ("waits for the CPU", *colours.PINK),
    "queue": ("in the accept queue", "#8b94a1", "#7c8794"),
    "other": ("waits for something else", "#7a5230", "#b08a62"),
    "idle": ("idle", "#dfe3e8", "#46525f"),
}
GRID = ("#e3e7ec", "#2a323c")
FRAMES = ("#dfe5ec", "#2c3642"), ("#cdd6e0", "#37424f")     # functions, in turn
DARK = dict((GROUND, TEXT, QUIET, GRID, *FRAMES, *(colours for _, *colours in KINDS.values())))

ACCEPT = frozenset(("accept", "accept4"))
RECEIVE = frozenset(("read", "readv", "recvfrom", "recvmsg", "recvmmsg"))
SEND = frozenset(("write", "writev", "sendto", "sendmsg", "sendmmsg", "sendfile", "sendfile64"))
MANY = frozenset(("poll", "ppoll", "select", "pselect6", "epoll_wait",
                  "epoll_pwait", "epoll_pwait2", "io_uring_enter"))
LOCK = frozenset(("futex", "futex_wait", "flock", "semop", "semtimedop"))
SLEEP = frozenset(("nanosleep", "clock_nanosleep"))
CHILD = frozenset(("wait4", "waitid"))
SIGNAL = frozenset(("rt_sigtimedwait", "rt_sigsuspend", "pause"))
DISK = frozenset(("fsync", "fdatasync", "openat", "pread64", "pwrite64"))

# Roles of a descriptor: see role_of().
LISTENER, CLIENT, REDIS = "listener", "client", "redis"


def dark(picture):
    """Return an SVG in these colours, drawn for light ground, as one for dark ground."""
    return re.sub("(?<=')#[0-9a-f]{6}(?=')", lambda found: DARK[found[0]], picture)


def role_of(local, remote, ports, redis):
    """Return the role of a TCP socket. `local`, `remote`: (host, port), remote None for a listening
    socket; `ports`: where the server listens; `redis`: set of ports of Redis. A socket with another
    role gives the text "HOST:PORT" of its remote end."""
    if remote is None:
        return LISTENER
    if remote[1] in redis:
        return REDIS
    if local[1] in ports:
        return CLIENT
    return f"{remote[0]}:{remote[1]}"


def meaning(call, role, number=None, descriptors=1):
    """Return the meaning of a blocked system call. `call`: its name. `role`: of its descriptor
    (role_of(), "pipe", "file", or None when unknown). `number`: of the client. `descriptors`: how
    many a poll waits for; 0 makes it a sleep."""
    if call in ACCEPT:
        return "idle", "accepting: waits for a new client"
    if call in RECEIVE or call in SEND or call == "connect":
        return _transfer(call, role, number)
    if call in LOCK:
        return "lock", "waits for a lock"
    if call in SLEEP or call in MANY and descriptors == 0:
        return "idle", "sleeps until a timer or a signal"
    if call in MANY:
        return "idle", "waits for events"
    if call in CHILD:
        return "idle", "waits for a child to end"
    if call in SIGNAL:
        return "idle", "waits for a signal"
    if call in DISK:
        return "other", "waits for the disk"
    return "other", f"waits in {call}"


def _transfer(call, role, number):
    if role == CLIENT:
        who = f"client {number}" if number else "a client"
        what = "read" if call in SEND else "send"
        return "client", f"waits for {who} to {what}"
    if role == REDIS:
        return "redis", "connects to Redis" if call == "connect" else "waits for Redis"
    if role == "file":
        return "other", "waits for the disk"
    return "other", f"waits for {role or 'a descriptor'}"


def loop_meaning(owed, clients):
    """Return the meaning of an event loop's wait. `owed`: whether Redis owes it a reply; `clients`:
    how many are connected."""
    some = f"{clients} client{'s' if clients != 1 else ''}"
    if owed:
        return "redis", f"waits for events: Redis and {some}" if clients \
            else "waits for events: Redis"
    if clients:
        return "client", f"waits for events: {some}"
    return "idle", "idle: waits for events, no client"
