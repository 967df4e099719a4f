#!/usr/bin/env python3
"""Guards what a request costs: user-space instructions, counted by callgrind.

Instructions do not depend on how busy the machine is, so a test can compare
them: for the keep-alive and the one-shot path of three servers (one blocking
process, one blocking thread of a pool, one event loop) the count must not grow
by more than 5 % over the figure in instructions.json, unless that figure is
changed in the same commit:

    tests/cost/instructions.py --update

What is counted is the difference between a run with many requests and one with
few, so that starting and stopping do not count.
"""
import argparse
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
FIGURES = HERE / "instructions.json"
ALLOWED_GROWTH = 1.05
FEW, MANY = 200, 1200

SERVERS = {
    "iterative": [],
    "prethreaded": ["--threads", "1"],
    "epoll": [],
}
REQUESTS = {
    "keep-alive": b"GET /answer HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "one-shot": b"GET /answer HTTP/1.1\r\nHost: localhost\r\n"
                b"Connection: close\r\n\r\n",
}


def read_answer(connection):
    """Reads one whole answer: head, then Content-Length bytes."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise RuntimeError("the server closed before it had answered")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"unexpected answer: {head[:60]!r}")
    length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            raise RuntimeError("the server closed in the middle of an answer")
        body += piece


def send_requests(port, path, count):
    """Sends `count` requests one after the other, each after the answer to the
    one before, on one connection (keep-alive) or on one each (one-shot)."""
    if path == "keep-alive":
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            for _ in range(count):
                connection.sendall(REQUESTS[path])
                read_answer(connection)
    else:
        for _ in range(count):
            with socket.create_connection(("127.0.0.1", port), 60) as connection:
                connection.sendall(REQUESTS[path])
                read_answer(connection)


def instructions(server, options, path, count):
    """Runs one server under callgrind and returns all instructions that it
    executed in user space while it served `count` requests."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "callgrind.out")
        process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
             str(TOP / server), "--port", "0", "--redis", "none", *options],
            cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True)
        try:
            ready = process.stdout.readline()
            port = int(re.search(r":(\d+)/", ready).group(1))
            send_requests(port, path, count)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(),
                             re.MULTILINE).group(1))


def measure():
    """Returns {"epoll keep-alive": instructions per request, ...}."""
    figures = {}
    for server, options in SERVERS.items():
        for path in REQUESTS:
            few = instructions(server, options, path, FEW)
            many = instructions(server, options, path, MANY)
            figures[f"{server} {path}"] = round((many - few) / (MANY - FEW))
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true",
                        help="write what is measured to instructions.json")
    arguments = parser.parse_args()
    measured = measure()
    if arguments.update:
        FIGURES.write_text(json.dumps(measured, indent=2) + "\n")
    committed = json.loads(FIGURES.read_text())
    failed = 0
    for name, now in measured.items():
        before = committed[name]
        fine = now <= before * ALLOWED_GROWTH
        failed += not fine
        print(f"{'ok' if fine else 'FAILED':6} {name:24} {now:6} instructions "
              f"per request, {now / before:.3f} of the committed {before}")
    print(f"{len(measured) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
