"""Clients that ask for everything, in every manner, and check every byte.

Each request has a name of its own in its query. So an answer that belongs to
another request, a log line that names another one, and a remark that is stored
twice are all found.
"""

import contextlib
import random
import threading
import time

from tests.support.client import Closed, Connection, Reset, build, chunked
from tests.support.guest import URLENCODED, form

LARGE = 3_000_000
BATCH = 6               # requests sent together, at most


class Request:
    """One request: its bytes, and what its answer must be."""

    def __init__(self, method, target, name, statuses, body=None, fields=(),
                 data=b"", remark=None):
        self.method = method
        self.target = f"{target}{'&' if '?' in target else '?'}{name}"
        self.statuses = statuses
        self.body = body                # of the answer; None: any
        self.fields = fields
        self.data = data
        self.remark = remark
        self.end = ""                   # how the connection ended instead

    def __repr__(self):
        return f"{self.method} {self.target} {self.end}"

    def bytes(self, last):
        """What is sent; `last`: with the announcement that nothing follows."""
        end = [("Connection", "close")] if last else []
        return build(self.target, self.method, [*self.fields, *end], self.data)

    def check(self, response):
        """AssertionError unless this is an answer to the request."""
        assert response.status in self.statuses, (self.target, response.status)
        if self.body is not None and response.status in (200, 206):
            assert response.body == self.body, \
                f"{self.target}: {len(response.body)} bytes that are not the " \
                f"{len(self.body)} expected"
        if self.remark and response.status == 303:
            assert response.get("Location") == "/guestbook?thanks"


def _signature(name, as_chunks):
    """A POST that signs with a remark that is the request's name."""
    data = form("Ada", name)
    fields = [URLENCODED]
    if as_chunks:
        fields.append(("Transfer-Encoding", "chunked"))
        data = chunked(data[:7], data[7:])
    return Request("POST", "/guestbook", name, (303, 503), fields=fields,
                   data=data, remark=name)


class Traffic:
    """`clients` threads, each of which sends `batches` batches of requests and
    reads the answers.

        answers  (request, response) of all that arrived whole
        missing  requests without an answer: the connection ended before it
        cut      requests within whose answer the connection ended
        refused  those of the missing that were the first of their connection
        ended    those of the missing whose connection had been served before
        faults   everything that must not be, in words
    """

    def __init__(self, server, site, seed, clients=6, batches=40):
        self.answers, self.missing, self.cut = [], [], []
        self.refused, self.ended, self.faults = [], [], []
        self._server = server
        self._large = random.Random(seed).randbytes(LARGE)
        site.write("large.bin", self._large)
        self._pages = {"/": "index.html", "/style.css": "style.css"}
        self._pages = {target: (site.public / file).read_bytes()
                       for target, file in self._pages.items()}
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._client, daemon=True,
                             args=(number, random.Random(seed * 1000 + number),
                                   batches)) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def join(self, deadline=240.0):
        """Wait until every client has sent and read everything."""
        end = time.monotonic() + deadline
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            assert not thread.is_alive(), \
                f"a client hangs; {len(self.answers)} answers so far"

    def _request(self, dice, name):
        """Make up a request."""
        kind = dice.randrange(12)
        if kind == 0:
            return Request("GET", "/large.bin", name, (200, 503), self._large)
        if kind == 1:
            return Request("HEAD", "/large.bin", name, (200, 503), b"")
        if kind in (2, 3):
            first = dice.randrange(LARGE)
            last = min(LARGE - 1, first + dice.randrange(1, 200_000))
            return Request("GET", "/large.bin", name, (206, 503),
                           self._large[first:last + 1],
                           [("Range", f"bytes={first}-{last}")])
        if kind in (4, 5):
            target = dice.choice(list(self._pages))
            return Request("GET", target, name, (200, 503),
                           self._pages[target])
        if kind in (6, 7):
            return _signature(name, dice.random() < 0.5)
        if kind == 8:
            return Request("GET", "/guestbook", name, (200, 503))
        if kind == 9:
            return Request("GET", "/nothing", name, (404, 503))
        if kind == 10:
            return Request("GET", "/answer", name, (200, 503), b"42")
        return Request("GET", f"/echo?value={name}", name, (200, 503),
                       f"<http_test><value>{name}</value></http_test>".encode())

    def _client(self, number, dice, batches):
        connection = None
        try:
            for batch in range(batches):
                if connection is None:
                    connection = Connection(self._server.address)
                    answered = 0
                count = 1 if dice.random() < 0.4 else dice.randint(2, BATCH)
                last = dice.random() < 0.3
                requests = [self._request(dice, f"c{number}b{batch}r{i}")
                            for i in range(count)]
                data = [r.bytes(last and r is requests[-1]) for r in requests]
                early = dice.randint(1, count)  # the others come later
                self._send(connection, b"".join(data[:early]), dice)
                if early < count:
                    with contextlib.suppress(Reset):
                        connection.receive(dice.randint(1, 65536))
                    self._send(connection, b"".join(data[early:]), dice)
                whole = self._read(connection, requests, answered)
                answered += len(requests)
                if not whole or last or dice.random() < 0.2:
                    connection.close()
                    connection = None
        except Exception as fault:      # pylint: disable=broad-except
            self.faults.append(f"client {number}: {fault!r}")
        if connection:
            connection.close()

    @staticmethod
    def _send(connection, data, dice):
        """Send the requests whole, or in pieces."""
        while data:
            n = len(data) if dice.random() < 0.7 else dice.randint(1, len(data))
            if not connection.send(data[:n]):
                return                  # the answers will tell
            data = data[n:]

    def _read(self, connection, requests, answered):
        """Read the answers; whether the connection can go on."""
        for i, request in enumerate(requests):
            try:
                response = connection.read_response(request.method)
            except (Closed, Reset) as end:
                request.end = str(end)
                begun = (end.begun if isinstance(end, Reset)
                         else "without an answer" not in str(end))
                self._lose(requests[i:], answered + i, begun)
                return False
            try:
                request.check(response)
            except AssertionError as fault:
                self.faults.append(str(fault))
            self.answers.append((request, response))
            if response.closes:
                self._check_end(connection, request, requests[-1])
                self.missing += requests[i + 1:]
                return False
        return True

    def _check_end(self, connection, request, last):
        """After an answer that announces the end, nothing comes; a reset only
        if the client has sent a further request."""
        try:
            if connection.receive():
                self.faults.append(f"{request}: more after its answer")
        except Reset:
            if request is last:
                self.faults.append(f"{request}: reset after its answer")

    def _lose(self, requests, answered, in_answer):
        """No (further) answer came."""
        with self._lock:
            if in_answer:
                self.cut.append(requests[0])
            else:
                (self.ended if answered else self.refused).append(requests[0])
            self.missing += requests
