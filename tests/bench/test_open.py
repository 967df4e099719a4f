"""A connection that the load tool has not opened yet is not a lost answer."""

import dataclasses
import os
import socket
import sys
from types import SimpleNamespace
from unittest import mock

import pytest

from tests.bench.made_up import MACHINE, summed_up
from tools.bench import config, load, plan
from tools.bench.meter import costs, memory
from tools.bench.run import cell as cells
from tools.kit import procfs
from tools.report import answer

X = 10_000


@pytest.fixture(name="measured")
def runner_of_made_up_rounds(monkeypatch):
    """Returns a function: measured({"held", "made", ...}, ..., x=X) runs a cell of hello of epoll
    once, with an attempt for each of these; it returns (the row, how many attempts were made, the
    Runner). A `made` of None means that no look came. No server runs."""
    monkeypatch.setattr(cells.os, "getloadavg", lambda: (18.0, 9.0, 9.0))
    stage = plan.make(config.parse([], {"EXPERIMENT": "hello", "SERVERS": "epoll", "SEED": "1"}),
                      MACHINE, False)[-1]

    def run(*attempts, number=1, x=X):
        left = list(attempts)

        def measure(runner, cell, _seconds, row):
            one = {"failed": 0, "unfinished": 0, "overflows": 0, "foreign": 5.0, "opens": X,
                   **left.pop(0)}
            costs = mock.Mock(answered=5000, made=one["made"], finish=lambda: {
                "foreign": one["foreign"], "open_connections": one["held"], "cpu_us": 30.0,
                "server_busy": 99.0, "overflows": one["overflows"]})
            result = cells.load.Result(good=5000, seconds=1.0, **{
                key: one[key] for key in ("failed", "unfinished", "opens")})
            live = mock.Mock(exit=mock.Mock(early=False, code=0), served=None)
            again = runner._fill(row, cell, live, costs, result)
            cells.void(row)
            return again

        monkeypatch.setattr(cells.Runner, "_measure", measure)
        rows = []
        runner = cells.Runner(SimpleNamespace(tool=""), MACHINE, None,
                              SimpleNamespace(add=rows.append))
        row = runner.run(dataclasses.replace(stage.cells[0], repeat=number, x=x), 0.45)
        assert rows == [row]
        return row, len(attempts) - len(left), runner
    return run


WHOLE = {"held": X, "made": X}
FEW = {"held": 9453, "made": 9460}      # on a slow machine, when the time was over
BLIND = {"held": None, "made": None}


@pytest.mark.parametrize("first, second, status, said", [
    (FEW, WHOLE, "ok", "measured again: 9,460 of 10,000 connections were open"),
    (FEW, {**FEW, "made": 9300}, "not opened",
     "not measured: 9,300 of 10,000 connections were open"),
    ({**FEW, "made": X, "foreign": 60.0}, WHOLE, "ok", "measured again: other programs"),
    (BLIND, WHOLE, "ok", "measured again: other programs used the cores (load 18)"),
    (BLIND, FEW, "not opened", "not measured: 9,460 of"),
    (FEW, {**FEW, "failed": 3}, "lossy", "it held 9,453 of 10,000 connections open")])
def test_a_round_without_all_connections_is_measured_again_once(
        first, second, status, said, measured):
    """The second attempt counts. If it lacked connections, too, the round has no figure, and the
    run names it at its end."""
    row, attempts, runner = measured(first, second, WHOLE)
    assert (row["status"], attempts, row["order"]) == (status, 2, 2) and said in row["note"]
    void = status == "not opened"
    assert void == (row["rate"] is None) == (row["cpu_us"] is None) == bool(runner.problems)
    assert not void or said in runner.problems[0] and "hello_epoll_10000" in runner.problems[0]


@pytest.mark.parametrize("lost", [
    {"failed": 1}, {"unfinished": 1}, {"overflows": 1}, {"made": X}, {"made": None}])
def test_what_was_lost_stays_a_loss(lost, measured):
    """An error, a time-out, a reset; a connection that found the queue full; a server that does not
    hold what was opened. One attempt."""
    row, attempts, _ = measured({**FEW, **lost}, WHOLE)
    assert (row["status"], attempts) == ("lossy", 1) and row["rate"]
    assert "it held 9,453 of 10,000 connections open" in row["note"]


@pytest.mark.parametrize("one", [WHOLE, {"held": 9900, "made": 9999}, {"held": X, "made": 8467}])
def test_a_round_with_all_connections_is_measured_once(one, measured):
    """A look at many processes takes a while. On a crowded machine, a look may be interrupted
    between counting the connections that were made and those that the server holds."""
    row, attempts, _ = measured(one, WHOLE)
    assert (row["status"], attempts, row["note"]) == ("ok", 1, "")


