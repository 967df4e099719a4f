"""User-space instructions of a request, counted by callgrind.

Instructions do not depend on how busy the machine is. What is counted is the
difference between a run with many requests and one with few, so that starting
and stopping do not count.
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
CROWD = 50              # clients at once, where each has a connection


@dataclass(frozen=True)
class Talk:
    """What a client asks for: `batch` requests at once, then it reads as many
    answers; all on one connection, or a new one for each batch."""

    path: str = "/answer"
    keep_alive: bool = True
    batch: int = 1

    def request(self):
        """Returns the bytes of one batch."""
        close = "" if self.keep_alive else "Connection: close\r\n"
        return (f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n"
                .encode() * self.batch)


def read_answer(stream):
    """Reads one whole answer: head, then Content-Length bytes."""
    status, length = stream.readline(), 0
    if not status.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"unexpected answer: {status!r}")
    while (line := stream.readline()) not in (b"\r\n", b""):
        if line.startswith(b"Content-Length: "):
            length = int(line.split()[1])
    if len(stream.read(length)) < length:
        raise RuntimeError("the server closed in the middle of an answer")


def talk_on_one_connection(port, talk, count):
    """Sends `count` requests one batch after the other, each after the answers
    to the one before."""
    with socket.create_connection(("127.0.0.1", port), 60) as connection, \
            connection.makefile("rb") as stream:
        for _ in range(count // talk.batch):
            connection.sendall(talk.request())
            for _ in range(talk.batch):
                read_answer(stream)


def stop(process):
    """Stops all processes of the server, which leads its group; returns when
    it has stopped."""
    os.killpg(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def talk_on_new_connections(port, talk, count, process):
    """Sends `count` requests, a batch on each connection. A crowd of clients
    connects and asks while the server is stopped, and closes when all have
    their answers: so the server never has to wait for one of them, or does
    always, whichever of the two programs has the better core."""
    clients = count // talk.batch
    for first in range(0, clients, CROWD):
        stop(process)
        crowd = [socket.create_connection(("127.0.0.1", port), 60)
                 for _ in range(min(CROWD, clients - first))]
        for client in crowd:
            client.sendall(talk.request())
        os.killpg(process.pid, signal.SIGCONT)
        for client in crowd:
            with client.makefile("rb") as stream:
                for _ in range(talk.batch):
                    read_answer(stream)
                stream.read()               # until the server closes
        for client in crowd:
            client.close()


def instructions(program, options, talk, count):
    """Runs one server under callgrind and returns all instructions that it and
    its children executed in user space while it served `count` requests."""
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
            ready = process.stdout.readline()
            found = re.search(r":(\d+)/", ready)
            if not found:
                raise RuntimeError(f"{program} did not start under valgrind")
            port = int(found.group(1))
            if talk.keep_alive:
                talk_on_one_connection(port, talk, count)
            else:
                talk_on_new_connections(port, talk, count, process)
        finally:
            process.send_signal(signal.SIGTERM)
            try:            # a stopped one sees nothing
                os.killpg(process.pid, signal.SIGCONT)
            except ProcessLookupError:
                pass        # it has ended by itself
            process.communicate(timeout=60)
        return sum(int(re.search(r"^(?:summary|totals): (\d+)",
                                 out.read_text(), re.MULTILINE).group(1))
                   for out in pathlib.Path(folder).iterdir())


def per_request(program, options, talk, few=FEW, many=MANY):
    """Returns the user-space instructions of one request (a float); `program`
    is the path of a server, `options` come behind those that are always
    given. Raises RuntimeError when an answer is not as it should be."""
    return (instructions(program, options, talk, many)
            - instructions(program, options, talk, few)) / (many - few)
