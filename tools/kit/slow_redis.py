"""A proxy that makes Redis slow by a named time."""

import collections
import contextlib
import socket
import threading
import time

from tools.kit import process


def frames(data):
    """Return the lengths of the complete RESP messages at the beginning of `data`. Commands and
    replies have the same form. Raises ValueError for bytes that are no RESP."""
    lengths, position = [], 0
    while (end := _frame(data, position)) is not None:
        lengths.append(end - position)
        position = end
    return lengths


def _frame(data, position):
    """Return where the message that begins at `position` ends, or None."""
    newline = data.find(b"\r\n", position)
    if newline < 0:
        return None
    kind, text, end = data[position:position + 1], data[position + 1:newline], newline + 2
    if kind == b"$":
        end += int(text) + 2 if int(text) >= 0 else 0
        return end if end <= len(data) else None
    if kind == b"*":
        for _ in range(int(text)):
            end = _frame(data, end)
            if end is None:
                return None
        return end
    if kind not in (b"+", b"-", b":"):
        raise ValueError(f"no RESP: {data[position:position + 20]!r}")
    return end


class SlowRedis:
    """Listens on `port`; passes commands on to Redis immediately. Each reply leaves `delay` seconds
    after its command arrived. `delay` may be changed while it runs. A context manager; it runs in
    threads."""

    def __init__(self, redis_port, delay):
        self.delay = delay
        self._redis = "127.0.0.1", redis_port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]

    def __enter__(self):
        process.start(threading.Thread(target=self._accept, daemon=True))
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):      # the listener is shut down
            while True:
                near, _ = self._listener.accept()
                far, due = socket.create_connection(self._redis), collections.deque()
                for words in ((near, far, lambda due=due: due.append(
                                  time.monotonic() + self.delay)),
                              (far, near, lambda due=due: time.sleep(max(
                                  0, due.popleft() - time.monotonic())))):
                    threading.Thread(target=_pass, args=words, daemon=True).start()


def _pass(source, sink, before_each):
    """Pass messages on until the end, each after `before_each`()."""
    sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    with contextlib.suppress(OSError, ValueError):
        while chunk := source.recv(65536):
            data += chunk
            for length in frames(data):
                before_each()
                sink.sendall(data[:length])
                data = data[length:]
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
