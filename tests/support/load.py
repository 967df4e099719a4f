"""A closed-loop load: clients that each wait for their answer before they ask
again, and that check every byte of it."""

import threading
import time

from tests.support.client import Closed, Connection, ProtocolError, Reset, build


class Load:
    """`clients` threads, each of which asks for the next of `targets` in turn.

    With `keep_alive` a connection is used until the server says that it ends;
    otherwise each request has a connection of its own. What may come of a
    request is counted:

        answered   whole, with a status that `accept` takes
        refused    nothing listened on the port
        unanswered the connection ended before the first byte of an answer
        faults     anything else, in words: broken answers, wrong statuses, resets

    With `expect_reset`, a reset before the first byte of an answer counts as
    unanswered. Use it where workers are killed or the server stops under load.
    """

    def __init__(self, server, clients, targets=("/answer",), keep_alive=True,
                 accept=(200,), prepare=None, expect_reset=False):
        self.answered = 0
        self.refused = 0
        self.unanswered = 0
        self.faults = []
        self.latencies = []         # seconds, of those answered
        self._server = server
        self._targets = targets
        self._keep_alive = keep_alive
        self._accept = accept
        self._prepare = prepare or build
        self._expect_reset = expect_reset
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._client, args=(i,),
                                          daemon=True)
                         for i in range(clients)]
        for thread in self._threads:
            thread.start()

    def _client(self, number):
        connection = None
        while not self._stop.is_set():
            target = self._targets[number % len(self._targets)]
            number += 1
            began = time.monotonic()
            try:
                if connection is None:
                    connection = Connection(self._server.address)
                end = () if self._keep_alive else (("Connection", "close"),)
                connection.send(self._prepare(target, fields=end))
                response = connection.read_response()
                if response.closes:
                    connection.expect_closed()
                    connection.close()
                    connection = None
                self._count("answered" if response.status in self._accept
                            else f"{target}: status {response.status}", began)
            except ConnectionRefusedError:
                self._count("refused", began)
                # Long: two hundred clients that try again a hundred times a
                # second leave the server that stops no processor.
                self._stop.wait(1)
            except ConnectionResetError:    # by connect(2): not accepted yet
                self._count("unanswered", began)
            except Closed as fault:
                said_nothing = "closed without an answer" in str(fault)
                self._count("unanswered" if said_nothing else str(fault),
                            began)
                connection.close()
                connection = None
            except (ProtocolError, OSError) as fault:
                said_nothing = isinstance(fault, Reset) and not fault.begun
                self._count("unanswered" if self._expect_reset and said_nothing
                            else f"{target}: {fault!r}", began)
                if connection:
                    connection.close()
                connection = None
        if connection:
            connection.close()

    def _count(self, what, began):
        with self._lock:
            if what == "answered":
                self.answered += 1
                self.latencies.append(time.monotonic() - began)
            elif what == "refused":
                self.refused += 1
            elif what == "unanswered":
                self.unanswered += 1
            else:
                self.faults.append(what)

    def wait_for_answers(self, count, deadline=60.0):
        """Wait until that many more requests have been answered."""
        goal = self.answered + count
        end = time.monotonic() + deadline
        while self.answered < goal:
            assert time.monotonic() < end, \
                f"{goal - self.answered} of {count} answers are missing " \
                f"after {deadline:g} s; faults: {self.faults[:3]}"
            time.sleep(0.005)

    def stop(self):
        """Let every client finish its request, and wait for them."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
