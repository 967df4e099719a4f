"""What the load tools print, recorded from real runs, and what is read."""

import contextlib
import dataclasses
import http.server
import itertools
import math
import os
import re
import socket
import sqlite3
import threading
import time
import tomllib
from pathlib import Path

import pytest

from tools.bench import load
from tools.bench.load import base, h2load, idle, oha
from tools.kit import procfs, servers
from tests.bench.made_up import wait_until

OUTPUTS = tomllib.loads(Path(__file__).with_name("outputs.toml").read_text())
CORES = os.sched_getaffinity(0)
OPEN = {"connections": 50, "calls": 10, "rate": 100}
TEN = {**OPEN, "connections": 10}
FAST = {**TEN, "rate": 20, "sharers": 10}


def parsed(name, tmp_path, sent=None, **job):
    """Return the Result of the recorded output `name`; of oha, as if `sent` requests a second had
    been sent, or as many as were due."""
    for end, file in (("csv", "percentiles.csv"), ("log", "requests")):
        if f"{name}.{end}" in OUTPUTS:
            (tmp_path / file).write_text(OUTPUTS[f"{name}.{end}"])
    job = load.Job("http://127.0.0.1:8000/answer", **{"connections": 20, **job})
    if name.startswith("oha"):
        database = tmp_path / oha.STORED
        database.unlink(missing_ok=True)
        stored(database, job.asked, job.due_a_second, sent or job.due_a_second)
    return load.TOOLS[name.split("_")[0]].read(
        OUTPUTS[name], job, str(tmp_path))


def stored(path, asked, due, sent):
    """Write the database of an oha that sent `sent` requests a second where `due` were due."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE oha (start REAL, start_latency_correction REAL, "
                         "duration REAL, status INTEGER)")
        database.executemany("INSERT INTO oha VALUES (?, ?, 0.002, 200)", [
            (at / sent, at / due) for at in range(asked)])


@pytest.mark.parametrize("name, job, good, failed, timeouts, unfinished, note", [
    ("ab_wrong_status", {"requests": 200}, 0, 200, 0, 0, ""),
    ("ab_refused", {"requests": 200}, 0, 200, 0, 0, ""),
    ("ab_good", {}, 1057, 0, 0, 0, ""), ("ab_interrupted_hung", {}, 0, 0, 0, 20, ""),
    ("wrk_mixed", {}, 40, 40, 0, 0, ""),
    ("wrk_hung", {}, 0, 0, 0, 20, ""), ("httperf_good", OPEN, 500, 0, 0, 0, ""),
    ("httperf_hung", OPEN, 0, 50, 50, 450, ""),
    ("httperf_mixed", OPEN, 20, 60, 10, 420, "40 connreset"),
    ("httperf_refused", OPEN, 0, 50, 0, 450, "50 connrefused"),
    # The limit of the tool is not the server's: it is named.
    ("httperf_descriptors", {"connections": 3000, "calls": 10, "rate": 2000},
     0, 3000, 1981, 27000, "1019 fd-unavail"),
    ("oha_good", TEN, 100, 0, 0, 0, ""), ("oha_mixed", TEN, 50, 50, 0, 0, "25 connection error"),
    ("oha_hung", TEN, 0, 40, 40, 60, ""), ("h2load_good", {}, 73699, 0, 0, 0, ""),
    ("h2load_refused", {}, 0, 0, 0, 20, ""), ("h2load-rate_good", FAST, 100, 0, 0, 0, ""),
    ("h2load-rate_mixed", FAST, 75, 25, 0, 0, ""),
    ("h2load-rate_hung", FAST, 20, 10, 10, 70, ""),
    ("h2load-rate_refused", FAST, 0, 0, 0, 100, "")])
def test_each_request_is_counted_once(
        name, job, good, failed, timeouts, unfinished, note, tmp_path):
    """Whatever the tool adds up itself. Of a time without an answer all clients are unfinished: a
    rate of 0 is not a success. What went wrong is noted in the tool's words."""
    found = parsed(name, tmp_path, **job)
    assert (found.good, found.failed, found.timeouts, found.unfinished) == (
        good, failed, timeouts, unfinished)
    assert bool(found.failed_percent) == bool(failed + unfinished)
    assert name[:3] == "wrk" or (found.mean is None) == (not good)
    assert note in "".join(found.notes)
    assert not found.p50 or 0 < found.p50 <= found.p99 <= found.max


