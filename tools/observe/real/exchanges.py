"""What a client sends to each kind of program, and whether the answer is the one it wants.

A client sends all of it together and reads until the program hangs up.
"""

import struct

from tools.kit.redis import command
from tools.observe.clients import Exchange, page

COMPUTE_MS = 20         # of server.js; about as long as the loop below takes
# It counts: in newer releases of Redis, the time stands still while a script runs.
COMPUTE = "local n = 0 for i = 1, 2000000 do n = n + i end return 'computed'"


def redis():
    """Return the Exchange that has Redis compute."""
    return Exchange(command("EVAL", COMPUTE, 0) + command("QUIT"),
                    lambda answer: 200 if answer == b"$8\r\ncomputed\r\n+OK\r\n" else 0)


def postgres(seconds):
    """Return the Exchange of a query that sleeps (PostgreSQL's manual, "Message Formats")."""
    def message(kind, body):
        return kind + struct.pack("!I", len(body) + 4) + body
    start = message(b"", struct.pack("!I", 3 << 16) + b"user\0postgres\0database\0postgres\0\0")
    query = message(b"Q", f"SELECT 'slept' FROM pg_sleep({seconds:.3f})".encode() + b"\0")
    return Exchange(start + query + message(b"X", b""),
                    lambda answer: 200 if b"slept" in answer else 0)


def of(kind, delay):
    """Return the Exchange that a program's `ask` names; `delay`: seconds of what sleeps."""
    return {"http": lambda: page("/"), "http-compute": lambda: page("/compute"),
            "redis": redis, "postgres": lambda: postgres(delay)}[kind]()
