"""A raw HTTP client that believes nothing.

It sends exactly the bytes it is given, and reads an answer as a strict
recipient would: each rule of RFC 9112 on the form of a response, and each
promise that all answers of the collection share (Date, Server, the security
headers of HTML), is checked on every answer that any test reads.

A FIN ends a connection; a RST resets it, and throws away what was still on its way.
So a reset is a fault (`Reset`), which only a test that expects it catches.
"""

import contextlib
import dataclasses
import email.utils
import re
import select
import socket
import struct
import time

from tests.support.processes import DEADLINE

HOST = "test"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; "
    "script-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'")

_NOW = 300              # seconds; it is the clock that counts, not the speed
_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) ([\x20-\x7e]*)")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x21-\x7e]"
                    rb"(?:[\x20-\x7e]*[\x21-\x7e])?)?")
_IMF_DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3]\d (Jan|Feb|Mar|Apr|May|Jun|Jul"
    r"|Aug|Sep|Oct|Nov|Dec) \d{4} [0-2]\d:[0-5]\d:[0-6]\d GMT")


class ProtocolError(AssertionError):
    """The answer is not what HTTP, or the collection, promises."""


class Closed(ProtocolError):
    """The connection ended, with a FIN, where (the rest of) an answer was due."""


class Reset(ProtocolError):
    """The server has reset the connection. `unread` holds the bytes that had arrived
    and that the test had not read; `begun` tells whether an answer had begun."""

    def __init__(self, message, unread, begun):
        super().__init__(message)
        self.unread = unread
        self.begun = begun


def parse_date(text):
    """Return an IMF-fixdate as seconds since 1970; ProtocolError if not one."""
    if not _IMF_DATE.fullmatch(text):
        raise ProtocolError(f"not an IMF-fixdate: {text!r}")
    return email.utils.parsedate_to_datetime(text).timestamp()


@dataclasses.dataclass
class Response:
    """One answer. `fields` keeps the order and the spelling of the header."""

    status: int
    reason: str
    fields: list
    body: bytes = b""

    def all(self, name):
        """List the values of every field of that name."""
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def get(self, name):
        """Return the value of a field that may come once, None without it."""
        values = self.all(name)
        if len(values) > 1:
            raise ProtocolError(f"{len(values)} {name} fields: {values}")
        return values[0] if values else None

    @property
    def text(self):
        """The body as text; it must be UTF-8."""
        return self.body.decode("utf-8")

    @property
    def closes(self):
        """Whether the answer announces that the connection ends with it."""
        return "close" in (self.get("Connection") or "").lower()

    def check_promises(self):
        """Check what every answer of the collection promises."""
        if self.status == 100:
            return
        server = self.get("Server") or ""
        if not re.fullmatch(r"zerohttpd/\d[\w.]* \([a-z]+\)", server):
            raise ProtocolError(f"Server: {server!r}")
        date = self.get("Date")
        if date is None:
            raise ProtocolError("no Date")
        if abs(parse_date(date) - time.time()) > _NOW:
            raise ProtocolError(f"the Date is not now: {date}")
        kind = self.get("Content-Type")
        if self.body and kind is None:
            raise ProtocolError("a body without Content-Type")
        if kind and kind.startswith("text/html"):
            if kind != "text/html; charset=utf-8":
                raise ProtocolError(f"HTML in an unnamed charset: {kind}")
            policy = self.get("Content-Security-Policy")
            if policy != CONTENT_SECURITY_POLICY:
                raise ProtocolError(f"Content-Security-Policy: {policy}")
            if self.get("X-Content-Type-Options") != "nosniff":
                raise ProtocolError("HTML without nosniff")
        if self.status == 405 and not self.get("Allow"):
            raise ProtocolError("405 without Allow")
        if self.status in (301, 302, 303) and not self.get("Location"):
            raise ProtocolError(f"{self.status} without Location")
        if self.status == 503 and not (self.get("Retry-After")
                                       or "").isdigit():
            raise ProtocolError("503 without Retry-After")


