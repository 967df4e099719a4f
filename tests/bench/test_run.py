"""Cells, children, rounds and the network: the parts of the loop."""

import dataclasses
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.bench.made_up import KNOWN
from tools.bench import load, peers, plan
from tools.bench.machine.facts import Machine
from tools.bench.run import cell as cells
from tools.kit import TOP, netns, process, procfs, servers

CORES = frozenset(os.sched_getaffinity(0))
GUESTBOOK, ANSWER, HELLO = KNOWN["guestbook"], KNOWN["answer"], KNOWN["hello"]

# Answers "42" on kept connections; DIE is what it does after 60 answers.
SERVER = """
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version, left = "HTTP/1.1", 60
    def do_GET(self):
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n"
                         b"Connection: keep-alive\\r\\n"
                         b"Content-Type: text/plain\\r\\n\\r\\n42")
        Answer.left -= 1
        if not Answer.left:
            DIE
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


def cell_of(die):
    """Return a cell with 10 clients for a server that ends with `die`."""
    server = SimpleNamespace(
        name="short-lived", kind="peer", has_loops=False, metered=True, warm_up=0.0, model=None,
        reuses=False,
        start_seconds=10.0, problem=str, keep_alive=True, command=lambda start, port, folder: (
            [sys.executable, "-c", SERVER.replace("DIE", die), str(port)], folder))
    return plan.Cell(ANSWER, server, ANSWER.variants[0], 10)


@pytest.fixture(name="worker")
def make_worker():
    """A Runner whose rows are in `folder.rows`."""
    rows = []
    folder = SimpleNamespace(rows=rows, add=rows.append, write_raw=lambda name, text: name)
    machine = Machine(frozenset({min(CORES)}), CORES, CORES, 1024)
    settings = SimpleNamespace(tool="", full=False, backlog=100)
    redis = SimpleNamespace(address="127.0.0.1:1", pid=None)
    return cells.Runner(settings, machine, redis, folder)


def test_a_peer_whose_port_another_program_took_is_not_ready(tmp_path, monkeypatch):
    peer = cell_of("pass").server
    peer.command = lambda start, port, folder: (["sleep", "60"], folder)
    peer.start_seconds = 0.2
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        monkeypatch.setattr(process, "free_port", lambda: theirs.getsockname()[1])
        with pytest.raises(servers.ServerError, match="not ready"):
            with servers.running(peer, servers.Start(cores=CORES), str(tmp_path / "log")):
                pass


@pytest.mark.parametrize("name", ["preforking", "prethreaded"])
def test_every_worker_of_a_pool_has_served_before_the_load(name, worker, tmp_path):
    """Each has slept in accept(2) once more than before, at least."""
    def sleeps(live):
        return {(one.pid, thread): int(procfs.find(
            r"^voluntary_ctxt_switches:\s*(\d+)", f"/proc/{one.pid}/task/{thread}/status"))
                for one in procfs.tree(live.pid) for thread in procfs.threads(one.pid)}

    server = servers.named(name)
    with servers.running(server, servers.Start(cores=CORES), str(tmp_path / "log")) as live:
        before = sleeps(live)
        worker._warm_up(plan.Cell(ANSWER, server, ANSWER.variants[0], 10), live)
        now = sleeps(live)
    still = [one for one in now if now[one] == before[one]]
    assert len(now) > 100 and len(still) <= 1       # the parent, or the thread for signals
    assert live.served == 0                         # the warm-up is not the load's


@pytest.mark.parametrize("name", ["prethreaded", "epoll"])
def test_a_variant_is_warmed_as_its_server(name):
    ours, variant = servers.named(name), peers.Peer(f"{name}-deferred")
    assert (variant.model, variant.reuses, variant.at_a_time) == (
        ours.model, ours.reuses, ours.at_a_time)


def test_what_a_server_keeps_for_clients_is_there_before_the_load(worker, tmp_path):
    """04 has touched the memory of its slots: as many clients again cause fewer page faults, those
    of their threads. Where connections are held open, there is no such warm-up: what each of them
    adds is measured."""
    def faults(cell, live):
        before = procfs.process(live.pid).faults
        worker._warm_up(cell, live)
        return procfs.process(live.pid).faults - before

    server = servers.named("threaded")
    cell = plan.Cell(ANSWER, server, ANSWER.variants[0], 200)
    with servers.running(server, servers.Start(cores=CORES), str(tmp_path / "log")) as live:
        held = dataclasses.replace(cell, experiment=HELLO)
        assert faults(held, live) == 0
        first = faults(cell, live)
        assert first > 200 and min(faults(cell, live) for _ in range(3)) < first / 3
    assert live.served == 0


needs_ab = pytest.mark.skipif(bool(load.missing("ab")), reason="needs ab")


@needs_ab
def test_a_crash_is_told(worker):
    """By which signal; a rate until then is no rate."""
    row = worker.run(cell_of("os.abort()"), 0.6)
    assert (row["status"], row["limit"]) == ("crashed", "crash") and "SIGABRT" in row["note"]
    assert row["rate"] is row["cpu_us"] is row["server_busy"] is None
    assert row["requests"] > 20 and row["failed"] > 0
    assert "SIGABRT" in worker.problems[0]


@needs_ab
def test_costs_are_divided_among_what_was_served(worker, monkeypatch):
    """A server that answered more than the load tool saw did it at a lower
    cost, and the row says so. One that stays is not said to have crashed."""
    cell = cell_of("pass")
    row = worker.run(cell, 0.4)
    assert row["status"] == "ok" and not row["note"] and row["rate"] > 100
    monkeypatch.setattr(cells.servers.Live, "log", lambda _: (
        f"served {100 * row['requests']} requests on 1 connection"))
    other = worker.run(cell, 0.4)
    assert other["cpu_us"] < row["cpu_us"] / 10
    assert "fewer answers than the server gave" in other["note"]
    # Those before the load, such as to idle connections, are not among them.
    monkeypatch.setattr(cells.servers.Live, "before", 99 * row["requests"])
    assert worker.run(cell, 0.4)["cpu_us"] > row["cpu_us"] / 10


def test_nobody_looks_at_an_unmetered_server(worker, monkeypatch):
    """It still has a rate, and a CPU time from before and after the load."""
    monkeypatch.setattr(cells.cpu_meter, "of_tree", None)
    monkeypatch.setattr(cells.cost_meter.CostMeter, "tick", None)
    cell = cell_of("pass")
    cell.server.metered = False
    row = worker.run(cell, 0.4)
    assert row["status"] == "ok" and row["rate"] > 100 and row["cpu_us"] > 0


def test_a_server_that_is_out_stays_out(worker):
    """One that answers wrongly is not started again and again."""
    wrong = dataclasses.replace(cell_of("pass"), experiment=GUESTBOOK)
    for _ in range(2):
        assert worker.run(wrong, 0.1)["status"] == "wrong answer"
    assert len(worker.problems) == 1 and len(worker.folder.rows) == 2


def test_each_round_has_all_cells_in_an_order_of_its_own():
    """And the seed repeats it. What belongs to one group stays together."""
    orders = [plan.shuffled("abcdef", 1, number, id) for number in (1, 2)]
    assert all(sorted(one) == list("abcdef") for one in orders) and orders[0] != orders[1]
    assert orders[0] == plan.shuffled("abcdef", 1, 1, id)
    near = plan.shuffled("aAbB", 1, 1, str.isupper)
    assert sorted(near) == list("ABab") and near[0].isupper() == near[1].isupper()


SCRIPT = """
import socket, sys
from tools.kit import netns
if netns.problem():
    sys.exit(f"not allowed: {netns.problem()}")
