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
from tools.bench.run import cell as cells
from tools.report import answer

X = 10_000
CORES = os.sched_getaffinity(0)
CROWDED = "other programs used the cores (load 4000)"


@pytest.fixture(name="measured")
def runner_of_made_up_rounds(monkeypatch):
    """Returns a function: measured({"held", "made", ...}, ..., x=X) runs a cell of hello of epoll
    once, with an attempt for each of these; it returns (the row, how many attempts were made, the
    Runner). A `made` of None means that no look came. No server runs."""
    monkeypatch.setattr(cells.os, "getloadavg", lambda: (4000.0, 9.0, 9.0))
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
    ({**FEW, "made": X, "foreign": 60.0}, WHOLE, "ok", f"measured again: {CROWDED}"),
    (BLIND, WHOLE, "ok", f"measured again: {CROWDED}"),
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


@pytest.mark.parametrize("one, attempts", [
    (BLIND, 2), ({**FEW, "made": X, "foreign": 60.0}, 2),
    ({**WHOLE, "failed": 9, "foreign": 60.0}, 1)])
def test_a_disturbed_round_has_no_figure(one, attempts, measured):
    """It lost something while other programs used the server's core, or nothing is known of its
    connections."""
    row, made, _ = measured(one, one)
    assert (row["status"], made) == ("disturbed", attempts)
    assert row["rate"] is row["cpu_us"] is None
    assert row["note"].startswith(f"not measured: {CROWDED}")


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


def test_a_round_has_all_connections_that_the_tool_opens(measured):
    """The threads of wrk open equally many each. What is missing is missing of these."""
    job = load.Job("http://127.0.0.1:1/", connections=10, threads=3)
    assert load.TOOLS["wrk"].opens(job) == 9
    row, attempts, _ = measured({"held": 9, "made": 9, "opens": 9}, WHOLE, x=10)
    assert (row["status"], attempts, row["note"]) == ("ok", 1, "")
    few = {"held": 8, "made": 8, "opens": 9}
    row, attempts, _ = measured(few, few, x=10)
    assert (row["status"], attempts) == ("not opened", 2)
    assert row["note"].startswith("not measured: 8 of 9 connections were open")


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


@pytest.fixture(name="wrk")
def make_wrk(monkeypatch):
    """Returns a function: wrk(port, deadline, *argv) runs a program in the place of wrk, with a job
    of a tenth of a second and five connections; it returns the load.Result."""
    def run(port, deadline, *argv):
        told = []
        monkeypatch.setattr(load.Wrk, "path", lambda _: sys.executable)
        monkeypatch.setattr(load.Wrk, "command", lambda _, job, folder: told.append(job) or argv)
        monkeypatch.setattr(load.Job, "deadline", deadline)
        job = load.Job(f"http://127.0.0.1:{port}/", connections=5, seconds=0.1, opening=0.05)
        result = load.run("wrk", job, CORES)
        assert told[0].seconds >= deadline      # it goes on until it is interrupted
        return result
    return run


@pytest.mark.parametrize("queue", [[3, 2, 1, 0], None], ids=["it accepts", "it does not"])
def test_the_load_lasts_until_all_connections_are_open(queue, wrk, monkeypatch):
    """It was planned for a tenth of a second, and opening takes half of one. Connections of other
    programs do not count. What waits in the accept queue is not open yet, as long as the queue gets
    shorter: a pool whose workers are all busy accepts no more."""
    if queue:
        monkeypatch.setattr(load.sockets, "accept_queue", lambda _: (queue.pop(0), 100))
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        port = listener.getsockname()[1]
        result = wrk(port, 240.0, sys.executable, "-c", SLOW, str(port))
    assert (result.good, result.opens) == (5, 5) and not queue


def test_a_tool_that_never_opens_its_connections_is_ended(wrk):
    with pytest.raises(load.LoadError):
        wrk(1, 0.3, "sleep", "600")


def test_the_plan_of_an_experiment_that_holds_connections():
    """Half a second for 10,000; no other experiment waits for all of its clients."""
    live = SimpleNamespace(url=str)
    for stage in plan.make(config.parse([], {"SEED": "1"}), MACHINE, False):
        cell, held = stage.cells[0], stage.experiment.holds_connections
        job = stage.experiment.job(live, cell.variant, X, 1.0, MACHINE, False)
        assert job.opening == (0.5 if held else 0.0)
        assert not held or job.seconds == 1.5