@pytest.mark.parametrize("name, counts, lowest, highest", [
    ("httperf_one_silent", (2990, 1, 9), 2930, 3050),
    ("httperf_one_breaks_off", (2993, 1, 6), 2300, 3000)])
def test_httperf_is_not_judged_by_the_wait_for_time_outs(
        name, counts, lowest, highest, tmp_path):
    """One of 300 connections is never answered, or stops after 3 of its 10
    calls: the rate is that of the second in which the others were."""
    found = parsed(name, tmp_path, connections=300, calls=10, rate=300, timeout=2.0)
    assert (found.good, found.failed, found.unfinished) == counts
    assert lowest < found.rate < highest


@pytest.mark.parametrize("name, connections, rate, sent, lag", [
    # The last connections lived long, but began in time.
    ("httperf_good", 50, 50, 500, 0),
    # 50 connections were due within 0.5 s. They took more than 0.9: the
    # longest lived 0.45 s, and all ended after 1.42 s.
    ("httperf_good", 50, 100, 500 / 0.967, 100 * (1 - 0.5 / 0.967)),
    # Half of them were never made, such as by a tool without descriptors.
    ("httperf_good", 100, 50, 250, 50),
    ("oha_good", 10, 20, 200, 0), ("oha_good", 10, 40, 200, 50)])
def test_a_lag_is_noted(name, connections, rate, sent, lag, tmp_path):
    """A tool that sends later, or less, than was demanded says so."""
    found = parsed(name, tmp_path, sent, connections=connections, calls=10, rate=rate)
    assert found.sent_rate == pytest.approx(sent, rel=0.05)
    assert found.lag_percent == pytest.approx(lag, abs=3)
    assert bool(found.notes) == (lag > 2)


def test_oha_leaves_the_time_of_each_answer(tmp_path):
    """Where it is asked for: several of them then have percentiles together."""
    assert parsed("oha_good", tmp_path, **TEN).times is None
    assert parsed("oha_good", tmp_path, **TEN, keep_times=True).times == {2000: 100}


@pytest.mark.parametrize("begun, lag", [(600, 0), (900, 0), (450, 25)])
def test_the_kernel_says_at_which_rate_httperf_connects(begun, lag, monkeypatch):
    """Its own report cannot, if connections live long: a late one could be a long one. Other
    programs' connections may be among those that the kernel counts. A count that takes long is made
    again, a little later."""
    job = load.Job("http://127.0.0.1:8000/", connections=1000, rate=1000.0)
    now, count, slow = [0.0], [7], [0.0]
    monkeypatch.setattr(load.time, "monotonic", lambda: now[0])

    def connects():
        now[0] += slow[0]
        return count[0]

    monkeypatch.setattr(load, "_connects", connects)
    sending = load._Sending(job, 0.0)
    for now[0], count[0], slow[0] in (
            (0.29, 7, 0), (0.3, 190, 0.002), (0.31, 210, 0), (0.5, 300, 0),
            (0.91, 210 + begun, 0), (1.5, 5000, 0)):
        sending.look()
        assert slow[0] == 0 or sending.due == pytest.approx(0.307)
    assert sending.due == math.inf
    result = load.Result(good=1000, sent_rate=1000.0, lag_percent=0.0)
    sending.judge(load.TOOLS["httperf"], job, result)
    assert result.lag_percent == pytest.approx(lag, abs=0.01)
    assert sum("lagged" in note for note in result.notes) == bool(lag)
    few = load.Job("http://127.0.0.1:8000/", connections=100, rate=1000.0)
    assert load._Sending(few, 0.0).due == math.inf      # where a single one would matter


def test_an_interrupted_oha_has_stored_nothing(tmp_path):
    """Its report still counts. One that was not interrupted and stored nothing has no figure."""
    job = load.Job("http://127.0.0.1:8000/answer", connections=20, calls=10, rate=20.0)
    found = load.TOOLS["oha"].read(OUTPUTS["oha_good"], job, str(tmp_path))
    assert (found.good, found.unfinished, found.lag_percent) == (100, 100, None)
    job = dataclasses.replace(job, connections=10)
    with pytest.raises(load.LoadError, match="oha stored no times"):
        load.TOOLS["oha"].read(OUTPUTS["oha_good"], job, str(tmp_path))


def test_h2load_says_when_the_server_closes_what_is_to_be_kept(tmp_path):
    """It asks again without a pause then, so there is no rate."""
    with pytest.raises(load.LoadError, match="sent faster than demanded"):
        parsed("h2load-rate_closing", tmp_path, **{**FAST, "connections": 2})


