"""Runs that are joined, committed or compared are what they would have been as one, and
docs/results keeps all of a table."""

import json
import lzma
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.bench import made_up
from tools.book import figures
from tools.kit import TOP
from tools.report import diff, join, summaries
from tools.results import packed, rundir
from tools.stats.stats import EQUAL, FEW, LESS, MORE, UNKNOWN


@pytest.fixture(name="whole", scope="module")
def made_up_run(tmp_path_factory):
    """A run of two servers."""
    return Path(made_up.folder(tmp_path_factory.mktemp("whole"), ("iterative", "epoll")))


@pytest.fixture(name="piece")
def make_piece(whole, tmp_path):
    """piece(name, wanted, **env) makes a run of those rows whose x is
    wanted(x); `env` changes its env.json."""
    def piece(name, wanted, **env):
        folder = tmp_path / name
        folder.mkdir()
        for table in ("samples.csv", "calls.csv"):
            rows = rundir.read_rows(whole / table)
            rundir.write_rows(folder / table, [row for row in rows
                                               if wanted(row.get("x") or 0)], rows[0])
        rundir.write_json(folder / "env.json", rundir.read_json(whole / "env.json") | env)
        return folder
    return piece


def test_the_whole_is_the_sum_of_its_parts(whole, piece, tmp_path):
    """Looks of one of them count for all: the wider interval is right for both. A load that is
    measured again has more rounds."""
    small = piece("small", lambda x: x < 500, seed=2)
    large = piece("large", lambda x: x >= 500, seed=3, looks={"answer": [6]})
    for part, value in (small, 1), (large, 3):
        rundir.write_rows(part / "counted.csv", [dict(zip(rundir.COUNTED, (
            "answer", "keep-alive", "epoll", 800, 1, "segments", value)))], rundir.COUNTED)
    out = tmp_path / "joined"
    join.join(out, [small, large])
    told = summaries.read(out)
    assert [one["median"] for part in told["experiments"] for one in part.pop("counted")] == [2]
    assert told == summaries.make(whole)
    env = rundir.read_json(out / "env.json")
    assert env["looks"] == {"answer": [6]}
    parts = rundir.read_json(whole / "env.json")["joined"]      # it was joined, too
    assert env["joined"] == 2 * parts
    rundir.write_json(out / "summary.json", told)
    join.join(out, [whole, small])
    assert summaries.read(out) == summaries.make(out)       # not the one of before
    rows = rundir.read_rows(out / "samples.csv")
    assert [max(row["repeat"] for row in rows if (row["x"] < 500) is few)
            for few in (False, True)] == [3, 6]
    join.join(out, [whole, large])      # what it counted is of the new rounds
    assert [row["repeat"] for row in rundir.read_rows(out / "counted.csv")] == [4]


def test_looks_and_lengthened_cells_of_all_runs_are_kept(piece, tmp_path):
    """Whichever comes last. A cell has the rounds of all of them."""
    small = piece("small", lambda x: x < 500, seed=2, looks={"answer": [6, 12], "hello": []},
                  lengthened={"answer": {"keep-alive epoll 100": 3}})
    large = piece("large", lambda x: x >= 500, seed=3, looks={"answer": [6]},
                  lengthened={"answer": {"keep-alive epoll 800": 3}, "hello": {}})
    again = piece("again", lambda x: x < 500, seed=4, looks={"answer": []})
    for runs, rounds in ([small, large], 3), ([again, large, small], 6):
        join.join(tmp_path / "out", runs)
        env = rundir.read_json(tmp_path / "out" / "env.json")
        assert env["looks"] == {"answer": [6, 12]}
        assert env["lengthened"]["answer"] == {
            "keep-alive epoll 100": rounds, "keep-alive epoll 800": 3}


@pytest.mark.parametrize("why, wanted, env", [
    ("another commit", lambda x: x < 500, {"source": {"commit": "b", "changed": False}}),
    ("another machine", lambda x: x < 500, {"machine": {"cpu": "another"}}),
    ("AWAKE=1", lambda x: x < 500, {"settings": {"awake": True}}),
    ("named twice", lambda x: True, {"seed": 1})])
def test_what_cannot_be_joined(piece, tmp_path, why, wanted, env):
    """Servers or microseconds are others, or the rounds are the same ones."""
    with pytest.raises(join.JoinError, match=why):
        join.join(tmp_path / "out", [piece("large", lambda x: x >= 500, seed=1),
                                     piece("other", wanted, **env)])
    assert not (tmp_path / "out").exists()


