"""A program whose waits are known, and the clients and Redis that it needs.

    scripted.py REDIS_PORT CYCLES RESULT

waits for SIGUSR1. In each cycle it accepts a client, waits for its byte, for
Redis, for a lock, and uses the CPU. RESULT then gets, as JSON, how many
seconds each took by its own clock, and when it began and ended (Unix time).
"""

import collections
import json
import os
import signal
import socket
import sys
import threading
import time

# Seconds of each wait in one cycle, a tenth of a slow server's.
ACCEPT, CLIENT, REDIS, LOCK, CPU = 0.1, 0.05, 0.03, 0.02, 0.02


def main(redis_port, cycles, result):
    """Be the program."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    listener = socket.create_server(("127.0.0.1", 0))
    redis = socket.create_connection(("127.0.0.1", int(redis_port)))
    lock, (read, write) = threading.Lock(), os.pipe()
    lock.acquire()
    threading.Thread(target=unlock, args=(lock, read), daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    signal.sigwait({signal.SIGUSR1})
    begin, spent = time.time(), collections.Counter()
    for _ in range(int(cycles)):
        cycle(listener, redis, lock, write, spent)
    with open(result + ".part", "w", encoding="ascii") as file:
        json.dump({"begin": begin, "end": time.time(), **spent}, file)
    os.rename(result + ".part", result)
    signal.sigwait({signal.SIGUSR1})


def cycle(listener, redis, lock, write, spent):
    """Wait for one thing after the other; add up how long."""
    times = [time.monotonic()]
    client, _ = listener.accept()
    times.append(time.monotonic())
    client.recv(1)
    times.append(time.monotonic())
    redis.send(b"?")
    redis.recv(1)
    times.append(time.monotonic())
    os.write(write, b"!")
    lock.acquire()
    times.append(time.monotonic())
    end = time.thread_time() + CPU
    while time.thread_time() < end:
        pass
    client.close()
    times.append(time.monotonic())
    for kind, begin, end in zip(("idle", "client", "redis", "lock", "run"),
                                times, times[1:]):
        spent[kind] += end - begin


def unlock(lock, read):
    """The other thread: lets the lock go a time after each byte."""
    while os.read(read, 1):
        time.sleep(LOCK)
        lock.release()


class World(threading.Thread):
    """Clients and Redis of the program. `ports`: of the clients, in order."""

    def __init__(self, cycles):
        super().__init__(daemon=True)
        self.redis = socket.create_server(("127.0.0.1", 0))
        self.redis_port = self.redis.getsockname()[1]
        self.cycles, self.address, self.ports = cycles, None, []
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self):
        connection, _ = self.redis.accept()
        while connection.recv(1):
            time.sleep(REDIS)
            connection.send(b".")

    def run(self):
        for _ in range(self.cycles):
            time.sleep(ACCEPT)
            with socket.create_connection(self.address) as client:
                self.ports.append(client.getsockname()[1])
                time.sleep(CLIENT)
                client.send(b"!")
                client.recv(1)


def command(world, cycles, result):
    """Return the words that start the program."""
    return [sys.executable, __file__, str(world.redis_port), str(cycles),
            str(result)]


def play(server, world, result):
    """Let it run to its end; return what it says. `server`: a lab.Server."""
    world.address = server.address
    world.start()
    os.kill(server.pid, signal.SIGUSR1)
    limit = time.monotonic() + 120
    while not os.path.exists(result):
        assert time.monotonic() < limit
        time.sleep(0.01)
    with open(result, encoding="ascii") as file:
        return json.load(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
