"""What runs on a host of a fleet: it calls the functions that a session names.

    python3 -m tools.bench agent      (started over ssh, see tools/fleet/hosts.py)

A message on standard input is a pair (function, arguments), pickled. Both sides have the same
sources, so a function is sent by its name. What it returns or raises goes to standard output;
while it runs it may ask() the session.
"""

import contextlib
import os
import platform
import time
import traceback
from multiprocessing.connection import Connection

from tools.kit import process

LOOK = 0.5          # seconds between two looks at whether the session is there

# What a function leaves open on this host until the session has gone.
kept = contextlib.ExitStack()
_line = {}          # "in" from the session, "out" to it


class Gone(BaseException):
    """The session has gone: end all, whatever it is."""


def main(_words):
    """Serve a session until it has gone; return 0."""
    _line.update({"in": Connection(os.dup(0), writable=False),
                  "out": Connection(os.dup(1), readable=False)})
    # What a program prints must not get between the answers.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with contextlib.suppress(Gone), kept:
        try:
            while True:
                _send(*_answer(*_receive()))
        finally:
            process.end_all()
    return 0


def _answer(function, args):
    """Return ("returned", value) or ("raised", error) of a call."""
    try:
        return "returned", function(*args)
    except Exception as error:      # pylint: disable=broad-exception-caught
        error.add_note(f"on {platform.node()}:\n{traceback.format_exc()}")
        return "raised", error


def _receive():
    """Return the next message of the session. Raises Gone."""
    try:
        return _line["in"].recv()
    except (EOFError, ConnectionError):
        raise Gone from None


def _send(kind, value):
    """Send the session a pair. Raises Gone."""
    try:
        _line["out"].send((kind, value))
    except OSError:
        raise Gone from None


def ask(*question, tick=None):
    """Return what the session answers to `question`, or raise what it says. `tick()` is called
    while it waits; it returns when it wants to be called again (seconds of time.monotonic). Raises
    Gone."""
    _send("asks", question)
    due = 0.0
    while not _line["in"].poll(min(LOOK, max(0.0, due))):
        due = tick() - time.monotonic() if tick else LOOK
    kind, value = _receive()
    if kind == "raised":
        raise value
    return value


def still_there():
    """A `tick` for whatever takes long: return when to call it again. Raises Gone: the session
    sends nothing while it waits for an answer, so what can be read now is the end."""
    if _line["in"].poll():
        raise Gone
    return time.monotonic() + LOOK
