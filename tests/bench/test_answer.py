"""The last screen of `make compare`, and the line of progress."""

import json
import pathlib
from types import SimpleNamespace
from unittest import mock

import pytest

from tests.bench import made_up
from tests.bench.made_up import KNOWN, MACHINE, row, summed_up
from tools.bench import config, plan
from tools.bench.meter import memory
from tools.bench.run import cell as cells
from tools.kit import progress
from tools.report import answer, live, summaries
from tools.stats import summary

END = ["Report: results/20260101-120000/report.html", "  also cells.txt, tables.txt, samples.csv",
       "More: the same with FULL=1 (3.4 hours or more)",
       "      the same with EXPERIMENT=guestbook REPEAT=12 (6 minutes)"]


@pytest.fixture(scope="module", name="stored")
def summary_of_a_stored_run(tmp_path_factory):
    """The summary of a run of all experiments: three rounds, so nothing is settled."""
    return summaries.make(made_up.folder(tmp_path_factory.mktemp("results")))


@pytest.mark.parametrize("wide", [40, 120])
def test_the_answer_is_one_screen(stored, wide):
    """24 lines of 80 columns, with one left for the prompt; nothing wraps. Path and what to do
    next are always there, and each experiment that is shown has its sentence and its rows."""
    shown = answer.lines(stored, {"left_out": ["x " * 99], "problems": ["y " * 99]}, END, wide)
    assert len(shown) <= 23 and max(map(len, shown)) <= max(80, wide)
    assert shown[-4:] == END
    assert sum(line.startswith("  CPU us") for line in shown) >= 5
    for title in ("Guestbook", "Answer", "Hello", "Redirect"):
        assert any(line.startswith(title) for line in shown)
    assert sum(line.startswith("Not settled: ") for line in shown) == 1
    assert sum(line.startswith("Left out: ") for line in shown) == 1


def test_a_quick_run_has_all_its_experiments_on_the_screen(stored):
    """Five, and the second half of the answer: six sentences."""
    quick = {**stored, "experiments": [
        {**one, "variants": one["variants"][:1 + (one["name"] == "answer")]}
        for one in stored["experiments"]]}
    shown = answer.lines(quick, {}, END)
    assert sum(line.startswith("  CPU us") for line in shown) == 6 and len(shown) <= 23
    assert not any("more are in" in line for line in shown)


def test_more_than_a_screen_is_left_to_the_tables(stored):
    """It says how many experiments; the path and what to do next stay."""
    shown = answer.lines({**stored, "experiments": stored["experiments"] * 3}, {}, END)
    assert len(shown) <= 23 and shown[-4:] == END
    [said] = [line for line in shown if "more are in tables.txt" in line]
    assert int(said.split()[0]) + sum(line.startswith("  CPU us") for line in shown) == 21


def rows(server, cpu, rounds=6, **more):
    """Return the rows of a server; its cost differs a little between rounds."""
    return [row(1000.0, server=server, repeat=n, cpu_us=cpu + n / 100, **more)
            for n in range(1, rounds + 1)]


def test_what_is_said():
    """The baseline's cost, how much more the most expensive one costs, and what is open."""
    made = summed_up(rows("epoll", 50.0) + rows("forking", 150.0) + rows("poll", 50.0, 3))
    _, names, said, costs, *foot = answer.lines(made, {}, ["end"])
    assert said == "Answer, keep-alive, 100: epoll 50.0 us; most forking x3.00 (3.00 to 3.00)."
    assert names.split()[-2:] == ["poll", "epoll"]
    assert costs.split() == ["CPU", "us", "-", "150", "-", "-", "-", "50.0?", "50.0"]
    assert foot == ["Not settled: 1 of 2, marked ?.", "end"]


def test_an_open_loop_also_says_how_long_answers_take():
    """A row below that of the costs; there is none in a closed loop."""
    made = summed_up(rows("epoll", 50.0, p99_ms=2.5) + rows("forking", 150.0, p99_ms=14.0))
    assert not any("99 %" in line for line in answer.lines(made, {}, ["end"]))
    made["experiments"][0]["open_loop"] = True
    _, _, _, costs, times, *_ = answer.lines(made, {}, ["end"])
    assert costs.split()[2:] == ["-", "150", *4 * "-", "50.0"]
    assert times.split()[3:] == ["-", "14", *4 * "-", "2.5"]


def test_the_screen_shows_the_equal_rate_in_place_of_the_curve():
    """Its title names the rate. A curve that is only drawn, from three rounds, has no comparison
    that could be open. On a screen of 24 lines, response times go before an experiment does."""
    base = rows("epoll", 50.0, 3) + rows("poll", 90.0, 3)
    equal = rows("epoll", 50.0, p99_ms=2.5) + rows("poll", 90.0, p99_ms=3.5)
    servers = summed_up(base)["servers"]
    made = {"servers": servers, "experiments": [summary.summarise(
        KNOWN[name], some, [], servers, keys=made_up.KEYS, tools={}, adaptive=True, drawn=drawn)
        for name, some, drawn in (("answer-rate", equal, False), ("answer", base, True))]}
    _, _, said, _, times, *foot = answer.lines(made, {}, ["end"])
    assert said.startswith("Answer at 4,000/s, keep-alive: epoll 50.0 us; most poll x1.80 (")
    assert times.split()[-2:] == ["3.5", "2.5"] and foot == ["end"]
    made["experiments"] = [{**made["experiments"][0], "name": str(n)} for n in range(7)]
    high = answer.lines(made, {}, ["end"], high=80)
    low = answer.lines(made, {}, ["end"])
    assert len(low) <= 23 < len(high) and sum("99 %" in line for line in high) == 7
    assert [line for line in high if "99 %" not in line] == low


