"""The only loop: on the real servers in its shortest form, and on made-up
ones in its longest."""

import os
import signal
import subprocess
import sys
import time
from unittest import mock

import pytest

from tests.bench.made_up import MACHINE, row
from tools.bench import command, config, load, plan
from tools.bench.run import session
from tools.kit import TOP, procfs, servers
from tools.report import live, table
from tools.results import rundir
from tools.stats.stats import LOOKS

needs_servers = pytest.mark.skipif(
    any(map(load.missing, ("wrk", "ab"))) or any(one.problem() for one in servers.ARCHITECTURES),
    reason="needs the servers (make all), wrk and ab")


def bench(*words, **environment):
    """Start `python3 -m tools.bench` with plain output; return the process."""
    # NO_INSTALL: a test does not fetch what draws.
    return subprocess.Popen(
        [sys.executable, "-m", "tools.bench", *words], cwd=TOP, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "NO_INSTALL": "1", "NO_COLOR": "1", **environment})


def rows(out):
    """Return the rows of the latest samples.csv below `out`."""
    return rundir.read_rows(out / "latest" / "samples.csv")


def env_of(out):
    """Return the latest env.json below `out`."""
    return rundir.read_json(out / "latest" / "env.json")


@needs_servers
def test_a_run_leaves_everything_behind(tmp_path):
    """Rows, raw output with commands, environment, summary."""
    process = bench("run", "--out", str(tmp_path), "--seconds", "0.4",
                    "--repeat", "2", "--servers", "06,07", "--concurrency", "100",
                    EXPERIMENT="hello")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    made = rows(tmp_path)
    assert sorted((row["server"], row["repeat"]) for row in made) == [
        ("epoll", 1), ("epoll", 2), ("poll", 1), ("poll", 2)]
    for row in made:
        assert row["status"] in ("ok", "lossy") and row["rate"] > 0
        assert row["cpu_us"] > 0 and row["pss_mib"] > 0
        raw = (tmp_path / "latest" / row["raw"]).read_text()
        assert "$ wrk " in raw and f"/{row['server']} --port 0" in raw
    env = env_of(tmp_path)
    assert env["complete"] and env["versions"]["wrk"] and env["preflight"]
    assert env["settings"]["repeat"] == {"hello": 2} and not env["looks"]["hello"]
    [made] = rundir.read_json(tmp_path / "latest" / "summary.json")["experiments"]
    assert made["calls"]["poll/"]["all"] >= 2 or \
        "system calls" in str(env["left_out"] + env["problems"])
    # A line for the experiment, then the answer; cells and tables are files. No colours.
    assert "0 %  " in output and "us of CPU a request" not in output
    assert "  CPU us " in output and "\x1b[" not in output
    cells, tables = ((tmp_path / "latest" / name).read_text() for name in (live.LOG, table.FILE))
    assert cells.count("us of CPU a request, ") == 4 and cells.startswith("[1/4] hello ")
    assert "What a request costs at" in tables


@needs_servers
def test_ctrl_c_keeps_what_is_measured(tmp_path):
    """Two cells, then the signal: their rows are there, nothing runs on."""
    process = bench("run", "--out", str(tmp_path), "--seconds", "0.4", "--repeat", "50",
                    "--experiment", "guestbook", "--servers", "epoll")
    until = time.monotonic() + 60
    while not (tmp_path / "latest").exists() or len(rows(tmp_path)) < 2:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.1)
    began = {one.pid for one in procfs.tree(process.pid)} - {process.pid}
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Stopped before the end" in output
    assert len(rows(tmp_path)) >= 2 and not env_of(tmp_path)["complete"]
    assert began and not any(map(procfs.process, began))    # the private Redis at least


def test_a_wrong_value():
    """It is one sentence and exit status 2. (make asks first: tests/frame/test_settings.py.)"""
    process = bench("run", OUT="/proc/nope")
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 2 and output.count("\n") == 1
    assert output.startswith("bench: OUT=/proc/nope: ")


