"""A proxy that makes Redis slow by a named time."""

import asyncio
import contextlib
import threading


def frames(data):
    """Return (lengths, rest): of the complete RESP messages in `data`.

    Commands and replies have the same form. `rest`: how many bytes at the
    end belong to a message that is not complete. Raises ValueError for bytes
    that are no RESP.
    """
    lengths, position = [], 0
    while (end := _frame(data, position)) is not None:
        lengths.append(end - position)
        position = end
    return lengths, len(data) - position


def _frame(data, position):
    """Return where the message that begins at `position` ends, or None."""
    newline = data.find(b"\r\n", position)
    if newline < 0:
        return None
    kind, text, end = data[position:position + 1], \
        data[position + 1:newline], newline + 2
    if kind == b"$":
        end += max(int(text), -2) + 2 if int(text) >= 0 else 0
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
    """Listens on `port`; passes commands on to Redis immediately.

    Each reply leaves `delay` seconds after its command arrived. `delay` may
    be changed while it runs. A context manager; it runs in a thread.
    """

    def __init__(self, redis_port, delay):
        self.delay = delay
        self.port = None
        self._redis_port = redis_port
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        server.close()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def _serve(self, reader, writer):
        due = []                        # when the replies may leave
        upstream, down = await asyncio.open_connection("127.0.0.1",
                                                       self._redis_port)
        tasks = [asyncio.ensure_future(self._commands(reader, down, due)),
                 asyncio.ensure_future(self._replies(upstream, writer, due))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            for end in (writer, down):
                with contextlib.suppress(OSError):
                    end.close()

    async def _commands(self, reader, down, due):
        data = b""
        while chunk := await reader.read(65536):
            now = self._loop.time()
            data += chunk
            lengths, rest = frames(data)
            data = data[len(data) - rest:]
            due += [now + self.delay] * len(lengths)
            down.write(chunk)
            await down.drain()

    async def _replies(self, upstream, writer, due):
        data = b""
        while chunk := await upstream.read(65536):
            data += chunk
            lengths, _ = frames(data)
            for length in lengths:
                left = due.pop(0) - self._loop.time()
                if left > 0:
                    await asyncio.sleep(left)
                writer.write(data[:length])
                data = data[length:]
            await writer.drain()