@pytest.mark.parametrize("x, threads, opens", [(10, 3, 9), (20, 7, 14)])
def test_a_round_has_all_connections_that_the_tool_opens(x, threads, opens, measured):
    """The threads of wrk open equally many each. What is missing is missing of these."""
    job = load.Job("http://127.0.0.1:1/", connections=x, threads=threads)
    assert load.TOOLS["wrk"].opens(job) == opens
    row, attempts, _ = measured({"held": opens, "made": opens, "opens": opens}, WHOLE, x=x)
    assert (row["status"], attempts, row["note"]) == ("ok", 1, "")
    few = {"held": opens - 1, "made": opens - 1, "opens": opens}
    row, attempts, _ = measured(few, few, x=x)
    assert (row["status"], attempts) == ("not opened", 2)
    assert row["note"].startswith(f"not measured: {opens - 1} of {opens} connections were open")
    row, _, _ = measured({**few, "made": opens}, x=x)
    assert row["status"] == "lossy"
    assert row["note"] == f"it held {opens - 1} of {opens} connections open"


def test_the_other_rounds_of_the_cell_stay_valid(measured):
    """Of six rounds, one is void: the cell has a figure from five, is not lost, and says how many
    connections were open. The screen has its cost and names the round."""
    made = [measured(FEW, FEW, number=n) if n == 3 else measured(WHOLE, number=n)
            for n in range(1, 7)]
    rows = [{**row, "experiment": "answer", "variant": "keep-alive"} for row, _, _ in made]
    summary = summed_up(rows)
    [[point]] = [curve["points"] for curve in summary["experiments"][0]["curves"]]
    assert (point["runs"], point["planned"], point["lost"]) == (5, 6, False)
    assert point["values"]["cpu_us"] == 30.0
    [note] = point["notes"]
    assert "9,460 of 10,000 connections were open" in note and note.endswith("(1 of 6 runs)")
    shown = "\n".join(answer.lines(summary, {"problems": made[2][2].problems}, ["end"]))
    assert "epoll 30 us" in shown and answer.LOST not in shown and "9,460 of 10,000" in shown


# A load tool that opens five connections slowly, and reports on SIGINT how many there are. Before
# that, it makes five that it does not keep: as another program does, next to it.
SLOW = """
import os, signal, socket, sys, time
opened = []
def report(*_):
    print(len(opened), "requests in 1s,", flush=True)
    os._exit(0)
signal.signal(signal.SIGINT, report)
server = "127.0.0.1", int(sys.argv[1])
for _ in range(5):
    socket.create_connection(server).close()
for _ in range(5):
    time.sleep(0.1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    opened.append(socket.create_connection(server))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
time.sleep(600)
"""


def test_the_load_lasts_until_all_connections_are_open(monkeypatch):
    """It was planned for a tenth of a second, and opening takes half of one. Connections of
    other programs do not count; a tool that never opens them is ended."""
    monkeypatch.setattr(load, "STILL", 0.0)     # no server accepts
    monkeypatch.setattr(load.Wrk, "path", lambda _: sys.executable)
    monkeypatch.setattr(load.Job, "deadline", 240.0)
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        port = listener.getsockname()[1]
        job = load.Job(f"http://127.0.0.1:{port}/", connections=5, seconds=0.1, opening=0.05)
        monkeypatch.setattr(load.Wrk, "command", lambda *_: [sys.executable, "-c", SLOW, str(port)])
        result = load.run("wrk", job, os.sched_getaffinity(0))
        assert (result.good, result.opens) == (5, 5)
    monkeypatch.setattr(load.Job, "deadline", 0.3)
    monkeypatch.setattr(load.Wrk, "command", lambda *_: ["sleep", "600"])
    with pytest.raises(load.LoadError):
        load.run("wrk", job, os.sched_getaffinity(0))


@pytest.fixture(name="kernel")
def made_up_counts(monkeypatch):
    """What the kernel says: connections begun in the network, sockets of each process, and the
    lengths of the accept queue, one for each time that it is read."""
    kernel = SimpleNamespace(begun=100, sockets={}, waiting=[], counted=0)

    def files(pid):
        kernel.counted += 1
        return dict(enumerate(["/dev/null", "anon_inode:[eventpoll]",
                               *["socket:[1]"] * kernel.sockets[pid]]))

    monkeypatch.setattr(load.sockets, "counters", lambda: {"ActiveOpens": kernel.begun})
    monkeypatch.setattr(load.sockets, "accept_queue", lambda _: (kernel.waiting.pop(0), 4096))
    monkeypatch.setattr(load.procfs, "open_files", files)
    return kernel


