"""The grader's HTTP client: that of tools/kit, with the patience of a grader."""

import select
import time

from labs.grade.observe import wait_until
from tools.kit import client as kit

# Seconds without a byte of an answer. A long answer may take longer: on a busy machine, 16 MiB do.
# A server that is right is never silent for five seconds. One that leaves clients waiting does so
# in many tests: each such client has half the patience of the one before, down to LEAST if the
# server has answered any client, to NONE otherwise.
PATIENCE, LEAST, NONE = 5.0, 1.0, 0.2
SILENCE = 0.1           # see Client.meanwhile
REDIS_WAIT = 0.25       # REDIS_WAIT_MS of common/redis.h, in seconds


class Client(kit.Connection):
    """A connection to 127.0.0.1:port: see kit.Connection."""

    patience = PATIENCE     # of the next client
    least = NONE
    meanwhile = None        # called after each SILENCE seconds without a byte

    def __init__(self, port, timeout=None, receive_buffer=None):
        self._usual = timeout is None
        super().__init__(("127.0.0.1", port), timeout or Client.patience, receive_buffer)

    def _head(self):
        found = super()._head()
        Client.least = LEAST
        Client.patience = max(LEAST, Client.patience)
        return found

    def _receive(self):
        try:
            if self.meanwhile:
                self._wait()
            return super()._receive()
        except TimeoutError:
            if self._usual:
                Client.patience = max(Client.least, Client.patience / 2)
            raise

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

    Redis may be late on a busy machine. After REDIS_WAIT the server may then answer 503 and close
    its connection to Redis, and answer 503 immediately until it may connect again: common/redis.h.
    So a 503 that took that long is asked for again until it is another answer. One that came sooner
    is returned: it has another cause than a late Redis.
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
