"""Send requests at the times of a plan, and print how long each took.

    python3 tools/bench/load/arrive.py PLAN

PLAN is a JSON file: {"host", "port", "paths": [path of the first kind, of the second], "timeout",
"arrivals": [[seconds, 0 or 1: its kind], ...]}. It prints {"requests": [[how late it was sent,
how long until the last byte or null], ...], "errors": {what: count}, "timeouts", "seconds"}, with
microseconds from the time at which the request was due.
"""

import collections
import errno
import gc
import json
import select
import socket
import sys
import time

AHEAD = 0.05        # seconds from the start of the program to the time 0 of its plan


class Clients:
    """The requests of a plan. Times are seconds after `start`, of time.monotonic()."""

    def __init__(self, plan, start):
        self.address, self.timeout = (plan["host"], plan["port"]), plan["timeout"]
        self.texts = [f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                      .encode() for path in plan["paths"]]
        self.arrivals, self.start = plan["arrivals"], start
        self.epoll = select.epoll()
        self.open = {}          # {descriptor: (socket, its request(), when due)}, oldest first
        self.told = [[0, None] for _ in self.arrivals]
        self.errors, self.timeouts = collections.Counter(), 0

    def now(self):
        """Return the time."""
        return time.monotonic() - self.start

    def request(self, client, number):
        """Yield the event that the next step of a request needs, and take that step."""
        due, other = self.arrivals[number]
        self.told[number][0] = round(1e6 * (self.now() - due))
        client.connect_ex(self.address)
        yield select.EPOLLOUT       # the connection, or its failure, which send() raises
        client.send(self.texts[other])
        answer = bytearray()
        yield select.EPOLLIN
        while chunk := client.recv(65536):
            answer += chunk
            yield select.EPOLLIN
        if answer.startswith(b"HTTP/1.1 200 "):
            self.told[number][1] = round(1e6 * (self.now() - due))
        else:
            self.errors[bytes(answer[:12]).decode("latin-1") or "no answer"] += 1

    def begin(self, number):
        """Begin a request that is due now."""
        client = socket.socket()
        client.setblocking(False)
        steps = self.request(client, number)
        self.open[client.fileno()] = client, steps, self.arrivals[number][0]
        self.epoll.register(client.fileno(), next(steps))

    def step(self, descriptor):
        """Take the next step of a request, which may be its last."""
        client, steps, _ = self.open[descriptor]
        try:
            self.epoll.modify(descriptor, next(steps))
            return
        except StopIteration:
            pass
        except OSError as failed:
            self.errors[errno.errorcode.get(failed.errno, str(failed))] += 1
        self.end(descriptor)

    def end(self, descriptor):
        """Close a connection."""
        self.open.pop(descriptor)[0].close()    # which ends epoll's watch, too

    def give_up(self):
        """End the requests that are older than the time-out."""
        for descriptor, (_, _, due) in list(self.open.items()):
            if due + self.timeout > self.now():
                break
            self.timeouts += 1
            self.errors["timeout"] += 1
            self.end(descriptor)

    def run(self):
        """Make all requests, and wait until the last has its answer or is given up. select(2), on
        epoll's own descriptor, takes microseconds where epoll_wait(2) takes milliseconds."""
        number = 0
        while number < len(self.arrivals) or self.open:
            due = self.arrivals[number][0] if number < len(self.arrivals) else self.now() + 0.1
            select.select([self.epoll], [], [], max(0.0, min(due - self.now(), 0.1)))
            for descriptor, _ in self.epoll.poll(0):
                self.step(descriptor)
            while number < len(self.arrivals) and self.arrivals[number][0] <= self.now():
                self.begin(number)
                number += 1
            self.give_up()


def main(path):
    """Run the plan in the file `path`; print what it found."""
    with open(path, encoding="utf-8") as plan:
        clients = Clients(json.load(plan), time.monotonic() + AHEAD)
    gc.disable()                # its pauses would be taken for the server's
    clients.run()
    print(json.dumps({"requests": clients.told, "errors": clients.errors,
                      "timeouts": clients.timeouts, "seconds": clients.now()}))


if __name__ == "__main__":
    main(sys.argv[1])
