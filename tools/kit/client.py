"""HTTP from a client's side: a connection that asks, and that can also say nothing or reset.

The programs use it, and the grader, which adds its patience. It is no urllib, because a client
has to be silent, send half a request and keep its connection. Loads come from the
programs of tools/bench/load. What a client of its own loop needs of HTTP are request() and head().
"""

import contextlib
import re
import socket
import struct
from dataclasses import dataclass

SECONDS = 5.0       # without a byte, until a client gives up
END = b"\r\n\r\n"   # of the fields


@dataclass(frozen=True)
class Response:
    """An answer: status (int), headers (dict, names in lower case), body."""

    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        """The body as text; it must be UTF-8."""
        return self.body.decode()


def request(path="/", method="GET", fields=(), body=b""):
    """Return a request as bytes; `fields` are lines without their end. A body gets its
    Content-Length."""
    if body:
        fields = (*fields, f"Content-Length: {len(body)}")
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
    return "\r\n".join([*lines, "", ""]).encode() + body


def head(data):
    """Return (status, headers, size of the head) of an answer that begins with `data`, None
    while its fields have not ended. Raises ConnectionError when it is not HTTP."""
    end = data.find(END)
    if end < 0:
        return None
    first, *lines = bytes(data[:end]).decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdecimal() \
            or not headers.get("content-length", "0").isdecimal():
        raise ConnectionError(f"no HTTP answer: {first[:60]!r}")
    return int(rest[:3]), headers, end + len(END)


class Connection:
    """A connection to `address`, (host, port): a context manager. `sock` is its socket. All calls
    raise OSError (TimeoutError too) when the connection fails, ConnectionResetError when the server
    resets it, and ConnectionError when it ends in the middle of an answer."""

    def __init__(self, address, timeout=SECONDS, receive_buffer=None):
        self.sock = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        if receive_buffer:      # before connect(2): it limits the window
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.timeout = timeout
        self.sock.settimeout(timeout)
        self._rest = bytearray()    # what has come and belongs to no answer yet
        try:
            self.sock.connect(address)
        except BaseException:
            self.sock.close()
            raise

    def send(self, data):
        self.sock.sendall(data)

    def request(self, path="/", method="GET", fields=(), body=b""):
        """Send one request: see request()."""
        self.send(request(path, method, fields, body))

    def response(self, method="GET"):
        """Read the next answer and return it as a Response."""
        status, headers = self._head()
        if method == "HEAD" or status in (204, 304):
            return Response(status, headers, b"")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return Response(status, headers, b"".join(iter(self._chunk, b"")))
        if "content-length" in headers:
            return Response(status, headers, self._take(int(headers["content-length"])))
        with contextlib.suppress(EOFError):
            while True:
                self._more("a body", EOFError)
        return Response(status, headers, self._take(len(self._rest)))

    def _head(self):
        """Read the fields of an answer; return (status, headers)."""
        while not (found := head(self._rest)):
            self._more("an answer's fields")
        status, headers, size = found
        del self._rest[:size]
        return status, headers

    def _chunk(self):
        """Read a chunk; b"" is the last one. (This client asks for no trailers.)"""
        while (end := self._rest.find(b"\r\n")) < 0:
            self._more("a chunk's size")
        size = self._take(end + 2).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9A-Fa-f]+", size):
            raise ConnectionError(f"no size of a chunk: {size[:60]!r}")
        return self._take(int(size, 16) + 2)[:-2]

    def _take(self, count):
        """Return the next `count` bytes of a body."""
        while len(self._rest) < count:
            self._more(f"a body of {count} bytes")
        data = bytes(self._rest[:count])
        del self._rest[:count]
        return data

    def _more(self, what, end=ConnectionError):
        """Receive some bytes; raise `end` at the end of file."""
        try:
            data = self._receive()
        except ConnectionResetError as error:
            raise ConnectionResetError(
                f"the server reset the connection (RST) after {len(self._rest)} bytes of {what}; "
                "close(2) does that to a socket with unread input") from error
        if not data:
            raise end(f"the server closed the connection after {len(self._rest)} bytes of {what}")
        self._rest += data

    def _receive(self):
        """Wait for bytes and return them, b"" at the end of file."""
        self.sock.settimeout(self.timeout)
        return self.sock.recv(1 << 16)

    def is_silent(self, seconds):
        """Return whether nothing comes for that time, not even the end."""
        self.sock.settimeout(seconds)
        try:
            self._rest += self.sock.recv(1 << 16)
            return False
        except TimeoutError:
            return True

    def reset(self):
        """Close with a RST instead of a FIN: the peer gets ECONNRESET."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def get(address, path="/", method="GET", fields=(), body=b"", timeout=SECONDS):
    """Send one request over a connection of its own; return the Response."""
    with Connection(address, timeout) as one:
        one.request(path, method, ("Connection: close", *fields), body)
        return one.response(method)
