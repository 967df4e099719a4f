"""What a run says: the tables, how they are printed, and the last screen of `make compare`."""

import json
import pathlib

import pytest

from tests.bench import made_up
from tests.bench.made_up import KNOWN, row, summed_up
from tools.report import answer, summaries, table
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


def test_deferred_accept_has_rows_of_its_own():
    """Its instructions stand below those of the plain servers, and go first where room is short; in
    the tables, such a server has a row."""
    made = summed_up(rows("epoll", 50.0) + rows("poll", 90.0))
    [one] = made["experiments"]
    one["deferred"] = {"source": "0123456789", "keep-alive": {
        "epoll": {"user": 3500.0, "kernel": 16600.0}}}
    one["exact"] = {"source": "0123456789", "keep-alive": {
        name: {"user": 3500.0, "kernel": 26600.0} for name in ("epoll", "poll")}}
    shown = answer.lines(made, {}, ["end"])
    assert [line.split()[-2:] for line in shown if line.startswith(("  inst", "  defer"))] == [
        ["30.1k", "30.1k"], ["-", "20.1k"]]
    made["experiments"] = [{**one, "name": str(number)} for number in range(6)]
    shown = answer.lines(made, {}, ["end"])
    assert len(shown) <= 23 and not any(line.startswith("  defer") for line in shown)
    assert sum(line.startswith("  inst") for line in shown) == 6
    found = cells(tables(made)["Counted"], "Epoll, defer-accept")
    assert found["instructions"] == "20.1" and not found["calls"]


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


# The tables.

def six(server="epoll", cpu=50.0, **more):
    """Return the rows of six rounds with 1,000 requests/s of 100 clients."""
    return [row(1000.0, **{
        "server": server, "repeat": number, "cpu_us": cpu + number % 3, "cpu_user_us": cpu / 4,
        "server_busy": 97.0, "mean_ms": 100.0, "p50_ms": 1.5, "p99_ms": 7.5, "max_ms": 9.5, **more})
        for number in range(6)]


def tables(made):
    """Return {first word of its title: table} of a summary; of two, the first."""
    found = {}
    for one in table.tables(made, made["experiments"][0], "keep-alive"):
        found.setdefault(one.title.split()[0], one)
    return found


def cells(one, name):
    """Return {column: text} of the line that begins with a name."""
    [found] = [each for each in one.rows if each[0] == name]
    return dict(zip(one.head, found))


def test_cost_comes_first():
    """With what one core can do, and how it compares with the baseline; before it, only what is the
    same on any machine. A column without a figure is left out."""
    made = summed_up(six() + six("poll", 99.0, foreign=20.0))
    made["experiments"][0]["exact"] = {"source": "0123456789", "keep-alive": {
        "epoll": {"user": 3500.0, "kernel": 20100.0}}}
    found = tables(made)
    assert list(found)[:3] == ["Counted", "What", "requests/s"] and len(found["What"].head) <= 8
    poll, epoll = (cells(found["Counted"], name) for name in ("Poll", "Epoll"))
    assert [epoll[key] for key in ("instructions", "user", "kernel", "calls")] == [
        "23.6", "3.5", "20.1", "4"]
    assert not poll["instructions"] and "0123456" in found["Counted"].notes[0]
    assert "switches" not in epoll
    poll, epoll = (cells(found["What"], name) for name in ("Poll", "Epoll"))
    assert [epoll[key] for key in ("CPU us", "user", "can do/s", "compared")] == [
        "51", "12.5", "19,600", "baseline"]
    assert poll["CPU us"] == "~100"
    assert poll["compared"] == "96 % more expensive (1.96, 1.94 to 1.98)"
    assert "foreign load" in found["What"].notes[-1]


CRASHED = row(None, status="crashed")


@pytest.mark.parametrize("made, sign, cell", [
    (six(), "", "1,000"), (six(server_busy=None), "", "1,000"),
    (six(server_busy=94.0), table.LOAD, "1,000"), (six(status="lossy"), table.LOST, "1,000"),
    (six(server_busy=50.0)[:2] + [CRASHED] * 4, table.LOST, "1,000 2/6"),
    ([CRASHED] * 6, table.LOST, "- 0/6")])
def test_what_a_rate_is_worth_is_marked(made, sign, cell):
    """A point that the load ended, or that lost something, and what that means."""
    reached = tables(summed_up(made))["requests/s"]
    assert cells(reached, "100")["Epoll"] == sign + cell
    assert bool(reached.notes) == bool(sign)


def test_the_flag_of_a_point_is_printed():
    """And the mean is clients / rate. Whiskers are intervals, turned round for what one core
    can do; few rounds have none."""
    made = summed_up(six("poll") + six(mean_ms=300.0))
    latency = tables(made)["Latency"]
    poll, epoll = (cells(latency, name) for name in ("Poll", "Epoll"))
    assert (poll["mean"], poll["99 % below"]) == (epoll["mean"], "7.5") == ("100", "7.5")
    assert "can have waited" in epoll["why without percentiles"] and not epoll["99 % below"]
    [point] = made["experiments"][0]["curves"][0]["points"]
    assert [round(one) for one in table.known(point, "can_do")] == [19608, 19231, 20000]
    [few] = summed_up(six()[:3])["experiments"][0]["curves"][0]["points"]
    assert table.known(few, "rate") == (1000.0, 1000.0, 1000.0)
    assert table.known({**few, "rate": None}, "can_do") is None


def test_what_a_study_counted_has_a_table():
    """A line a cell, a column a figure."""
    made = summed_up(six("poll") + six())
    made["experiments"][0]["counted"] = summary.counted(
        {"variant": "keep-alive", "server": server, "x": 100, "figure": figure, "value": value}
        for server, figure, value in (("poll", "segments/answer", 2), ("epoll", "spread", 7),
                                      ("poll", "segments/answer", 4), ("poll", "spread", 5)))
    also = tables(made)["Also"]
    assert also.rows == [["Epoll", "100", "", "7"], ["Poll", "100", "3", "5"]]


def test_everything_is_printed_within_the_width():
    """Each word of each table and note."""
    made = summed_up(six("poll") + six(server_busy=60.0))
    shown = "\n".join(table.all_lines(made, 80))
    assert max(map(len, shown.splitlines())) <= 80
    for one in tables(made).values():
        for text in [*one.notes, *sum(one.rows, [])]:
            assert all(word in shown for word in text.split())
    assert "Latency" in shown