@pytest.fixture(name="inside")
def session_in_this_process(monkeypatch, tmp_path):
    """Lets command.run(words) run here: no signal handlers, no other cores or network, and no
    wait for a quiet machine. Returns a function that calls it."""
    monkeypatch.setattr(command.venv, "restart_inside", lambda: "not asked for")
    monkeypatch.setattr(command.process, "end_on_signals", lambda: None)
    monkeypatch.setattr(session.os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(session.netns, "enter", lambda: None)
    monkeypatch.setattr(session.Here, "gate", lambda *_: None)

    def run(*more):
        return command.run(["--out", str(tmp_path), "--experiment", "redirect", "--servers",
                            "epoll", "--seconds", "0.1", "--repeat", "1", *more])
    run.patch = monkeypatch
    return run


stop = mock.Mock(side_effect=KeyboardInterrupt)
refuse = mock.Mock(side_effect=OSError(11, "Resource temporarily unavailable"))


@pytest.mark.parametrize("where, what, status, said", [
    ("command.build_peers", stop, 130, "bench: stopped"),
    ("run.session.Here.lacking", mock.Mock(return_value="httperf"), 1,
     "nothing is left to measure"),
    ("run.session.netns.enter", refuse, 130, "WARNING  network of its own: not allowed")])
def test_what_goes_wrong_before_the_first_cell(where, what, status, said, inside, capsys):
    """Ctrl-C while peers are built; the only tool is not installed; no network of its own."""
    inside.patch.setattr(f"tools.bench.{where}", what)
    inside.patch.setattr(command, "measure", stop)
    assert inside() == status
    assert said in "".join(capsys.readouterr())


@needs_servers
def test_a_study_leaves_the_files_of_a_run(inside, tmp_path):
    """In a folder with its name. A chosen server comes with its baselines; ours go by number, too.
    Here none of its cells can be measured."""
    inside.patch.setattr(session.Runner, "_measure", refuse)
    assert command.study(["floors", "--out", str(tmp_path), "--servers", "07",
                          "--repeat", "1"]) == 0
    assert {row["server"] for row in rows(tmp_path)} == {
        "epoll", "floor-epoll", "floor-epoll-kept"}
    folder = (tmp_path / "latest").resolve()
    assert folder.name.endswith("-floors") and (folder / "summary.json").exists()


@needs_servers
def test_what_the_system_refuses_is_a_row(inside, tmp_path):
    """A cell that meets an OSError says so, and the run goes on. A full disk ends it, with
    what there was before."""
    inside.patch.setattr(session.Runner, "_measure", refuse)
    whole = rundir.Folder.add
    inside.patch.setattr(rundir.Folder, "add", lambda folder, row: refuse()
                         if len(folder.rows) == 2 else whole(folder, row))
    assert inside("--repeat", "9") == 1
    first, second = rows(tmp_path)
    assert first["status"] == second["status"] == "no figure" and "unavailable" in first["note"]
    assert "unavailable" in env_of(tmp_path)["problems"][0]
    assert (tmp_path / "latest" / "summary.json").exists()


def measured(monkeypatch, cost, *deadline, **environment):
    """Measure servers whose costs are known, with the plan for these settings. No time passes but
    the planned one, from 0 on. `cost(server, round)` is the CPU time of a request, None for no
    figure. Return the Session; its runner has the rows."""
    clock, made = [0.0], []

    def run(cell, seconds):
        clock[0] += cell.lasts(seconds / cell.experiment.weight)
        each = cost(cell.server.name, cell.repeat)
        made.append(row(each, cell.x, experiment=cell.experiment.name, cpu_us=each,
                        variant=cell.variant.name, server=cell.server.name, repeat=cell.repeat,
                        status="ok" if each else "no figure"))
        return made[-1]

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    runner = mock.Mock(run=run)
    runner.folder.rows, runner.settings.seed = made, 1
    one = session.Session(plan.make(
        config.parse([], {"SEED": "1", **environment}), MACHINE, True), None, *deadline)
    one.measure(runner, mock.Mock())
    return one


def swings(name, number):
    """Return the cost of servers whose comparison settles nothing."""
    return 8.0 + number % 2 * 4 * (name == "poll")


def differs(name, _):
    """Return the cost of servers of which epoll is the best."""
    return 10.0 if name == "epoll" else 20.0


def open_in(one):
    """Return the (experiment, variant, server) of a Session that are not settled."""
    return sorted((stage.experiment.name, *cell.key[:2]) for stage in one.stages
                  for cell in one._unsettled(stage, stage.possible))


@pytest.mark.parametrize("cost, seconds, repeat, rounds, looks", [
    (swings, 0, "", 6, [6]), (swings, 40, "", 12, [6, 12]), (swings, 1000, "", 48, [6, 12, 24]),
    (differs, 1000, "", 6, [6]), (differs, 1000, "8", 8, [])])
def test_rounds_are_added_while_there_is_time(cost, seconds, repeat, rounds, looks, monkeypatch):
    """As many as there are until the next look. The first six always come. A clear difference is
    settled by them, and a quick run ends before its time is over. REPEAT= has no look."""
    one = measured(monkeypatch, cost, seconds, EXPERIMENT="redirect", REPEAT=repeat)
    assert (one.rounds, one.looks) == ({"redirect-rate": rounds}, {"redirect-rate": looks})
    assert not seconds or time.monotonic() <= seconds
    assert cost is swings or not open_in(one)


def test_what_is_not_settled_goes_on_to_the_last_look(monkeypatch):
    """With its baseline, and without the others: poll swings about epoll, forking is twice
    as expensive, iterative never gives a figure. Only then the next experiment begins."""
    one = measured(monkeypatch, lambda name, number: {
        "poll": 6.0 + number * 7 % 9, "forking": 20.0, "iterative": None}.get(name, 10.0),
                   FULL="1", EXPERIMENT="hello,redirect", CONCURRENCY="100",
                   SERVERS="epoll,poll,forking,iterative")
    assert one.rounds == {"hello": LOOKS[-1], "redirect": LOOKS[-1]}
    assert one.looks["hello"] == list(LOOKS[:-1])
    made = one.runner.folder.rows
    assert {row["server"]: row["repeat"] for row in made} == {
        "epoll": 48, "poll": 48, "forking": 6, "iterative": 6}
    order = [row["experiment"] for row in made]
    assert order == sorted(order)
    assert open_in(one)[:2] == [("hello", "", "epoll"), ("hello", "", "poll")]


@pytest.mark.parametrize("seconds, again", [(30, False), (120, True)])
def test_what_time_is_left_goes_to_what_is_open_anywhere(seconds, again, monkeypatch):
    """All experiments have their planned rounds first, and the curve, which is only drawn, gets no
    more: poll and threaded are open at each rate, and those that have the fewest rounds come first.
    What was lengthened is recorded."""
    def cost(name, number):
        return 8.0 + number % 2 * 4 if name in ("poll", "threaded") else {
            "epoll": 10.0}.get(name, 30.0)
    base = plan.total(plan.make(config.parse([], {
        "SEED": "1", "EXPERIMENT": "guestbook,redirect"}), MACHINE, True))
    calls = 14 * (plan.CALLS_SECONDS + plan.AROUND_CALLS)      # take no time here
    one = measured(monkeypatch, cost, base - calls + seconds, EXPERIMENT="guestbook,redirect")
    names = [row["experiment"] for row in one.runner.folder.rows]
    planned = {"guestbook-rate": 7 * 6, "guestbook": 7 * 6 * 3, "redirect-rate": 7 * 6}
    assert names[:sum(planned.values())] == [
        name for name, count in planned.items() for _ in range(count)]
    more = names[sum(planned.values()):]
    assert more[:3 * 6] == ["guestbook-rate"] * 18 and set(more) == {
        "guestbook-rate", "redirect-rate"}
    assert (more.count("guestbook-rate") > 18) == again
    assert {"poll 2000", "epoll 2000"} <= set(one.lengthened["guestbook-rate"])
    assert one.looks["redirect-rate"][:2] == [6, 12] and not one.looks["guestbook"]


def test_time_for_one_server_goes_to_the_neighbour(monkeypatch):
    """Of epoll, that is poll; the more distant threaded stays open."""
    cell = 0.2 + 0.75 * plan.QUICK_CELL
    one = measured(monkeypatch, lambda name, number: 8.0 + number % 2 * 4
                   if name in ("poll", "threaded") else 10.0 if name == "epoll" else 30.0,
                   7 * 6 * cell + 6 * (2 * cell + 0.2) + 0.1, EXPERIMENT="redirect")
    assert set(one.lengthened["redirect-rate"]) == {"poll 4000", "epoll 4000"}
