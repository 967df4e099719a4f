"""Clients: a burst, and four kinds that make a server wait."""

import asyncio
import contextlib
import socket
import time
from dataclasses import dataclass

from tools.kit import client


@dataclass(frozen=True)
class Client:
    """One client of a burst."""

    number: int
    port: int           # its own
    begin: float        # Unix time in seconds
    end: float
    status: int         # of the answer, 0 without one


@dataclass(frozen=True)
class Exchange:
    """What a client of a burst sends, and what it makes of the answer."""

    text: bytes
    status: object      # of the whole answer (bytes): 200, another one, 0 for none


def request(path):
    """Return the bytes of a GET request that ends its connection."""
    return client.request(path, fields=["Connection: close"])


def page(path):
    """Return the Exchange of a client that wants a page."""
    return Exchange(request(path), _status)


def burst(address, count, exchange, on_connect=lambda port: None, limit=30, pause=0.0):
    """Let `count` clients ask together; return their Clients. All connect at the same time;
    `on_connect` gets the port of each. Every second one asks `pause` seconds later. After `limit`
    seconds those that have no answer give up."""
    async def together():
        return await asyncio.gather(*(
            _one(number, address, exchange, on_connect, limit, pause * (number % 2))
            for number in range(1, count + 1)))
    return asyncio.run(together())


async def _one(number, address, exchange, on_connect, limit, pause):
    begin, port, answer = time.time(), 0, b""
    try:
        async with asyncio.timeout(limit):
            reader, writer = await asyncio.open_connection(*address)
            port = writer.get_extra_info("sockname")[1]
            with contextlib.closing(writer):
                on_connect(port)
                await asyncio.sleep(pause)
                writer.write(exchange.text)
                answer = await reader.read()
    except (OSError, TimeoutError):
        pass
    return Client(number, port, begin, time.time(), exchange.status(answer))


def _status(answer):
    """Return the status of an answer, 0 if it is none or has been cut."""
    status, headers, size = client.head(answer) or (0, {}, 0)
    body = len(answer) - size
    return status if body == int(headers.get("content-length", body)) else 0


async def ask(address, path, limit=30.0):
    """Return how many seconds one request takes; `limit` when it fails."""
    begin = time.monotonic()
    one = await _one(1, address, page(path), lambda port: None, limit, 0)
    return time.monotonic() - begin if one.status else limit


async def trouble(kind, address, path, seconds):
    """Be a client that makes the server wait, for `seconds`. "normal": asks and reads; "again": the
    same, again and again. "half": sends half a request. "silent": only connects. "slow": asks for
    `path` and reads 1 KiB every 100 ms."""
    if kind == "again":
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await ask(address, path, left)
        return
    with socket.socket() as connection:
        connection.setblocking(False)
        # Small, so that the kernel cannot take the answer instead of us.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                await loop.sock_connect(connection, address)
                await _be(kind, loop, connection, request(path))
        except (OSError, TimeoutError):
            pass


async def _be(kind, loop, connection, text):
    if kind == "silent":
        await asyncio.sleep(3600)
    if kind == "half":
        await loop.sock_sendall(connection, text[:len(text) // 2])
        await asyncio.sleep(3600)
    await loop.sock_sendall(connection, text)
    while await loop.sock_recv(connection, 1024 if kind == "slow" else 65536):
        if kind == "slow":
            await asyncio.sleep(0.1)