def opening():
    """Return the _Opening of wrk with 50 clients."""
    return load._Opening(load.TOOLS["wrk"], load.Job("http://127.0.0.1:1/", connections=50))


def test_what_the_server_is_accepting_is_not_open_yet(kernel):
    """As long as the queue gets shorter. A pool whose workers are all busy accepts no more."""
    one = opening()
    kernel.begun, kernel.sockets[7] = 149, 49
    assert not one.done(7, 1.0)     # wrk has opened 49; nothing waits in the queue, which is unread
    kernel.begun, kernel.sockets[7], kernel.waiting[:] = 150, 50, [20, 20, 19, 0]
    assert [one.done(7, now) for now in (2.0, 2.4, 2.8, 3.2)] == [False, False, False, True]
    assert kernel.counted == 1
    other = opening()
    kernel.begun, kernel.waiting[:] = 200, [7, 7, 7]
    assert [other.done(7, now) for now in (5.0, 5.4, 5.5)] == [False, False, True]


def test_what_other_programs_connect_is_not_the_tools(kernel):
    """Two load tools of one host: each waits for its own. They are counted again only when the
    missing ones can have come."""
    both = {7: opening(), 8: opening()}
    kernel.begun, kernel.sockets = 160, {7: 30, 8: 30}
    assert not both[7].done(7, 1.0) and not both[8].done(8, 1.0)
    kernel.begun, kernel.sockets = 179, {7: 49, 8: 30}
    assert not both[7].done(7, 2.0) and kernel.counted == 2
    kernel.begun, kernel.sockets, kernel.waiting[:] = 180, {7: 50, 8: 30}, [0, 0]
    assert both[7].done(7, 3.0) and not both[8].done(8, 3.0) and kernel.counted == 4
    kernel.begun, kernel.sockets[8] = 200, 50
    assert both[8].done(8, 4.0)


def test_wrk_is_told_to_go_on_until_it_is_interrupted(monkeypatch):
    """The time that it is given has room for opening. Each thread opens the same number."""
    given = []
    monkeypatch.setattr(load.Wrk, "path", lambda _: sys.executable)
    monkeypatch.setattr(load.Wrk, "command", lambda _, job, folder: (
        given.append(job) or ["echo", "7 requests in 1s,"]))
    job = load.Job("http://127.0.0.1:1/", connections=X, seconds=2.0, opening=0.5, threads=3)
    load.run("wrk", job, os.sched_getaffinity(0))
    assert given[0].seconds == job.deadline == 12.0 and load.TOOLS["wrk"].opens(job) == 9999


def test_the_plan_of_an_experiment_that_holds_connections():
    """Half a second for 10,000; no other experiment waits for all of its clients."""
    live = SimpleNamespace(url=str)
    for stage in plan.make(config.parse([], {"SEED": "1"}), MACHINE, False):
        cell, held = stage.cells[0], stage.experiment.holds_connections
        job = stage.experiment.job(live, cell.variant, X, 1.0, MACHINE, False)
        assert job.opening == (0.5 if held else 0.0)
        assert not held or job.seconds == 1.5


def test_connections_that_wait_to_be_accepted_are_made():
    """The server has one, and two are in its queue."""
    watch = SimpleNamespace(tree=[procfs.process(os.getpid())], count_connections=True,
                            answered=1, made=None)
    with socket.create_server(("127.0.0.1", 0), backlog=5) as listener:
        metric = memory.Memory()
        metric.begin(watch)
        metric.sample(watch)
        assert watch.made is None
        clients = [socket.create_connection(listener.getsockname()) for _ in range(3)]
        with listener.accept()[0]:
            metric.sample(watch)
        list(map(socket.socket.close, clients))
    assert watch.made >= 3      # other programs of this network make some, too


def test_a_load_that_opens_longer_is_looked_at_when_all_are_open(monkeypatch):
    """Whatever a look costs: at least twice while all of them are open."""
    now = [100.0]
    monkeypatch.setattr(costs.time, "monotonic", lambda: now[0])
    meter = costs.CostMeter(SimpleNamespace(pid=os.getpid(), served=None))
    meter.metrics = []
    meter.begin(1.2, opened=0.7)
    now[0] = 105.0
    assert 105 < meter.tick() <= 105.35
