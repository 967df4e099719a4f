"""The whole program on the real servers, in its shortest form."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from bench.run import session as compare_py
from bench import load
from bench.meter import procfs
from bench.store import rundir as results
from bench.run import servers
from bench import config as settings
from bench.analyse import summary

BENCH = [sys.executable, "-m", "bench"]

needs_servers = pytest.mark.skipif(
    bool(servers.named("epoll").problem() or servers.named("poll").problem()
         or load.missing("wrk") or load.missing("ab")),
    reason="needs the servers (make all), wrk and ab")


def compare(out, *arguments, **environment):
    """Start compare.py with plain output; return the process."""
    # NO_INSTALL: a test does not fetch what draws.
    return subprocess.Popen(
        [*BENCH, "run", "--out", str(out), *arguments], cwd=servers.TOP,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "NO_INSTALL": "1", "NO_COLOR": "1",
             **environment})


def rows(out):
    """Return the rows of the latest samples.csv below `out`."""
    with open(out / "latest" / "samples.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@needs_servers
def test_a_run_leaves_everything_behind(tmp_path):
    """Rows, raw output with commands, environment, summary, report."""
    process = compare(tmp_path, "--seconds", "0.4", "--repeat", "3",
                      "--servers", "06,07", EXPERIMENT="redirect")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    made = rows(tmp_path)
    assert len(made) == 6
    assert {row["server"] for row in made} == {"poll", "epoll"}
    for row in made:
        assert row["status"] in ("ok", "lossy") and float(row["rate"]) > 0
        assert float(row["cpu_us"]) > 0 and float(row["pss_mib"]) > 0
        assert float(row["failed_percent"]) >= 0 and row["limit"]
        raw = (tmp_path / "latest" / row["raw"]).read_text()
        assert "$ wrk " in raw and "requests in" in raw
        assert f"/{row['server']} --port 0" in raw
    env = json.loads((tmp_path / "latest" / "env.json").read_text())
    assert env["complete"] and env["seed"] and env["machine"]["kernel"]
    assert env["versions"]["wrk"] and env["preflight"]
    made = json.loads((tmp_path / "latest" / "summary.json").read_text())
    assert made["experiments"][0]["name"] == "redirect"
    assert (tmp_path / "latest" / "report.html").stat().st_size > 10000
    assert "poll" in output and "What a request costs at 100" in output
    assert "\x1b[" not in output            # no terminal: no colours


@needs_servers
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_measured(number, tmp_path):
    """Two cells, then the signal: their rows are there, nothing runs on."""
    process = compare(tmp_path, "--seconds", "0.4", "--repeat", "50",
                      "--experiment", "guestbook", "--servers", "epoll")
    until = time.monotonic() + 60
    while not (tmp_path / "latest").exists() or len(rows(tmp_path)) < 2:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.1)
    began = {one.pid for one in procfs.tree(process.pid)} - {process.pid}
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Stopped before the end" in output
    assert len(rows(tmp_path)) >= 2
    env = json.loads((tmp_path / "latest" / "env.json").read_text())
    assert not env["complete"]
    assert began                        # the private Redis at least
    left = [pid for pid in began if procfs.process(pid)]
    assert not left, [procfs.read(f"/proc/{pid}/cmdline") for pid in left]


@needs_servers
def test_a_missing_peer_is_told_and_the_run_goes_on(tmp_path, monkeypatch):
    """A peer whose program is not there gets rows that say so."""
    process = compare(tmp_path, "--seconds", "0.4", "--repeat", "1",
                      "--experiment", "redirect", "--servers", "epoll",
                      "--peers", "nginx", PATH=without("nginx", tmp_path))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    by_server = {row["server"]: row for row in rows(tmp_path)}
    assert float(by_server["epoll"]["rate"]) > 0
    assert by_server["nginx"]["status"] == "not started"
    assert "make peers-deps PEERS=nginx" in output


def without(program, folder):
    """Return a PATH of links to all programs but `program`."""
    links = folder / "path"
    links.mkdir()
    for place in os.environ["PATH"].split(":"):
        if os.path.isdir(place):
            for name in os.listdir(place):
                if name != program and not (links / name).is_symlink():
                    (links / name).symlink_to(os.path.join(place, name))
    return str(links)


def test_wrong_settings(tmp_path):
    """One sentence, exit status 2, nothing left behind."""
    process = compare(tmp_path / "none", SERVERS="apache")
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 2
    assert len(output.strip().splitlines()) == 1 and "apache" in output
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("wrong", [
    {"SECONDS": "inf"}, {"SECONDS": "1e300"}, {"SECONDS": "nan"},
    {"REPEAT": "0"}, {"FULL": "perhaps"}, {"OUT": "/proc/nope"},
    {"OUT": "/etc/passwd"}])
def test_wrong_values(wrong):
    """Each is one sentence with what helps, before anything is built."""
    for command in ("settings", "run"):
        done = subprocess.run(
            [*BENCH, command], timeout=30, cwd=servers.TOP,
            capture_output=True, text=True, check=False,
            env={**os.environ, "NO_INSTALL": "1", **wrong})
        [(name, value)] = wrong.items()
        assert done.returncode == 2 and not done.stdout
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"compare: {name}={value}: ")


@pytest.mark.parametrize("text, full", [
    ("", False), ("0", False), ("no", False), ("off", False),
    ("False", False), ("1", True), ("yes", True), ("ON", True)])
def test_full_can_be_said_in_words(text, full):
    """Hours must not begin because somebody wrote FULL=off."""
    assert settings.parse([], {"FULL": text}).full is full


def test_two_runs_within_a_second(tmp_path, monkeypatch):
    """Each has its folder, and the later one is the latest."""
    monkeypatch.setattr(results, "now", lambda: "2026-01-01T10:00:00Z")
    made = [results.Folder(str(tmp_path)).path for _ in range(3)]
    assert [os.path.basename(path) for path in made] == [
        "2026-01-01T100000Z", "2026-01-01T100000Z-2", "2026-01-01T100000Z-3"]
    assert os.path.realpath(tmp_path / "latest") == made[-1]


@pytest.fixture(name="inside")
def compare_in_this_process(monkeypatch, tmp_path):
    """Lets compare.main() run here: no signal handlers, no other cores."""
    monkeypatch.setattr(compare_py.own_venv, "enter", lambda: "not asked for")
    monkeypatch.setattr(compare_py.signal, "signal", lambda *_: None)
    monkeypatch.setattr(compare_py.os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(sys, "argv", [
        "compare", "--out", str(tmp_path), "--experiment", "redirect",
        "--servers", "epoll", "--seconds", "0.1", "--repeat", "1"])
    return monkeypatch


def stop(*_):
    """Stands for what Ctrl-C interrupts."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["build_peers", "look_around"])
