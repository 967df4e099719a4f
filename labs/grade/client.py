"""A small HTTP client that can also misbehave: pause, reset, say nothing."""

import contextlib
import select
import socket
import struct
import time
from dataclasses import dataclass

from labs.grade.observe import wait_until

# Seconds without a byte of an answer. A long answer may take longer: on a busy
# machine, 16 MiB do. A server that is right is never silent for five seconds. One
# that leaves clients waiting does so in many tests: each such client has half
# the patience of the one before, down to LEAST if the server has answered any
# client, to NONE otherwise.
PATIENCE, LEAST, NONE = 5.0, 1.0, 0.2
SILENCE = 0.1           # see Client.meanwhile
REDIS_WAIT = 0.25       # REDIS_WAIT_MS of common/redis.h, in seconds


@dataclass(frozen=True)
class Response:
    """An answer: status (int), headers (dict, names in lower case), body."""

    status: int
    headers: dict
    body: bytes


class Client:
    """A connection to 127.0.0.1:port: a context manager.

    All calls raise OSError (TimeoutError too) when the connection fails,
    ConnectionResetError when the server resets it, and ConnectionError when it ends
    in the middle of an answer.
    """

    patience = PATIENCE     # of the next client
    least = NONE
    meanwhile = None        # called after each SILENCE seconds without a byte

    def __init__(self, port, timeout=None, receive_buffer=None):
        self.sock = socket.socket()
        self.timeout = timeout or Client.patience
        self._usual = timeout is None
        if receive_buffer:      # before connect(2): it limits the window
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                 receive_buffer)
        self.sock.settimeout(self.timeout)
        self._rest = bytearray()
        try:
            self.sock.connect(("127.0.0.1", port))
        except BaseException:
            self.sock.close()
            raise

    def send(self, data):
        """Send bytes."""
        self.sock.sendall(data)

    def request(self, path="/", method="GET", fields=(), body=b""):
        """Send one request; `fields` are lines without their end."""
        if body:
            fields = (*fields, f"Content-Length: {len(body)}")
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
        self.send("\r\n".join([*lines, "", ""]).encode() + body)

    def response(self, method="GET"):
        """Read the next answer and return it as a Response."""
        while b"\r\n\r\n" not in self._rest:
            self._more("an answer's fields")
        end = self._rest.index(b"\r\n\r\n") + 4
        head = bytes(self._rest[:end - 4])
        Client.least = LEAST
        Client.patience = max(LEAST, Client.patience)
        del self._rest[:end]
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        try:
            version, number = status.split()[:2]
            length = headers.get("content-length")
            number, length = int(number), length and int(length)
        except ValueError as error:
            raise ConnectionError(f"no HTTP answer: {status[:60]!r}") from error
        if not version.startswith("HTTP/1."):
            raise ConnectionError(f"no HTTP answer: {status[:60]!r}")
        if method == "HEAD" or number in (204, 304):
            return Response(number, headers, b"")
        if length is None:
            with contextlib.suppress(EOFError):
                while True:
                    self._more("a body", EOFError)
            length = len(self._rest)
        while len(self._rest) < length:
            self._more(f"a body of {length} bytes")
        body = bytes(self._rest[:length])
        del self._rest[:length]
        return Response(number, headers, body)

    def _more(self, what, end=ConnectionError):
        """Receive some bytes; raise `end` at the end of file."""
        self.sock.settimeout(self.timeout)
        try:
            if self.meanwhile:
                self._wait()
            data = self.sock.recv(1 << 16)
        except TimeoutError:
            if self._usual:
                Client.patience = max(Client.least,
                                      Client.patience / 2)
            raise
        except ConnectionResetError as error:
            raise ConnectionResetError(
                "the server reset the connection (RST) after "
                f"{len(self._rest)} bytes of {what}; close(2) does that to a "
                "socket with unread input") from error
        if not data:
            raise end("the server closed the connection after "
                      f"{len(self._rest)} bytes of {what}")
        self._rest += data

    def _wait(self):
        """Wait for bytes, and call meanwhile() until some are there."""
        end = time.monotonic() + self.timeout
        while not select.select([self.sock], [], [], SILENCE)[0]:
            if time.monotonic() > end:
                raise TimeoutError("timed out")
            self.meanwhile()

    def is_closed(self, seconds=PATIENCE, may_reset=False):
        """Return whether the server closes the connection in that time. A reset is
        no close, but an error, unless it `may_reset`."""
        self.sock.settimeout(seconds)
        try:
            while True:
                if not self.sock.recv(1 << 16):
                    return True
        except TimeoutError:
            return False
        except ConnectionResetError:
            if not may_reset:
                raise
            return True

    def reset(self):
        """Close with a RST instead of a FIN: the peer gets ECONNRESET."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        """Close the connection."""
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def port_of(client):
    """Return the local port of a Client."""
    return client.sock.getsockname()[1]


def get(port, path="/", method="GET", fields=(), body=b"", timeout=None):
    """Send one request over a connection of its own; return the Response."""
    with Client(port, timeout) as client:
        client.request(path, method, ("Connection: close", *fields), body)
        return client.response(method)


def ask_guestbook(port, method="GET", fields=(), body=b""):
    """Send a request for /guestbook as get() does; return the Response.

    Redis may be late on a busy machine. After REDIS_WAIT the server may then
    answer 503 and close its connection to Redis, and answer 503 immediately until
    it may connect again: common/redis.h. So a 503 that took that long is asked
    for again until it is another answer. One that came sooner is returned: it
    has another cause than a late Redis.
    """
    def ask():
        return get(port, "/guestbook", method, fields, body)

    def ask_again():
        again = ask()
        return again if again.status != 503 else None

    began = time.monotonic()
    answer = ask()
    if answer.status == 503 and time.monotonic() - began >= REDIS_WAIT:
        answer = wait_until(ask_again) or answer
    return answer
