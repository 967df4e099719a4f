#!/usr/bin/env python3
"""A crowd of slow clients: each sends a byte of its request now and then.

    crowd.py HOST PORT CLIENTS INTERVAL

Connects CLIENTS clients, each of which sends one byte of a head without end
every INTERVAL seconds, spread evenly, until the server ends its connection.
Prints `ready` when all have connected and sent their first byte. When all have
been ended, or standard input is closed, prints one line of JSON:

    {"clients": 2000, "refused": 2000, "cut": 0, "reset": 0, "left": 0,
     "shortest": 10.01, "longest": 10.05}

refused: were answered 408; cut: were closed without it; reset: of these two, were
reset; left: still there; shortest and longest: seconds from the first byte until a
client's end.

A process of its own, so that the crowd's work is not measured as the server's
slowness.
"""

import heapq
import json
import os
import select
import socket
import subprocess
import sys
import time

HEAD = b"GET /answer HTTP/1.1\r\nHost: slow\r\nX-Slow: "


class Crowd:
    """Runs crowd.py as a process; `finish()` returns its figures."""

    def __init__(self, address, clients, interval):
        self._process = subprocess.Popen(
            [sys.executable, __file__, address[0], str(address[1]),
             str(clients), str(interval)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_until_ready(self):
        """Wait until all clients have sent their first byte."""
        line = self._process.stdout.readline()
        assert line == "ready\n", f"crowd.py: {line!r}"

    def is_gone(self):
        """Whether the server has ended every client of it."""
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def finish(self, go_away=False):
        """Wait until every client has been ended (with `go_away`: not any
        longer) and return the figures, as a dictionary."""
        if go_away:
            self._process.stdin.close()
        try:
            return json.loads(self._process.stdout.readline())
        finally:
            self.end()

    def end(self):
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._process.stdin.close()


class SlowClient:
    """One of the crowd."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setblocking(False)
        self.sent = 0
        self.began = 0.0
        self.said = b""
        self.was_reset = False

    def send_byte(self):
        """Send the next byte; False if the server has closed."""
        byte = HEAD[self.sent:self.sent + 1] or b"y"
        try:
            self.socket.send(byte)
        except BlockingIOError:
            return True
        except OSError as error:
            self.was_reset |= isinstance(error, ConnectionResetError)
            return False
        self.sent += 1
        self.began = self.began or time.monotonic()
        return True

    def is_over(self):
        """Read what the server says; whether it has closed."""
        try:
            data = self.socket.recv(4096)
        except BlockingIOError:
            return False
        except OSError as error:
            self.was_reset |= isinstance(error, ConnectionResetError)
            return True
        self.said += data
        return not data


def main():
    host, port, count, interval = (
        sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
    epoll = select.epoll()
    clients, due, spans = {}, [], []
    refused = reset = 0
    for i in range(count):
        client = SlowClient((host, port))
        client.send_byte()
        clients[client.socket.fileno()] = client
        epoll.register(client.socket, select.EPOLLIN)
        due.append((time.monotonic() + interval * (i + 1) / count,
                    client.socket.fileno()))
    heapq.heapify(due)
    epoll.register(sys.stdin, select.EPOLLIN)
    print("ready", flush=True)

    def end(number):
        nonlocal refused, reset
        client = clients.pop(number)
        reset += client.was_reset
        refused += client.said.startswith(b"HTTP/1.1 408 ")
        spans.append(time.monotonic() - client.began)
        client.socket.close()

    stay = True
    while clients and stay:
        pause = max(0.0, due[0][0] - time.monotonic()) if due else 1
        for number, _ in epoll.poll(pause):
            if number == sys.stdin.fileno():
                stay = bool(os.read(number, 1))
            elif number in clients and clients[number].is_over():
                end(number)
        while due and due[0][0] <= time.monotonic():
            when, number = heapq.heappop(due)
            if number not in clients:
                continue
            if clients[number].send_byte():
                heapq.heappush(due, (when + interval, number))
            else:
                end(number)
    print(json.dumps({
        "clients": count, "refused": refused, "cut": len(spans) - refused,
        "reset": reset, "left": len(clients),
        "shortest": round(min(spans), 3) if spans else None,
        "longest": round(max(spans), 3) if spans else None}), flush=True)


if __name__ == "__main__":
    main()
