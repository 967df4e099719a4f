"""The slow application behind a program that is recorded: each answer leaves after a delay."""

import asyncio
import contextlib
import threading

from tools.kit import process, wait

PATIENCE = 10       # seconds until it listens
REPLY = (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
         b"Connection: close\r\n\r\npage\n")


class Backend:
    """Listens on `port` of 127.0.0.1 and answers each request after `delay` seconds, which may be
    changed while it runs: a context manager. It runs in a thread."""

    def __init__(self, delay):
        self.port, self.delay = 0, delay
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete,
                                        args=(self._serve(),), daemon=True)

    def __enter__(self):
        process.start(self._thread)
        if not wait.until(lambda: self.port, PATIENCE):
            raise OSError("the slow application does not listen")
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self):
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=1024)
        async with server:
            self.port = server.sockets[0].getsockname()[1]
            await self._over.wait()

    async def _answer(self, reader, writer):
        with contextlib.suppress(OSError, EOFError):
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(self.delay)
            writer.write(REPLY)
            await writer.drain()
        writer.close()
