"""User-space instructions of a request, counted by callgrind.

Instructions do not depend on how busy the machine is. The figure is the
difference between a run with many requests and one with few, so that starting
and stopping the server do not count.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass

TOP = pathlib.Path(__file__).resolve().parents[2]
FEW, MANY = 200, 1200
CROWD = 50              # clients together, where each has a connection


@dataclass(frozen=True)
class Talk:
    """What a client asks for: `batch` requests together, then it reads as many
    answers; all on one connection, or a new one for each batch."""

    path: str = "/answer"
    keep_alive: bool = True
    batch: int = 1

    def request(self):
        """Return the bytes of one batch."""
        close = "" if self.keep_alive else "Connection: close\r\n"
        return (f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n"
                .encode() * self.batch)

    def read(self, stream):
        """Read the answers to one batch. Raises RuntimeError."""
        for _ in range(self.batch):
            status, length = stream.readline(), 0
            if not status.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"unexpected answer: {status!r}")
            while (line := stream.readline()) not in (b"\r\n", b""):
                if line.startswith(b"Content-Length: "):
                    length = int(line.split()[1])
            if len(stream.read(length)) < length:
                raise RuntimeError("the server closed within an answer")


def talk_on_one_connection(port, talk, batches):
    """Send each batch after the answers to the one before."""
    with socket.create_connection(("127.0.0.1", port), 60) as connection, \
            connection.makefile("rb") as stream:
        for _ in range(batches):
            connection.sendall(talk.request())
            talk.read(stream)


def talk_on_new_connections(port, talk, batches, process):
    """Send each batch on its own connection. A crowd of clients connects and
    asks while the server is stopped, and closes when all have their answers.
    So it does not depend on the cores whether the server waits for a client:
    it never does."""
    for first in range(0, batches, CROWD):
        os.killpg(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        crowd = [socket.create_connection(("127.0.0.1", port), 60)
                 for _ in range(min(CROWD, batches - first))]
        for client in crowd:
            client.sendall(talk.request())
        os.killpg(process.pid, signal.SIGCONT)
        for client in crowd:
            with client.makefile("rb") as stream:
                talk.read(stream)
                stream.read()               # until the server closes
        for client in crowd:
            client.close()


def instructions(program, options, talk, count):
    """Run one server under callgrind; return the instructions that it and its
    children executed in user space while it served `count` requests."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            ["valgrind", "--tool=callgrind",
             f"--callgrind-out-file={folder}/callgrind.%p",
             # A forked child begins with the count of its parent.
             "--zero-before=signals_in_child",
             str(program), "--port", "0", "--root", str(TOP),
             "--redis", "none", *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True)
        try:
            found = re.search(r":(\d+)/", process.stdout.readline())
            if not found:
                raise RuntimeError(f"{program} did not start under valgrind")
            port, batches = int(found[1]), count // talk.batch
            if talk.keep_alive:
                talk_on_one_connection(port, talk, batches)
            else:
                talk_on_new_connections(port, talk, batches, process)
        finally:
            process.send_signal(signal.SIGTERM)
            try:            # a stopped one does not see it
                os.killpg(process.pid, signal.SIGCONT)
            except ProcessLookupError:
                pass        # it has ended by itself
            process.communicate(timeout=60)
        return sum(int(re.search(r"^(?:summary|totals): (\d+)",
                                 out.read_text(), re.MULTILINE).group(1))
                   for out in pathlib.Path(folder).iterdir())


def per_request(program, options, talk, few=FEW, many=MANY):
    """Return the user-space instructions of one request, a float. `options` of
    the server `program` come after those that are always given. Raises
    RuntimeError for a wrong answer."""
    return (instructions(program, options, talk, many)
            - instructions(program, options, talk, few)) / (many - few)