netns.enter()
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()      # through the loopback device
netns.set_limits({"core/somaxconn": 10})
for path in ("core/somaxconn", "ipv4/tcp_max_syn_backlog",
             "ipv4/ip_local_port_range", "ipv4/tcp_congestion_control"):
    print((netns.BELOW / path).read_text().strip())
"""
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


@pytest.mark.parametrize("user", [{}, NOBODY], ids=["as it is", "nobody"])
def test_limits_are_set_inside_and_not_outside(user):
    """Without root, too: the loopback device works there, queues are for all
    clients, nothing is paced, and the machine keeps its limit: outside, none can be set."""
    before = (netns.BELOW / "core/somaxconn").read_text()
    try:
        done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=TOP,
                              capture_output=True, text=True, timeout=60, check=False, **user)
    except PermissionError:
        pytest.skip("only root can become another user, who has to be able to read this checkout")
    if done.stderr.startswith("not allowed"):
        pytest.skip(done.stderr.strip())
    queue, syns, ports, control = done.stdout.splitlines()
    assert (queue, syns) == ("10", "20000") and control in ("cubic", "reno")
    first, last = map(int, ports.split())
    assert last - first > 50_000
    assert (netns.BELOW / "core/somaxconn").read_text() == before
    with pytest.raises(OSError, match="no network of its own"):
        netns.set_limits({"core/somaxconn": 4097})