def test_what_is_committed(whole, tmp_path, monkeypatch):
    """A study and the whole reference, not a part of it, and no more than was measured: the rest
    is made from that. Three rounds are always noisy."""
    monkeypatch.setattr(join, "COMMITTED", str(tmp_path))
    with pytest.raises(join.JoinError, match="are noisy"):
        join.join(tmp_path / "reference", [whole])
    monkeypatch.setattr(join, "NOISY", 1)
    made = summaries.make(whole)
    join.commit(whole, made, "floors")
    made["experiments"].pop()
    assert "This is a part" in join.commit(whole, made)
    assert {path.name for path in tmp_path.rglob("*.*")} \
        == {"calls.csv.xz", "env.json.xz", "samples.csv.xz"}
    assert summaries.make(tmp_path / "studies" / "floors") == summaries.make(whole)
    assert not (tmp_path / "reference").exists()


def test_a_compressed_run_is_read_as_any_other(whole, tmp_path):
    """By diff, join and the book, and so by the report. A folder holds one form of a table."""
    packed = tmp_path / "packed"
    rundir.copy(whole, packed, compressed=True)
    assert rundir.read_rows(packed / "samples.csv") == rundir.read_rows(whole / "samples.csv")
    assert not list(packed.glob("*.csv"))
    assert diff.main([str(packed), str(whole)]) == 0
    join.join(tmp_path / "joined", [packed])
    assert summaries.make(tmp_path / "joined") == summaries.make(whole)
    assert figures.Run(packed).rows == figures.Run(whole).rows
    rundir.copy(packed, tmp_path / "joined", compressed=True)
    assert not list((tmp_path / "joined").glob("*.csv"))
    rundir.copy(packed, tmp_path / "joined", compressed=False)
    assert not list((tmp_path / "joined").glob("*.xz"))
    assert (tmp_path / "joined/samples.csv").read_bytes() == (whole / "samples.csv").read_bytes()


def test_what_is_kept_for_long_names_no_file_that_stays_behind(whole, tmp_path):
    """Nor has it a table without a row; all else is as it was."""
    run, kept = tmp_path / "run", tmp_path / "kept"
    run.mkdir()
    rows = [row | {"raw": "raw/0001.txt", "note": 'of "two" lines,\nor one'}
            for row in rundir.read_rows(whole / "samples.csv")]
    rundir.write_rows(run / "samples.csv", rows, list(rows[0]))
    rundir.write_rows(run / "calls.csv", [], rundir.CALLS)
    rundir.write_json(run / "env.json", rundir.read_json(whole / "env.json"))
    rundir.copy(run, kept, compressed=True)
    assert {path.name for path in kept.iterdir()} == {"samples.csv.xz", "env.json.xz"}
    assert rundir.read_rows(kept / "samples.csv") == [row | {"raw": None} for row in rows]
    assert summaries.make(kept) == summaries.make(run)


def test_what_is_kept_for_long_has_no_digits_of_chance():
    """A word keeps its own, and so does a whole number; the rounds of a cell follow each other."""
    names = ["server", "x", "repeat", "cpu_us", "rate", "p99_ms", "server_busy", "note"]
    rows = [dict(zip(names, line.split(","))) for line in (
        "epoll,20,1,46.57349,20408.16,38.41449,99.98,1.23456",
        "poll,20,1,8.5,,1234567,0.00123456,",
        "epoll,20,2,46.57,123456.7,38.5,7,")]
    assert rundir.kept(names, rows) == (names, [dict(zip(names, line.split(","))) for line in (
        "epoll,20,1,46.573,20408,38.41,100,1.23456",
        "epoll,20,2,46.57,123460,38.5,7,",
        "poll,20,1,8.5,,1234567,0.00123,")])


@pytest.mark.parametrize("noisy, changed, refused", [
    (1, False, False), (2, False, True), (1, True, True)])
def test_a_tenth_of_the_cells_may_be_noisy(noisy, changed, refused):
    """A cell without a figure is none of them. The sources have to be those of a commit."""
    points = [{"rate": 1, "noisy": ["foreign load"] if n < noisy else []} for n in range(10)] \
        + [{"rate": None, "noisy": ["no run"]}] * 9
    with pytest.raises(join.JoinError) if refused else nullcontext():
        join.check_fit([{"source": {"changed": changed}}], {
            "experiments": [{"curves": [{"points": points}]}]})


def decided_run(folder, *verdicts):
    """Write a summary with a comparison for each (verdict, low, high), at x
    = 1, 2, ...; return its folder."""
    folder.mkdir()
    compared = [{"variant": "keep-alive", "x": x, "server": "poll", "base": "epoll",
                 "metric": "cpu_us", "verdict": verdict, "low": low, "high": high, "words": verdict}
                for x, (verdict, low, high) in enumerate(verdicts, 1)]
    (folder / "summary.json").write_text(json.dumps({
        "schema_version": rundir.SCHEMA_VERSION,
        "experiments": [{"name": "answer", "comparisons": compared}]}))
    return str(folder)


