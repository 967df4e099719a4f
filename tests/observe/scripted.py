"""A program whose waits are known, and the clients and Redis that it needs.

    python3 -m tests.observe.scripted REDIS_PORT CYCLES RESULT

waits for SIGUSR1. In each cycle it accepts a client, waits for its byte, for
Redis, for a lock, and uses the CPU until SIGUSR2. RESULT then gets, as JSON, what
each wait was and when it began and ended by its own clock (Unix time).
"""

import json
import os
import signal
import socket
import sys
import threading
import time

from tools.observe.watch import proc

# Seconds of each wait in one cycle, a tenth of a slow server's.
PAUSES = {"idle": 0.1, "client": 0.05, "redis": 0.03, "lock": 0.02, "run": 0.02}
BYTES = {b"?": "redis", b"!": "lock", b"+": "run"}


def main(redis_port, cycles, result):
    """Be the program."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    enough = []                 # CPU time: the handler says so
    signal.signal(signal.SIGUSR2, lambda *_: enough.append(True))
    listener = socket.create_server(("127.0.0.1", 0))
    redis, other = (socket.create_connection(("127.0.0.1", int(redis_port)))
                    for _ in range(2))
    lock = threading.Lock()
    lock.acquire()
    threading.Thread(target=unlock, args=(lock, other), daemon=True).start()
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    signal.sigwait({signal.SIGUSR1})
    waits = []
    for _ in range(int(cycles)):
        cycle(listener, redis, lock, other, enough, waits)
    with open(result + ".part", "w", encoding="ascii") as file:
        json.dump(waits, file)
    os.rename(result + ".part", result)
    signal.sigwait({signal.SIGUSR1})


def cycle(listener, redis, lock, other, enough, waits):
    """Wait for one thing after the other; add [kind, begin, end] of each."""
    times = [time.time()]
    client, _ = listener.accept()
    times.append(time.time())
    client.recv(1)
    times.append(time.time())
    redis.send(b"?")
    redis.recv(1)
    times.append(time.time())
    other.send(b"!")
    lock.acquire()
    times.append(time.time())
    redis.send(b"+")
    while not enough:
        pass
    enough.clear()
    client.close()
    times.append(time.time())
    waits += zip(PAUSES, times, times[1:])


def unlock(lock, other):
    """The other thread: releases the lock at each byte."""
    while other.recv(1):
        lock.release()


class World(threading.Thread):
    """Clients and Redis of the program.

    `pause(seconds)`: what makes the program wait. It is called when the program
    sleeps, so that on a slow machine, too, no wait is shorter. `ports`: of the
    clients, in order.
    """

    def __init__(self, cycles, pause=time.sleep):
        super().__init__(daemon=True)
        self.redis = socket.create_server(("127.0.0.1", 0))
        self.redis_port = self.redis.getsockname()[1]
        self.cycles, self.pause = cycles, pause
        self.address = self.pid = None
        self.ports = []
        for _ in range(2):
            threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self):
        connection, _ = self.redis.accept()
        while byte := connection.recv(1):
            kind = BYTES[byte]
            self._wait(kind)
            if kind == "run":
                os.kill(self.pid, signal.SIGUSR2)
            else:
                connection.send(b".")

    def _wait(self, kind):
        while kind != "run" and proc.letter(self.pid, self.pid) not in "SZ":
            time.sleep(0.001)
        self.pause(PAUSES[kind])

    def run(self):
        for _ in range(self.cycles):
            self._wait("idle")
            with socket.create_connection(self.address) as client:
                self.ports.append(client.getsockname()[1])
                self._wait("client")
                client.send(b"!")
                client.recv(1)


def command(world, cycles, result):
    """Return the words that start the program."""
    return [sys.executable, "-m", "tests.observe.scripted",
            str(world.redis_port), str(cycles), str(result)]


def play(server, world, result):
    """Let it run to its end; return its waits. `server`: a lab.Server."""
    world.address, world.pid = server.address, server.pid
    world.start()
    os.kill(server.pid, signal.SIGUSR1)
    limit = time.monotonic() + 240
    while not os.path.exists(result):
        assert time.monotonic() < limit
        time.sleep(0.01)
    with open(result, encoding="ascii") as file:
        return json.load(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