@pytest.mark.parametrize("job, clients, opening, more", [
    ({"calls": 10, "rate": 400}, 100, (4, 1), ["--rps", "40"]),
    # More would open in a tick than there are.
    ({"calls": 10, "rate": 30_000}, 100, (100, 1), ["--rps", "3000"]),
    ({"calls": 10, "rate": 5}, 50, (1, 20), ["--rps", "1"]),
    # The shortest period that comes within half a per cent.
    ({"calls": 1, "rate": 1500, "keep_alive": False}, 2000, (3, 2), ["-H", "Connection: close"])])
def test_h2load_gets_a_rate(job, clients, opening, more):
    """In ticks of whole milliseconds. Kept connections open one after the other, within the time in
    which all ask once."""
    job = load.Job("http://127.0.0.1:80/", connections=2000 // job["calls"], **job)
    argv = load.TOOLS["h2load-rate"].command(job, "")
    said = dict(zip(argv, argv[1:]))
    assert (said["-n"], said["-c"], said["-r"], said["--rate-period"]) == (
        "2000", str(clients), str(opening[0]), f"{opening[1]}ms")
    assert argv[-3:-1] == more


@pytest.mark.parametrize("changed, lag", [
    ({}, 0), ({99: 15.0}, 0), ({at: 3.0 for at in range(10, 30)}, 0),
    ({at: 0.12 * at for at in range(100)}, 1.9)])
def test_what_counts_as_behind(changed, lag):
    """Of 100 requests, one each 0.1 s: not the last one alone, nor a stall that is made up for;
    but a clock that is slow throughout."""
    late = [changed.get(at, 0.1 * at) - 0.1 * at for at in range(100)]
    assert base.behind(late) == pytest.approx(lag, abs=0.1)


@pytest.mark.parametrize("answers, end, found", [
    ([(0, 1), (10, 1), (20, 2)], 99, [1, 1, 2]),
    # The second took 35 ms: three more requests of its connection were due by then.
    ([(0, 1), (10, 35), (45, 1), (45.5, 1), (46, 2)], 99, [2, 6, 16, 26, 35]),
    # Only one more was due.
    ([(0, 1), (10, 35), (45, 1), (46, 2)], 20, [1, 2, 26, 35]),
    # A stall is no answer that was not given, however short the run.
    ([(0, 35), (1, 35), (35, 1)], 99, [26, 35, 35]), ([(0, 10), (10, 10)], 99, [10, 10])])
def test_what_a_slow_answer_delays_counts_from_when_it_was_due(answers, end, found):
    """A request of a connection is due every 10 ms."""
    assert h2load.from_due(answers, 10, end) == found


def test_h2load_counts_from_when_a_request_was_due(tmp_path):
    """In the log of a run with ten connections, one answer takes three times their turn."""
    log = OUTPUTS["h2load-rate_good.log"].splitlines()
    changed = log[:30] + [re.sub(r"\d+$", "160000", log[30])] + log[31:]
    (tmp_path / "requests").write_text("\n".join(changed))
    found = load.TOOLS["h2load-rate"].read(OUTPUTS["h2load-rate_good"], load.Job(
        "", **FAST, keep_times=True), str(tmp_path))
    assert found.times.total() == found.good == 100
    assert sorted(found.times)[-4:] == pytest.approx([10100, 60100, 110100, 160000], abs=200)
    (tmp_path / "requests").write_text("12 200 1\n13 2")
    with pytest.raises(load.LoadError, match="no log from h2load"):
        load.TOOLS["h2load-rate"].read(
            OUTPUTS["h2load-rate_good"], load.Job("", **FAST), str(tmp_path))


def test_h2load_writes_a_unit_behind_each_number(tmp_path):
    found = parsed("h2load_good", tmp_path)
    assert (found.seconds, found.mean, found.max) == pytest.approx((0.50096, 0.135, 0.499))


@pytest.mark.parametrize("name, text, why", [
    *((name, "Segmentation fault\n", "fault") for name in load.TOOLS),
    ("ab", OUTPUTS["ab_gave_up"], "timeout"),
    ("wrk", OUTPUTS["wrk_refused"], "Connection refused")])
def test_without_a_report_there_is_no_figure(name, text, why):
    """The last line of the tool says why."""
    with pytest.raises(load.LoadError, match=f"no report.*: .*{why}"):
        load.TOOLS[name].read(text, load.Job(""), "/nowhere")


def needs(name):
    """Return the mark of a test that runs a tool."""
    return pytest.mark.skipif(bool(load.missing(name)), reason="needs " + name)


@pytest.fixture(name="silent")
def silent_server():
    """A listener that accepts in the kernel and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@needs("wrk")
def test_run_cuts_a_fraction_of_a_second(silent):
    """0.4 s of wrk, which itself knows whole seconds only."""
    def is_cut():
        found = load.run("wrk", load.Job(silent, connections=5, seconds=0.4), CORES)
        assert not found.notes and found.unfinished == 5
        assert found.cpu >= 0 and "-c 5" in found.command
        return found.wall < 0.9

    wait_until(is_cut)


@needs("ab")
def test_run_ends_a_tool_that_hangs(silent, monkeypatch):
    """The result says so, and each request is unfinished. Without a report it has no result."""
    monkeypatch.setattr(load.Job, "deadline", 0.5)
    found = load.run("ab", load.Job(silent, connections=10, requests=101), CORES)
    assert "told to end" in found.notes[0]
    assert (found.good, found.unfinished) == (0, 101)
    monkeypatch.setattr(load.Ab, "command", lambda *_: ["sh", "-c", "trap '' INT; sleep 60"])
    with pytest.raises(load.LoadError):
        load.run("ab", load.Job(silent), CORES)


@pytest.mark.slow
@pytest.mark.parametrize("tool", [
    pytest.param(name, marks=needs(name)) for name in ("oha", "h2load-rate")])
def test_an_open_loop_shows_a_stall(tool, monkeypatch):
    """At its 20th request, the server stops for a second. 150 of the 600 requests are due
    until it goes on: the first of them waits a second. Only five connections are open: the
    others wait in the tool, and that counts too."""
    numbers, one_at_a_time = iter(()), threading.Lock()

    class Answer(http.server.BaseHTTPRequestHandler):
        """A connection, which is kept."""

        protocol_version = "HTTP/1.1"

        def do_GET(self):
            with one_at_a_time:
                if next(numbers) == 20:     # of this load
                    time.sleep(1)
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n42")

    monkeypatch.setattr(http.server.ThreadingHTTPServer, "request_queue_size", 1000)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def is_seen():
            """Of the others most must not wait, as on a machine that is crowded throughout."""
            nonlocal numbers
            numbers = itertools.count(1)
            found = load.run(tool, load.Job(
                f"http://127.0.0.1:{server.server_address[1]}/", connections=60, calls=10,
                rate=15.0, seconds=4.0, sharers=5), CORES)
            assert (found.good, found.failed_percent) == (600, 0)
            assert 850 < found.p99 <= found.max and found.max > 900
            return found.p50 < 300 and found.lag_percent < 2

        wait_until(is_seen)
        server.shutdown()


@pytest.mark.skipif(bool(servers.named("epoll").problem()), reason="needs `make all`")
def test_idle_connections_are_open_while_the_load_runs(tmp_path):
    """The server has accepted all of them before the load begins (the last one has its descriptor a
    little later), and has none afterwards. If it closes some, nothing was measured."""
    def running(*extra):
        return servers.running(servers.named("epoll"), servers.Start(
            frozenset(CORES), extra=extra), str(tmp_path / "log"))

    with running() as live:
        before = procfs.open_descriptors(live.pid)
        with idle.held(live.port, 50):
            assert procfs.open_descriptors(live.pid) >= before + 49
        wait_until(lambda: procfs.open_descriptors(live.pid) == before)
    with running("--request-timeout", "1") as live:
        with pytest.raises(load.LoadError, match="the server closed 50 of 50 idle connections"):
            with idle.held(live.port, 50):
                wait_until(lambda: procfs.open_descriptors(live.pid) <= before)


def test_idle_connections_that_cannot_be_opened_are_no_load(monkeypatch):
    """No server listens, or none accepts."""
    monkeypatch.setattr(idle, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(load.LoadError, match="of 3 connections, 3 were never accepted"):
            with idle.held(port, 3):
                pass
    with pytest.raises(load.LoadError, match="0 of 3 connections were opened: "):
        with idle.held(port, 3):
            pass


def test_limits_of_the_tools():
    """ab would print its usage, wrk drop the latency of what comes after its time-out."""
    with pytest.raises(load.LoadError, match="20,000 clients"):
        load.TOOLS["ab"].command(load.Job("", connections=20001), "")
    argv = load.TOOLS["wrk"].command(load.Job("", seconds=2.6), "")
    assert argv[argv.index("--timeout") + 1] == "4s"
