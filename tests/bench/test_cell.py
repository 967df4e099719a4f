"""One cell at a time, on servers that misbehave in a known way."""

import dataclasses
import os
import sys
from types import SimpleNamespace

import pytest

from bench import experiments, load, plan
from bench.machine.facts import Machine
from bench.run import cell as cells

CORES = frozenset(os.sched_getaffinity(0))
GUESTBOOK, ANSWER = experiments.all_experiments()[:2]

# Answers "42" on kept connections; DIE is what it does after 2,000 answers.
SERVER = """
import os, selectors, socket, sys, time
left = 2000
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=500)
ready = selectors.DefaultSelector()
ready.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in ready.select():
        if key.fileobj is listener:
            client = listener.accept()[0]
            ready.register(client, selectors.EVENT_READ)
            continue
        try:
            asked = key.fileobj.recv(4096)
        except ConnectionError:         # ab leaves in the middle of it
            asked = b""
        if asked:
            key.fileobj.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n"
                                b"Connection: keep-alive\\r\\n"
                                b"Content-Type: text/plain\\r\\n\\r\\n42")
            left -= 1
            if not left:
                DIE
        else:
            ready.unregister(key.fileobj)
            key.fileobj.close()
"""


def cell_of(die):
    """Return a cell with 10 clients for a server that ends with `die`."""
    server = SimpleNamespace(
        name="short-lived", kind="peer", has_workers=False, warm_up=0.0,
        start_seconds=10.0, problem=lambda: "", keep_alive=True,
        command=lambda start, port, folder: (
            [sys.executable, "-c", SERVER.replace("DIE", die), str(port)], folder))
    return plan.Cell(ANSWER, server, ANSWER.variants[0], 10)


@pytest.fixture(name="worker")
def make_worker():
    """A Runner whose rows are in `folder.rows`."""
    rows = []
    folder = SimpleNamespace(rows=rows, add=rows.append,
                             write_raw=lambda name, text: "raw/" + name)
    machine = Machine(frozenset({min(CORES)}), CORES, CORES, 1024)
    settings = SimpleNamespace(tool="", full=False, backlog=100)
    redis = SimpleNamespace(address="127.0.0.1:1", pid=None)
    return cells.Runner(settings, machine, redis, folder, None)


needs_ab = pytest.mark.skipif(bool(load.missing("ab")), reason="needs ab")


@needs_ab
@pytest.mark.parametrize("die, told", [("os.abort()", "SIGABRT"),
                                       ("sys.exit(3)", "exit code 3")])
def test_a_crash_is_told(die, told, worker):
    """By which signal or exit code; a rate until then is no rate."""
    row = worker.run(cell_of(die), 0.6)
    assert row["status"] == "crashed" and told in row["note"]
    assert row["limit"] == "crash"
    assert row["rate"] is row["cpu_us"] is row["server_busy"] is None
    assert row["requests"] > 100 and row["failed"] > 0
    assert told in worker.problems[0]


@needs_ab
def test_costs_are_divided_among_what_was_served(worker, monkeypatch):
    """A server that answered more than the load tool saw did it at a lower
    cost, and the row says so. One that stays is not said to have crashed."""
    cell = cell_of("pass")
    row = worker.run(cell, 0.4)
    assert row["status"] == "ok" and not row["note"]
    assert row["rate"] > 100 and row["server_busy"] <= 100
    monkeypatch.setattr(cells.servers.Live, "log", lambda _: (
        f"served {100 * row['requests']} requests on 1 connection; CPU 0"))
    other = worker.run(cell, 0.4)
    assert other["cpu_us"] < row["cpu_us"] / 10
    assert "fewer answers than the server gave" in other["note"]


def test_a_server_that_is_out_stays_out(worker):
    """One that answers wrongly is not started again and again."""
    wrong = dataclasses.replace(cell_of("pass"), experiment=GUESTBOOK)
    assert worker.run(wrong, 0.1)["status"] == "wrong answer"
    assert worker.run(wrong, 0.1)["status"] == "wrong answer"
    assert len(worker.problems) == 1 and len(worker.folder.rows) == 2
