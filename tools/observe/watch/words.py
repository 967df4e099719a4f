"""From what /proc says of a thread to words. Pure."""

import platform

from tools.kit import states

# Numbers of the calls that wait; any other is shown by its number.
_NUMBERS = {
    "x86_64": {
        0: "read", 1: "write", 7: "poll", 17: "pread64", 18: "pwrite64",
        19: "readv", 20: "writev", 23: "select", 34: "pause", 35: "nanosleep",
        40: "sendfile", 42: "connect", 43: "accept", 44: "sendto",
        45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4",
        65: "semop", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync",
        128: "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex",
        220: "semtimedop", 230: "clock_nanosleep", 232: "epoll_wait",
        247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll",
        281: "epoll_pwait", 288: "accept4", 299: "recvmmsg", 307: "sendmmsg",
        426: "io_uring_enter", 441: "epoll_pwait2"},
    "aarch64": {
        22: "epoll_pwait", 25: "fcntl", 32: "flock", 56: "openat", 63: "read",
        64: "write", 65: "readv", 66: "writev", 67: "pread64", 68: "pwrite64",
        71: "sendfile", 72: "pselect6", 73: "ppoll", 82: "fsync",
        83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep",
        115: "clock_nanosleep", 133: "rt_sigsuspend", 137: "rt_sigtimedwait",
        192: "semtimedop", 193: "semop", 202: "accept", 203: "connect",
        206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg",
        242: "accept4", 243: "recvmmsg", 260: "wait4", 269: "sendmmsg",
        426: "io_uring_enter", 441: "epoll_pwait2"},
}
CALLS = _NUMBERS.get(platform.machine(), {})

# Where the kernel sleeps, for threads whose system call we may not see.
WCHAN = (
    ("inet_csk_accept", "idle", "accepting: waits for a new client"),
    ("futex", "lock", "waits for a lock"),
    ("ep_poll", "idle", "waits for events"),
    ("do_epoll_wait", "idle", "waits for events"),
    ("poll_schedule", "idle", "waits for events"),
    ("wait_woken", "other", "waits for a TCP socket"),
    ("sk_wait", "other", "waits for a TCP socket"),
    ("unix_stream", "other", "waits for a local socket"),
    ("nanosleep", "idle", "sleeps until a timer or a signal"),
    ("do_wait", "idle", "waits for a child to end"),
    ("sigtimedwait", "idle", "waits for a signal"),
    ("pipe", "other", "waits for a pipe"),
)
LETTERS = {"R": ("run", "runs"), "S": ("idle", "asleep"),
           "D": ("other", "waits for the disk"),
           "T": ("other", "stopped by a signal"),
           "t": ("other", "stopped by a debugger"),
           "Z": ("idle", "has ended; its parent has not asked for its status"),
           "I": ("idle", "asleep")}


def parse_syscall(text):
    """Return (name, arguments) of /proc/PID/task/TID/syscall. Arguments: six numbers. ("running",
    ()) for a thread that runs or could; ("", ()) for one that sleeps outside of a system call."""
    words = text.split()
    if not words or words[0] == "running":
        return "running", ()
    if words[0] == "-1":
        return "", ()
    return (CALLS.get(int(words[0]), f"system call {words[0]}"),
            tuple(int(word, 16) for word in words[1:7]))


def blocked(name, arguments, role_of_fd):
    """Return the meaning of a blocked call. `role_of_fd(fd)`: returns (role, number of the
    client)."""
    descriptors = 1
    if name in ("poll", "ppoll"):
        descriptors = arguments[1]
    elif name in ("select", "pselect6"):
        descriptors = arguments[0]
    role = number = None
    if name in states.RECEIVE | states.SEND | {"connect"}:
        role, number = role_of_fd(arguments[0])
    return states.meaning("flock" if name == "fcntl" else name, role, number, descriptors)


def awake(ran, delayed):
    """Return the meaning of a thread that could run. `ran`, `delayed`: how long it ran and waited
    for a CPU lately."""
    kind = "cpu" if delayed > ran else "run"
    return kind, states.KINDS[kind][0]


def hidden(wchan, letter):
    """Return the meaning of a thread whose system call we may not see."""
    if letter == "S":
        for start, kind, text in WCHAN:
            if start in wchan:
                return kind, text
    return LETTERS.get(letter, ("other", f"state {letter}"))


def client_words(tcp, owed, incomplete):
    """Return (meaning, seconds) of a client, from the kernel's notes. `tcp`: the server's end
    (sockets.Tcp, with details); `owed`: whether Redis owes the server a reply; `incomplete`:
    whether this client's request was unanswered already when Redis owed nothing."""
    if tcp.state == "SYN_RECV":
        return ("queue", "has sent nothing; not handed over yet"), 0
    if tcp.inode == 0 and tcp.state not in ("ESTABLISHED", "CLOSE_WAIT"):
        return ("idle", "closed by the server, not yet by the client"), tcp.quiet_in
    if tcp.inode == 0:
        return ("queue", states.KINDS["queue"][0]), tcp.quiet_in
    if tcp.state == "CLOSE_WAIT":
        return ("idle", "has hung up"), tcp.quiet_in
    if tcp.unsent:
        return ("client", "the server waits for it to read"), tcp.quiet_in
    if not tcp.received:
        return ("client", "the server waits for its request"), tcp.quiet_out
    if tcp.quiet_in > tcp.quiet_out:
        return ("idle", "answered, kept open"), tcp.quiet_out
    if tcp.unread:
        return ("cpu", "its request waits to be read"), tcp.quiet_in
    if owed and not incomplete:
        return ("redis", states.KINDS["redis"][0]), tcp.quiet_in
    return ("client", "the server waits for the rest of its request"), tcp.quiet_in
