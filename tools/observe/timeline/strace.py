"""Reads what `strace -f -ttt -T -y` writes, with -yy and -k, too. Pure.

With -yy, strace asks the kernel for all sockets whenever it meets a new one.
Where the kernel's table is large (262,144 buckets on a machine of 24 GB) that
takes 7 ms and more, for each socket, while the server stands still. So the
server is traced with -y, and name_sockets() writes what -yy would.
"""

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Call:
    """One system call of a thread."""

    tid: int
    begin: float        # Unix time in seconds
    end: float
    name: str
    arguments: str
    result: str         # "?": it never returned
    # Innermost first: with -k (file, address), after lines.annotated() of lines.Frame.
    stack: tuple = ()


@dataclass(frozen=True)
class Socket:
    """What a descriptor is, from "5<TCP:[127.0.0.1:80->127.0.0.1:50344]>"."""

    fd: int
    kind: str           # "TCP", "UNIX-STREAM"; "": a path
    local: tuple        # (host, port), for other kinds (text, 0)
    remote: tuple       # None while it has none


_FRAME = re.compile(r" > (.*?)\([^()]*\) \[0x([0-9a-f]+)\]$")
_LINE = re.compile(r"(\d+) +(\d+\.\d+) (.*)")
_CALL = re.compile(r"(\w+)\((.*)\) += (.*?)(?: <(\d+\.\d+)>)?$", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
_UNFINISHED = " <unfinished ...>"
_INODE = re.compile(r"<socket:\[(\d+)\]>")
_CONNECT = re.compile(r"connect\(\d+<socket:\[(\d+)\]>, \{sa_family=AF_INET6?, "
                      r"sin6?_port=htons\((\d+)\)")
_LISTENER = re.compile(r"accept4?\(\d+<socket:\[(\d+)\]>")
_ACCEPTED = re.compile(r"accept4?(?:\(| resumed>).*\) = \d+<socket:\[(\d+)\]>")
_FD = re.compile(r"(-?\d+)<(?:([A-Z][A-Za-z0-9-]*):)?(.*)", re.DOTALL)


def parse(text):
    """Return the calls of a trace, in the order in which they began. A call that never returned
    ends with the trace. Signals, exits and what cannot be read are left out."""
    calls, open_calls, last = [], {}, 0.0
    for line in text.splitlines():
        match = _LINE.match(line)
        if not match:
            if calls and calls[-1] and (frame := _FRAME.match(line)):
                calls[-1] = replace(calls[-1], stack=(
                    *calls[-1].stack, (frame[1], int(frame[2], 16))))
            continue
        tid, when, rest = int(match[1]), float(match[2]), match[3]
        last = max(last, when)
        if rest.endswith(_UNFINISHED):
            open_calls[tid] = when, rest[:-len(_UNFINISHED)]
            continue
        resumed = _RESUMED.match(rest)
        if resumed:
            begin, head = open_calls.pop(tid, (when, resumed[1] + "("))
            rest = head + resumed[2]
        else:
            begin = when
        calls.append(_call(tid, begin, when, rest, bool(resumed)))
    calls += [_never_returned(tid, begin, last, head) for tid, (begin, head) in open_calls.items()]
    return sorted((call for call in calls if call), key=lambda call: (call.begin, call.end))


def _call(tid, begin, when, rest, resumed):
    match = _CALL.match(rest)
    if not match:
        return None
    # -T's duration leaves out the time until strace noticed; the line of a
    # resumed call is written at its end.
    end = begin + float(match[4]) if match[4] else (when if resumed else begin)
    return Call(tid, begin, end, match[1], match[2], match[3])


def _never_returned(tid, begin, last, head):
    name, _, arguments = head.partition("(")
    return Call(tid, begin, last, name, arguments, "?") if arguments or "(" in head else None


def name_sockets(text, port, clients, seen):
    """Return a trace in which TCP sockets have their addresses, as with -yy.

    `port`: the server's; `clients`: ports of the clients in the order of
    their connects; `seen`: {inode: port of the client} as far as known. The
    accept queue is first in, first out, so the rest follows from the order."""
    names = {}
    for inode in _LISTENER.findall(text):
        names[inode] = f"[127.0.0.1:{port}]"
    for inode, remote in _CONNECT.findall(text):
        names[inode] = f"[127.0.0.1:0->127.0.0.1:{remote}]"
    left = [client for client in clients if client not in seen.values()]
    for inode in _ACCEPTED.findall(text):
        client = seen.get(int(inode)) or (left.pop(0) if left else 0)
        names[inode] = f"[127.0.0.1:{port}->127.0.0.1:{client}]"
    return _INODE.sub(lambda match: f"<TCP:{names[match[1]]}>"
                      if match[1] in names else match[0], text)


def socket_of(text):
    """Return the Socket that a descriptor's text names, or None. `text` may go on after the
    descriptor, as a call's arguments do."""
    match = _FD.match(text)
    if not match:
        return None
    fd, kind, rest = int(match[1]), match[2] or "", match[3]
    if not kind or not rest.startswith("["):
        return Socket(fd, kind, (rest.partition(">")[0], 0), None)
    rest = rest[1:rest.find("]>")]
    local, arrow, remote = rest.partition("->")
    return Socket(fd, kind, _address(local), _address(remote) if arrow else None)


def _address(text):
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit():
        return text, 0
    return host.strip("[]"), int(port)
