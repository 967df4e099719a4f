"""predict: files in, sentences and pictures out; once for real."""

import os
import pty
import re
import signal
import subprocess
import sys
import tomllib

import pytest

from tests.bench.made_up import MACHINE
from tools.bench import load, plan
from tools.kit import TOP
from tools.observe import lab
from tools.observe.predict import command, compare, files, group
from tools.report import table

TEXT = re.sub('"05"', '"PreThreaded"', files.EXAMPLE)
GUESS = {"server": "05_prethreaded", "clients": 100, "rate": 3000,
         "cpu_us": 250, "switches": 4, "calls": 3, "limit": "server core",
         "why": "", "what": "guestbook", "name": "Ada", "measured": {}}
FOUND = {"rate": 6000, "cpu_us": 150, "switches": 4.1, "calls": 12,
         "limit": "load tool and Redis", "evidence": "ab 54 %, Redis 42 %"}
MORE = {"calls": {"read": 3.1, "write": 3, "accept4": 1.0, "brk": 0.001},
        "user_us": 30, "notes": []}


@pytest.fixture(name="write")
def _write(tmp_path):
    def write(text, name="a.toml"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path
    return write


# ----------------------------------------------------------------------- files

def test_a_prediction_is_stored_and_nothing_is_overwritten(write, tmp_path):
    read = files.read(write(TEXT))
    assert read == {**GUESS, "calls": 12, "why": "a line"}
    odd = {**GUESS, "why": 'a "quote", a \\ and µ', "rate": 0.5}
    paths = [files.store(tmp_path / "new", "../Ada L.", odd)
             for _ in range(3)]
    assert [os.path.relpath(path, tmp_path / "new") for path in paths] == [
        "Ada-L.toml", "Ada-L-2.toml", "Ada-L-3.toml"]
    assert files.read(paths[1]) == odd
    files.add(paths[1], FOUND)
    assert files.read(paths[1]) == {**odd, "measured": FOUND}
    assert files.read(paths[2]) == odd


@pytest.mark.parametrize("before, after, line, why", [
    ("clients = 100", "clients = ", 2, "Invalid value"),
    ('name = "Ada"\n', 'name = """Ada', 10, "Unterminated"),
    ("rate =", "ratte =", 3, "is it rate?"),
    ("rate =", "Geschwindigkeit =", 3, "there are server, clients"),
    ("rate = 3000", "rate = nan", 3, "above 0"),
    ("rate = 3000", "rate = true", 3, "a number"),
    ("cpu_us = 250", 'cpu_us = "250"', 4, "without quotes"),
    ("cpu_us = 250", "cpu_us = 1" + "0" * 400, 4, "at most"),
    ("clients = 100", "clients = 1.5", 2, "whole"),
    ('"server core"', '"disk"', 7, "workers"),
    ('"server core"', "7", 7, "in quotes"),
    ('"a line"', r'"\u001b[2J"', 8, "control characters"),
    ('"PreThreaded"', '"apache"', 1, "06_poll"),
    ('name = "Ada"', "measured = 4", 10, "a table"),
    ('name = "Ada"', "[measured]\nrate = 0", 10, "above 0")])
def test_a_wrong_file_is_told_with_line_and_reason(write, before, after, line, why):
    assert before in TEXT
    with pytest.raises(files.FileError) as told:
        files.read(write(TEXT.replace(before, after)))
    assert why in str(told.value)
    assert re.search(rf"\bline {line}\b", str(told.value)), told.value


def test_what_is_no_file_or_lacks_a_key(write, tmp_path):
    for path, why in ((tmp_path, "directory"), (tmp_path / "x", "No such"),
                      (write(b"\n# \xff", "b.toml"), "line 2: not UTF-8"),
                      (write("a = " + "[" * 9999, "c.toml"), "recursion"),
                      (write(TEXT.replace("calls", "#")), "calls = ...")):
        with pytest.raises(files.FileError, match=why):
            files.read(path)


def test_the_command_line_completes_a_file_and_may_not_contradict(write):
    lines = TEXT.splitlines(keepends=True)
    short = write("".join(lines[2:]))
    assert files.read(short, server="05_prethreaded", clients=100) == \
        files.read(write(TEXT, "b.toml"))
    with pytest.raises(files.FileError, match="line 2: clients: 100 here"):
        files.read(write(TEXT), clients=20)


# --------------------------------------------------------------------- compare

@pytest.mark.parametrize("limit, values, server, clients, limits", [
    ("server core", {}, "01", 9, ["server core"]),
    ("waiting", {"server_busy": 40}, "05_prethreaded", 500, ["workers"]),
    ("waiting", {"server_busy": 40}, "05_prethreaded", 10, ["clients"]),
    ("waiting", {"server_busy": 40}, "07_epoll", 500, ["clients"]),
    ("accept queue", {"server_busy": 99}, "03_preforking", 500,
     ["server core"]),
    ("accept queue", {"server_busy": 9}, "01_iterative", 500, ["workers"]),
    ("cores of the load", {"redis_busy": 42}, "06_poll", 9,
     ["load tool", "Redis"]),
    ("cores of the load", {}, "06_poll", 9, ["load tool"]),
    ("descriptors", {}, "06_poll", 9, ["descriptors"])])
def test_what_ends_the_rate_in_the_words_of_a_prediction(
        limit, values, server, clients, limits):
    assert compare.limits(limit, values, {"server": server,
                                          "clients": clients}) == limits


def test_side_by_side():
    assert [row[-1] for row in compare.table(GUESS, FOUND).rows] == [
        "2 times too low", "1.67 times too high", "right", "4 times too low",
        "another"]
    slow = {**FOUND, "rate": 0.123, "cpu_us": 12345, "calls": 1234}
    lines = table.lines(compare.table(GUESS, slow), 80)
    # A long figure makes the last cell wrap; it does not split the table.
    assert lines[3].strip() == "high" and max(map(len, lines)) <= 80
    uncounted = {key: FOUND[key] for key in FOUND if key != "calls"}
    made = compare.table({**GUESS, "limit": "Redis"}, uncounted)
    assert [row[-1] for row in made.rows[3:]] == ["not counted", "right"]


def test_the_worst_assumption_comes_first_and_a_chapter_last():
    said = compare.explain(GUESS, FOUND, MORE)
    for line, begins in zip(said, [
            "You expected 3 system calls a request; it makes 12: 3.1 read",
            "You expected 3,000 requests a second; it is 6,000",
            "You expected that the server's core is always busy; here the limit is",
            "Your figures contradict each other",
            "Read docs/read/05_prethreaded.md, then docs/read/sans_io.md."], strict=True):
        assert line.startswith(begins)
    full = {**FOUND, "limit": "server core", "switches": 9}
    said = " ".join(compare.explain({**GUESS, "cpu_us": 20}, full, MORE))
    assert "a core that is always busy answers 6,670" in said
    assert "it takes 150: 30 in the server's own code, 120 in" in said
    assert "there are 9: a worker sleeps for its client" in said


def test_a_right_prediction_is_told_so():
    right = {**GUESS, **{key: FOUND[key] for key in files.QUANTITIES},
             "limit": "Redis"}
    assert compare.explain(right, FOUND, MORE) == [
        "All figures are right within a factor of 2.",
        "Read docs/read/05_prethreaded.md."]


def test_the_chapters_exist():
    pages = set(compare.PAGES.values()) | {f"docs/read/{folder}.md"
                                           for folder in lab.FOLDERS}
    assert all((TOP / page).is_file() for page in pages)


def test_what_a_summary_says():
    point = {"rate": {"middle": 6000}, "notes": ["a note"], "noisy": ["x"],
             "values": {"cpu_us": 150.0, "switches": None,
                        "cpu_user_us": 30, "server_busy": 97},
             "limit": "server core", "evidence": "server\n97 %"}
    curve = {"server": "prethreaded", "variant": "", "points": [point]}
    summary = {"experiments": [{"curves": [curve], "calls": {
        "prethreaded/": {"all": 12.0, "read": 3.0}}}]}
    found, more = compare.measured(summary, GUESS)
    assert found == {"rate": 6000, "cpu_us": 150, "calls": 12,
                     "limit": "server core", "evidence": "server 97 %"}
    assert more == {"calls": {"read": 3.0}, "user_us": 30,
                    "notes": ["a note", "Noisy: x."]}
    point["rate"] = None
    with pytest.raises(compare.NoFigure, match="a note"):
        compare.measured(summary, GUESS)


# ----------------------------------------------------------------------- class

def test_a_class_is_a_distribution_beside_the_measured_value(
        write, drawing, monkeypatch, capsys, tmp_path):
    for number, rate in enumerate((100, 3000, 3000, 4000, 100000)):
        files.store(tmp_path, f"{number}", {**GUESS, "rate": rate})
    files.add(tmp_path / "0.toml", FOUND)
    write("rate = -1", "bad.toml")
    (tmp_path / "folder.toml").mkdir()
    monkeypatch.setattr(group.venv, "restart_inside", lambda: "")
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    assert group.main([str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "bad.toml, line 1: rate: it has to be above 0" in told.err
    assert "folder.toml: Is a directory" in told.err
    assert "measured: load tool and Redis" in told.out
    words, bars, axis, ends = told.out.split("requests a second: ")[1].splitlines()[:4]
    assert words == "median 3,000, measured 6,000; within a factor of 2: 60 %"
    assert bars.split() == list("▄█▄▄") and ends.split() == ["100", "100,000"]
    assert bars.index("█") < axis.index("▲") < bars.rindex("▄")
    assert "system calls a request" in (tmp_path / "out" / "predictions.svg").read_text()
    assert group.main([str(tmp_path / "out")]) == 1


# ------------------------------------------------------ requests that compute

SHORT = {"server": "07_epoll", "what": "computing", "p50_ms": 1, "p99_ms": 2, "why": "",
         "name": "", "measured": {}}


def test_a_prediction_of_waits_has_other_figures(write):
    """And says so, when it has those of a page."""
    told = files.read(write(files.EXAMPLE_WAITS))
    assert told == {**SHORT, "p50_ms": 2, "p99_ms": 50, "why": "a line"}
    for line, why in (("rate = 5\n", "line 6: rate: it is not asked for with what = .computing"),
                      ("limit = 'Redis'\n", "line 6: limit: it is not asked for")):
        with pytest.raises(files.FileError, match=why):
            files.read(write(files.EXAMPLE_WAITS + line))
    with pytest.raises(files.FileError, match="p99_ms = ...  is missing"):
        files.read(write(files.EXAMPLE_WAITS.replace("p99_ms", "#")))
    with pytest.raises(files.FileError, match="p50_ms: it is not asked for"):
        files.read(write(TEXT + "p50_ms = 3\n"))


def test_waits_are_compared_and_explained():
    """With the server that was asked for, not with the one that it is compared with."""
    def curve(server, p50, p99):
        return {"server": server, "variant": "computing 20 ms", "points": [{
            "rate": {"middle": 100}, "notes": ["a note"], "noisy": [], "limit": "",
            "evidence": "", "values": {"p50_ms": p50, "p99_ms": p99}}]}
    summary = {"experiments": [{"calls": {}, "curves": [
        curve("epoll", 2, 55), curve("threaded", 0.6, 3)]}]}
    found, more = compare.measured(summary, SHORT)
    assert (found, more["notes"]) == ({"p50_ms": 2, "p99_ms": 55}, ["a note"])
    assert compare.measured(summary, {**SHORT, "server": "04_threaded"})[0]["p99_ms"] == 3
    rows = compare.table(SHORT, found).rows
    assert [row[-1] for row in rows] == ["2 times too low", "27.5 times too low"]
    said = compare.explain(SHORT, found, more)
    assert [line.partition(";")[0] for line in said] == [
        "You expected 2 ms until 99 % of them are there",
        "You expected 1 ms until half of the short answers are there",
        "Read docs/read/07_epoll.md, then docs/read/computing.md."]
    assert "a short request waits until all that came before it have computed" in said[0]
    assert "limit" not in " ".join(group.lines([{**SHORT, "measured": found}]))


# -------------------------------------------------------------------- for real

LIMIT = 240                     # seconds: ends a test that hangs


def start(tmp_path, *words, **more):
    """Start `python3 -m tools.observe predict`, whose results go to tmp_path."""
    return subprocess.Popen(
        [sys.executable, "-m", "tools.observe", "predict", *words], cwd=TOP,
        env={**os.environ, "OUT": str(tmp_path / "out"), "SECONDS": "1",
             "REPEAT": "1", "COLUMNS": "80", **more.pop("env", {})}, **more)


def ended(tmp_path, *words):
    """Return (exit status, standard output, standard error) of a run
    without a terminal."""
    process = start(tmp_path, *words, text=True, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, error = process.communicate(timeout=LIMIT)
    return process.returncode, out, error


@pytest.mark.skipif(bool(load.missing("ab")), reason="needs ab")
def test_the_whole(write, tmp_path):
    path = write(TEXT.replace("PreThreaded", "7"), "guess.toml")
    status, out, error = ended(tmp_path, "EPOLL", "--clients", "100",
                               "--file", str(path))
    assert status == 0, error
    stored = files.read(tmp_path / "out/predictions/Ada.toml")
    assert stored["measured"]["rate"] > 0 and stored["calls"] == 12
    assert re.search(r"^requests a second +3,000 +[\d.,]+ ", out, re.MULTILINE)
    assert "Read docs/read/07_epoll.md" in out and "report.html" in out
    assert (tmp_path / "out/latest/samples.csv").read_text().count(
        "\nguestbook") == 1


@pytest.mark.slow
def test_a_computing_question_is_measured(write, tmp_path):
    """The study's load, with the server that is asked for and 07."""
    path = write(files.EXAMPLE_WAITS.replace("07", "05"), "guess.toml")
    status, out, error = ended(tmp_path, "--file", str(path))
    assert status == 0, error
    stored = files.read(tmp_path / "out/predictions/guess.toml")
    assert stored["measured"]["p99_ms"] >= stored["measured"]["p50_ms"] > 0
    assert re.search(r"^ms until 99 % of them are there +50 ", out, re.MULTILINE)


def test_what_a_question_measures():
    """The page, for as many clients as it says, who wait for their answers: one cell."""
    settings = command.settings_of({"what": "answer", "server": "05_prethreaded", "clients": 70})
    [stage] = plan.make(settings, MACHINE, False)
    assert [(cell.experiment.name, cell.server.name, cell.x) for cell in stage.cells] == [
        ("answer", "prethreaded", 70)]


def test_what_a_computing_question_measures():
    """One load of the study, with the server that is asked for and 07."""
    settings = command.settings_of(SHORT | {"server": "05_prethreaded"})
    [one] = settings.experiments
    [load_of] = one.variants
    assert (one.name, load_of.name) == ("mixed", "computing 20 ms")
    assert {server.name for server in settings.servers if one.applies(server, load_of)} >= {
        "prethreaded", "epoll"}


@pytest.mark.parametrize("words, why", [
    (["--file", "WRONG"], "wrong.toml, line 1: rate"),
    (["--file", "GUESS", "--clients", "9"], "clients: 100 here, but 9"),
    (["05"], "FILE=... names a file like this"), ([], "SERVER=05 or FILE"),
    (["05", "--clients", "many"], "CLIENTS=many: it has to be a number")])
def test_nothing_is_measured_after_a_mistake(write, tmp_path, words, why, monkeypatch, capsys):
    names = {"WRONG": str(write("rate = -1", "wrong.toml")),
             "GUESS": str(write(TEXT))}
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    assert command.main([names.get(word, word) for word in words]) == 2
    out, error = capsys.readouterr()
    assert not out and why in error
    assert not (tmp_path / "out").exists()


def test_at_a_terminal(drawing, tmp_path):
    """A wrong answer is asked for again. The prediction is stored before the
    measurement, which Ctrl-C ends here."""
    ours, theirs = pty.openpty()
    process = start(tmp_path, "07", "--what", "answer", stdin=theirs,
                    stdout=theirs, stderr=theirs, start_new_session=True,
                    preexec_fn=lambda: signal.signal(
                        signal.SIGINT,
                        signal.default_int_handler),
                    env={"SECONDS": "600", "NO_COLOR": "1", "TERM": "xterm"})
    os.close(theirs)
    seen = ""

    def until(words):
        nonlocal seen
        while words not in seen:
            seen += os.read(ours, 4096).decode()
        seen = seen.partition(words)[2]
    for prompt, answer in (
            ("/answer, 100 clients", ""),
            ("requests a second", "many\n"),
            ("it has to be a number", "-3\n"), ("above 0", "12,000\n"),
            ("CPU microseconds", "20\n"), ("context switches", "0.5\n"),
            ("system calls", "3\n"), ("one of these", "x\n"),
            ("has to be one of", "LOAD\n"), ("why", "it [b]waits\n"),
            ("Measuring for 600 s", "")):
        until(prompt)
        os.write(ours, answer.encode())
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130
    os.close(ours)
    stored = tmp_path / "out/predictions/07_epoll-answer-100.toml"
    assert tomllib.loads(stored.read_text()) == {
        "server": "07_epoll", "what": "answer", "clients": 100,
        "rate": 12000, "cpu_us": 20, "switches": 0.5, "calls": 3,
        "limit": "load tool", "why": "it [b]waits", "name": ""}