def build(target, method="GET", fields=(), body=b"", version="HTTP/1.1",
          host=HOST):
    """Return the bytes of a request.

    `fields` are (name, value) pairs. A Content-Length is added for a body
    unless the fields frame it otherwise; a Host unless `host` is None.
    """
    lines = [f"{method} {target} {version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in fields]
    names = {name.lower() for name, _ in fields}
    if body and not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body


def chunked(*chunks, extension="", trailers=()):
    """Return chunks as a chunked body, with its last chunk and trailers."""
    parts = [b"%x%s\r\n%s\r\n" % (len(c), extension.encode(), c)
             for c in chunks]
    parts.append(b"0\r\n")
    parts += [f"{name}: {value}\r\n".encode() for name, value in trailers]
    return b"".join(parts) + b"\r\n"


class Connection:
    """One TCP connection, from the local address `source` if one is named. Every wait ends after
    `deadline` seconds."""

    def __init__(self, address, deadline=DEADLINE, receive_buffer=None, source=None):
        self.deadline = deadline
        self.socket = socket.socket(
            socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        try:
            if receive_buffer:          # before connect: it sets the window
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                       receive_buffer)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.settimeout(deadline)
            if source:
                self.socket.bind((source, 0))
            self.socket.connect(address)
        except BaseException:
            self.socket.close()
            raise
        self._received = bytearray()
        self._count = 0             # bytes that have arrived in all
        self._whole = 0             # those of whole answers
        self._ended = False
        self._was_reset = False     # reported by the kernel, only once

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def close(self):
        """Close, as a client does that is done."""
        self.socket.close()

    def reset(self):
        """Go away without a good-bye: the server gets a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
        self.socket.close()

    def widen(self):
        """End a small `receive_buffer`: what is left of a large answer comes soon."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    def finish_sending(self):
        """Half-close: the server sees end of file and can still answer. (ENOTCONN
        means that it has reset the connection; the next read reports that.)"""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def send(self, data):
        """Send bytes; return False if the server has closed the connection.

        That alone is no fault: it may have answered before it closed. Bytes that it
        sent before can still be read. If it has reset the connection, the read after
        them raises Reset.
        """
        try:
            self.socket.sendall(data)
        except ConnectionResetError:
            self._was_reset = True      # recv(2) would only say "end" now
            return False
        except BrokenPipeError:
            return False
        return True

    def readable(self, seconds=0.0):
        """Whether bytes, or the end, are there within `seconds`."""
        return bool(self._received) or self.arrived(seconds)

    def arrived(self, seconds=0.0):
        """Whether, within `seconds`, receive() need not wait. What it has received
        before, and has not been read, does not count."""
        return self._ended or bool(select.select([self.socket], [], [], seconds)[0])

    def receive(self, maximum=65536):
        """Read once into the buffer; False at the end of the connection, Reset when
        the server has reset it."""
        data = b""
        if not self._ended:
            try:
                data = self.socket.recv(maximum)
            except socket.timeout:
                raise ProtocolError(
                    f"nothing came for {self.deadline:g} s; before that: "
                    f"{bytes(self._received[:200])!r}") from None
            except ConnectionResetError:
                self._was_reset = True
        self._received += data
        self._count += len(data)
        self._ended = not data
        if self._ended and self._was_reset:
            raise Reset(f"reset after {self._count} bytes, {self._whole} of "
                        "them of whole answers",
                        bytes(self._received), self._count > self._whole)
        return not self._ended

    def _need(self, count):
        while len(self._received) < count:
            if not self.receive():
                raise Closed(f"closed after {len(self._received)} of "
                             f"{count} bytes of a body")

    def _take(self, count):
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def read_head(self):
        """Read a status line and header as (status, reason, fields)."""
        while (length := self._received.find(b"\r\n\r\n")) < 0:
            if not self.receive():
                raise Closed("closed without an answer" if not self._received
                             else f"closed within the head of an answer: "
                             f"{bytes(self._received[:200])!r}")
        status_line, *lines = self._take(length + 4)[:-4].split(b"\r\n")
        match = _STATUS_LINE.fullmatch(status_line)
        if not match:
            raise ProtocolError(f"status line {status_line[:200]!r}")
        fields = []
        for line in lines:
            field = _FIELD.fullmatch(line)
            if not field:
                raise ProtocolError(f"header line {line[:200]!r}")
            fields.append((field[1].decode(), (field[2] or b"").decode()))
        return int(match[1]), match[2].decode(), fields

    def read_response(self, method="GET"):
        """Read one answer to a request of that method, and check it.

        ProtocolError (an AssertionError) if it is malformed, breaks a
        promise, is late, or is cut short (Closed).
        """
        response = Response(*self.read_head())
        length = response.get("Content-Length")
        if response.get("Transfer-Encoding"):
            raise ProtocolError("no answer of the collection is chunked")
        if length is not None and not re.fullmatch(r"\d+", length):
            raise ProtocolError(f"Content-Length: {length}")
        if response.status < 200 or response.status == 204:
            if length is not None:
                raise ProtocolError(f"{response.status} with a length")
        elif response.status != 304 and length is None:
            raise ProtocolError(f"{response.status} without a length")
        elif response.status != 304 and method != "HEAD":
            self._need(int(length))
            response.body = self._take(int(length))
        self._whole = self._count - len(self._received)
        response.check_promises()
        return response

    def read_to_end(self):
        """Read answers to GET until the server closes; list them."""
        found = []
        while self._received or self.receive():
            found.append(self.read_response())
        return found

    def request(self, target, method="GET", fields=(), body=b"",
                version="HTTP/1.1", host=HOST):
        """Send a request (see `build`) and read its answer."""
        self.send(build(target, method, fields, body, version, host))
        return self.read_response(method)

    def expect_closed(self):
        """Check that the server closes, and has sent nothing more."""
        while self.receive():
            pass
        if self._received:
            raise ProtocolError(
                f"more after the last answer: {bytes(self._received[:200])!r}")

    def expect_silence(self, seconds):
        """Check that nothing comes, not even the end, for `seconds`.

        A slow machine cannot make this fail; use it where silence is the
        rule and an answer would be the fault.
        """
        if self.readable(seconds):
            self.receive()
            raise ProtocolError(
                f"unexpected: {bytes(self._received[:200])!r}"
                if self._received else "unexpected end of the connection")
