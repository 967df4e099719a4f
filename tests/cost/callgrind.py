"""User-space instructions of a request, counted by callgrind.

Instructions do not depend on how busy the machine is. The figure is the
difference between a run with many requests and one with few, so that starting
and stopping the server do not count.
"""

import functools
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass

TOP = pathlib.Path(__file__).resolve().parents[2]
CROWD = 50              # clients together, where each has a connection


@dataclass(frozen=True)
class Talk:
    """What a client asks for: all on one connection, or each on a new one."""

    path: str = "/answer"
    keep_alive: bool = True

    def ask(self, connection):
        """Send one request."""
        close = "" if self.keep_alive else "Connection: close\r\n"
        connection.sendall(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n".encode())


def read_answer(connection):
    """Read one answer. Raises RuntimeError, and OSError when there is none."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"unexpected answer: status {answer.status}")


def talk_on_new_connections(address, talk, count, process):
    """Send each request on its own connection. A crowd of clients connects and asks while
    the server is stopped, and closes when all have their answers. So it does not depend on
    the cores whether the server waits for a client: it never does."""
    for first in range(0, count, CROWD):
        os.killpg(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        crowd = [socket.create_connection(address, 60) for _ in range(min(CROWD, count - first))]
        for client in crowd:
            talk.ask(client)
        os.killpg(process.pid, signal.SIGCONT)
        for client in crowd:
            read_answer(client)
            client.recv(1)                  # until the server closes
        for client in crowd:
            client.close()


@functools.cache
def preloaded():
    """Return the environment that gives a program the calls valgrind does not know:
    openat2.c is compiled. Raises OSError if it cannot be."""
    library = TOP / "build/cost/openat2.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).with_name("openat2.c")
    done = subprocess.run(["gcc", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o", library,
                           source], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"cannot compile {source}: {done.stderr}")
    return os.environ | {"LD_PRELOAD": str(library)}


def instructions(program, options, talk, count):
    """Run one server under callgrind; return the instructions that it and its
    children executed in user space while it served `count` requests."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.%p",
             # A forked child begins with the count of its parent.
             "--zero-before=signals_in_child", str(program), "--port", "0", "--root", str(TOP),
             "--redis", "none", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, start_new_session=True, env=preloaded())
        try:
            found = re.search(r":(\d+)/", process.stdout.readline())
            if not found:
                raise RuntimeError(f"{program} did not start under valgrind")
            address = "127.0.0.1", int(found[1])
            if talk.keep_alive:
                with socket.create_connection(address, 60) as connection:
                    for _ in range(count):
                        talk.ask(connection)
                        read_answer(connection)
            else:
                talk_on_new_connections(address, talk, count, process)
        finally:
            os.killpg(process.pid, signal.SIGCONT)  # it may be stopped
            process.terminate()
            process.communicate(timeout=60)
        totals = [re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)[1]
                  for out in pathlib.Path(folder).iterdir()]
        return sum(map(int, totals))


def per_request(program, options, talk, few=200, many=1200):
    """Return the user-space instructions of one request, a float, from runs with `few` and
    `many`. `options` of the server `program` come after those that are always given. Raises
    RuntimeError for a wrong answer, and OSError."""
    return (instructions(program, options, talk, many)
            - instructions(program, options, talk, few)) / (many - few)