def test_ctrl_c_before_the_first_cell(inside, where, capsys):
    """While peers are built, or the machine is looked at: one sentence."""
    inside.setattr(compare_py, where, stop)
    assert compare_py.main() == 130
    assert "stopped before anything was measured" in capsys.readouterr().err


@needs_servers
def test_ctrl_c_while_the_report_is_made(inside, tmp_path, capsys):
    """The figures are on disk, and it is said how to get the report."""
    inside.setattr(compare_py.report, "make", stop)
    assert compare_py.main() == 130
    assert "makes the report" in capsys.readouterr().out
    assert len(rows(tmp_path)) == 1


@needs_servers
def test_what_the_system_refuses_is_a_row(inside, tmp_path):
    """A cell that meets an OSError is told, and the run goes on."""
    def refuse(*_):
        raise OSError(11, "Resource temporarily unavailable")
    inside.setattr(compare_py.runner.Runner, "_measure", refuse)
    assert compare_py.main() == 0
    [row] = rows(tmp_path)
    assert row["status"] == "no figure" and "unavailable" in row["note"]
    env = json.loads((tmp_path / "latest" / "env.json").read_text())
    assert "unavailable" in env["problems"][0]


@needs_servers
def test_a_full_disk_ends_the_run(inside, tmp_path, capsys):
    """With a sentence, and with what there was before."""
    whole, count = results.Folder.add, iter((0, 1, 1, 1))
    def add(folder, row):
        if next(count):
            raise OSError(28, "No space left on device")
        whole(folder, row)
    inside.setattr(results.Folder, "add", add)
    inside.setattr(sys, "argv", [*sys.argv[:-1], "3"])
    assert compare_py.main() == 1
    assert "Ended before the end, by" in capsys.readouterr().out
    assert len(rows(tmp_path)) == 1
    assert (tmp_path / "latest" / "report.html").exists()


def test_an_experiment_without_its_tool_is_left_out(inside, capsys):
    """And where nothing else was asked for, that is the end of it."""
    inside.setattr(load, "missing", lambda name: "httperf")
    assert compare_py.main() == 1
    told = capsys.readouterr()
    assert "Left out: redirect: wrk is not installed" in told.out
    assert "nothing is left to measure" in told.err