def test_a_run_tells_what_it_only_draws(tmp_path):
    """Its env.json does: three rounds are drawn where it says so, and elsewhere too few. A summary
    of an older version is made again."""
    folder = made_up.folder(tmp_path)
    path = pathlib.Path(folder, "env.json")
    for drawn, said in (([], "a first look"), (["redirect"], "at an equal rate, above")):
        path.write_text(json.dumps({**json.loads(path.read_text()), "drawn": drawn}))
        made = summaries.make(folder)
        [one] = [one for one in made["experiments"] if one["name"] == "redirect"]
        assert said in " ".join(one["sentences"]["all"][""])
        assert bool(one["comparisons"]) != bool(drawn)
        shown = answer.lines(made, {}, [])
        assert any(line.startswith("Redirect") for line in shown) != bool(drawn)
    old = {"schema_version": 2, "experiments": []}
    pathlib.Path(folder, "summary.json").write_text(json.dumps(old))
    assert summaries.read(folder)["experiments"]


def test_no_figure_stands_on_a_lost_run():
    """A server whose runs were lost has no cost; when it is the baseline, the sentence says why,
    and that the machine was disturbed has a line."""
    lost = {"status": "disturbed", "note": "not measured: other programs used the cores (load 18)"}
    lost_rows = [{**one, **lost, "rate": None, "cpu_us": None} for one in rows("epoll", 30.1)]
    made = summed_up(lost_rows + rows("poll", 50.0) + rows("forking", 150.0, status="lossy"))
    shown = "\n".join(answer.lines(made, {}, ["end"]))
    assert "Answer, keep-alive: not measured: other programs used the cores (load 18)" in shown
    assert "30.1" not in shown and "150" not in shown and "33,2" not in shown
    assert "Disturbed or noisy, 1 of 3 cells: other programs used the cores (load 18)." in shown
    said = " ".join(made["experiments"][0]["sentences"]["all"]["keep-alive"])
    assert "one core can do" not in said


def test_no_sample_is_not_no_connection():
    """On a crowded machine no look at the server may come while its connections are open. Then
    their number is not known; it is not 0."""
    seen = memory.Memory()
    seen.base = seen.peak = seen.open = seen.descriptors = seen.processes = seen.threads = 0
    seen.faults = 0
    meter = SimpleNamespace(count_connections=True, answered=5000)
    assert seen.finish(meter)["open_connections"] is None
    meter.answered = 0
    assert seen.finish(meter)["open_connections"] == 0


@pytest.mark.parametrize("name, failed, foreign, held, status", [
    ("hello", 0, 0.0, 10000, "ok"), ("hello", 0, 60.0, None, "disturbed"),
    ("hello", 0, 60.0, 200, "disturbed"), ("hello", 0, 0.0, 200, "lossy"),
    ("redirect", 9, 60.0, None, "disturbed"), ("redirect", 9, 0.0, None, "lossy")])
def test_a_disturbed_run_has_no_figure(name, failed, foreign, held, status, monkeypatch):
    """If it lost anything while other programs used the server's core, or nothing is known of its
    connections. Its row names them; a loss without them is the server's."""
    monkeypatch.setattr(cells.os, "getloadavg", lambda: (18.0, 9.0, 9.0))
    stage = plan.make(config.parse([], {"EXPERIMENT": name, "SERVERS": "epoll", "SEED": "1"}),
                      MACHINE, False)[-1]
    runner = cells.Runner(None, MACHINE, None, mock.Mock())
    costs = mock.Mock(answered=5000, made=None if held is None else 10000, finish=lambda: {
        "foreign": foreign, "open_connections": held, "cpu_us": 30.1, "server_busy": 50.0})
    result = cells.load.Result(good=5000, seconds=1.0, failed=failed, opens=10000)
    made = {"status": "", "tool": "wrk"}
    # pylint: disable=protected-access
    runner._fill(made, stage.cells[0], mock.Mock(exit=mock.Mock(early=False, code=0)), costs,
                 result)
    cells.void(made)
    assert made["status"] == status
    named = made["note"].startswith("not measured: other programs used the cores (load 18)")
    assert named == (made["cpu_us"] is None) == (made["rate"] is None) == (status == "disturbed")


def test_progress_in_a_log(tmp_path, monkeypatch, capsys):
    """A line for the experiment, and one in half a minute. Each cell is a line of the run's file.
    (tests/frame/test_check.py: what a terminal shows.)"""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stages = plan.make(config.parse([], {"EXPERIMENT": "redirect", "SEED": "1"}), MACHINE, False)
    with live.View(plan.total(stages), stages, tmp_path) as view:
        view.stage(stages[0])
        for cell in stages[0].cells:
            view.begin(f"redirect {cell.server.name} 100: round 1")
            now[0] += 14
            view.cell(row(experiment="redirect", cpu_us=9.0, server=cell.server.name), 0.65)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 1 + 7 * 14 // 42 and "left  redirect" in shown[0]
    assert len((tmp_path / live.LOG).read_text().splitlines()) == 7