@pytest.mark.parametrize("one, other, expected", [
    ((MORE, 1.1, 1.2), (LESS, 0.8, 0.9), 1),
    ((MORE, 1.1, 1.2), (MORE, 1.5, 1.6), 0),            # the same winner
    ((EQUAL, 0.98, 1.02), (MORE, 1.1, 1.2), 1),
    ((EQUAL, 0.98, 1.02), (MORE, 1.01, 1.2), 0),        # they overlap
    ((EQUAL, 0.98, 1.0), (EQUAL, 1.0, 1.02), 0),
    ((UNKNOWN, 0.8, 1.2), (MORE, 1.5, 1.6), 0),
    ((FEW, None, None), (LESS, 0.8, 0.9), 0)])
def test_what_disagrees(one, other, expected, tmp_path, capsys):
    """In whichever order the runs are given; each is named."""
    runs = [decided_run(tmp_path / "a", one), decided_run(tmp_path / "b", other, one)]
    assert diff.main(runs) == diff.main(runs[::-1]) == expected
    assert capsys.readouterr().out.count("poll compared with epoll") == 2 * expected


def test_what_cannot_be_compared(tmp_path):
    """It has a status of its own."""
    one, none = decided_run(tmp_path / "a", (MORE, 1.1, 1.2)), decided_run(tmp_path / "b")
    assert diff.main([one, none]) == 2


def test_committed_runs_name_no_folder_of_a_machine():
    """The command is as one types it."""
    runs = [path.parent for path in Path(join.COMMITTED).glob("**/samples.csv.xz")]
    for path in runs:
        assert rundir.read_json(path / "env.json")["command"].startswith(
            ("python3 -m bench ", "python3 -m tools.bench ")), path
    assert runs


TABLE = """\
server,order,started,tool,requests,rate,seconds,cpu_us,cpu_user_us,cpu_system_us,server_busy,\
load_busy,load_cores_busy,evidence,note
epoll,1,2026-01-01T00:00:01Z,ab,5000,20408,0.245,46.573,1.463,45.11,88.1,86.9,100,\
"100 % busy: server 88 %, ab 87 %, Redis 8 %", late
epoll,4,2026-01-01T00:00:09Z,ab,5000,20408,0.246,46.573,1.463,45.12,97.5,86.9,,server 98 %,=
poll,2,2026-01-01T00:00:04Z,ab,,0,,8.5,,,,,,{} of {server} open,"two
lines"
poll,6,2026-01-01T00:00:09Z,ab,1,0,1,8.5,8,0.5,1,,,,
"""
PACKED = """\
server,epoll,epoll,poll,poll
order,1,4,=,6
started,2026-01-01T00:00:01Z,2026-01-01T00:00:09Z,2026-01-01T00:00:04Z,2026-01-01T00:00:09Z
tool,ab,ab,ab,ab
requests,5000,5000,,1
rate,20408,20408,0,0
seconds,=,0.246,,1
cpu_us,46.573,46.573,8.5,8.5
cpu_user_us,1.463,1.463,,8
cpu_system_us,=,45.12,,=
server_busy,88.1,97.5,,1
load_busy,86.9,86.9,,
load_cores_busy,100,,,
evidence,"{load_cores_busy} % busy: server {server_busy} %, ab {load_busy} %, Redis 8 %",\
server {server_busy} %,{} of {server} open,
note," late",=,"two
lines",
"""


@pytest.fixture(name="table")
def read_table(tmp_path):
    """(columns, rows) of TABLE."""
    path = tmp_path / "samples.csv"
    path.write_text(TABLE)
    return rundir.read_table(path)


def test_a_packed_table_is_read_as_it_was(table, tmp_path):
    """Also by a shell, as CSV with a line for each row. Where other columns give a figure, but with
    other digits, it is kept."""
    assert packed.read(packed.write(*table)) == packed.read(PACKED) == table
    path = tmp_path / "samples.csv.xz"
    path.write_bytes(lzma.compress(PACKED.encode()))
    assert subprocess.run([sys.executable, "-m", "tools.results.packed", path], cwd=TOP,
                          capture_output=True, text=True, check=True).stdout == TABLE


@pytest.mark.parametrize("name, field", [("seconds", "="), ("evidence", "{server_busy} open")])
def test_a_table_that_would_be_read_as_another_one_is_refused(table, name, field):
    table[1][0][name] = field
    with pytest.raises(ValueError, match="as another one"):
        packed.write(*table)
