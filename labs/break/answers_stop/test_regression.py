"""A client that sends its requests in one piece gets its answers without a
pause: the server does not sleep while requests are there."""

import re
import select
from pathlib import Path

from labs.grade.client import Client
from labs.grade.observe import Seen, is_read, state

REQUESTS = 2000
STEP = 0.1          # seconds of silence, after which we look at the server
SILENCES = 600      # in a row; a busy machine may need some


def look(server, client):
    """Return whether the server sleeps although it has not read all that the
    client sent, and how often it has slept until now."""
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
    return (state(server.pid) == "S" and
            not is_read(server.port, client.sock.getsockname()[1]),
            re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status,
                      re.MULTILINE)[1])


def test_answers_all_that_came_together(server):
    one = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers, last, silences = b"", None, 0
    with Client(server.port) as client:
        client.send(one * REQUESTS)
        while (answered := answers.count(b"HTTP/1.1 200")) < REQUESTS:
            if select.select([client.sock], [], [], STEP)[0]:
                got = client.sock.recv(1 << 20)
                if not got:
                    raise Seen(f"{answered} answers, then the end",
                               f"{REQUESTS} answers to {REQUESTS} requests")
                answers, last, silences = answers + got, None, 0
                continue
            now, silences = look(server, client), silences + 1
            # Twice the same: it has slept from the first look to the second.
            if now[0] and now == last:
                raise Seen(f"{answered} answers; then the server sleeps "
                           "although it has not read all requests",
                           f"{REQUESTS} answers to {REQUESTS} requests")
            if silences == SILENCES:
                raise Seen(f"{answered} answers, then nothing",
                           f"{REQUESTS} answers to {REQUESTS} requests")
            last = now
