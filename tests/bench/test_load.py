"""What the load tools print, recorded from real runs, and what is read."""

import contextlib
import os
import shutil
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from bench import load

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def parsed(name, tmp_path, **job):
    """Return the Result of the recorded output `name`."""
    percentiles = os.path.join(DATA, name + ".csv")
    if os.path.exists(percentiles):
        shutil.copy(percentiles, tmp_path / "percentiles.csv")
    with open(os.path.join(DATA, name + ".txt"), encoding="utf-8") as file:
        text = file.read()
    tool = load.TOOLS[name.split("_")[0]]
    job = load.Job(("http://127.0.0.1:8000/answer",), **job)
    return tool.parse(text, job, str(tmp_path))


def test_ab_good(tmp_path):
    """All answered; percentiles come from the file, finer than 1 ms."""
    result = parsed("ab_good", tmp_path, connections=20)
    assert result.good > 100 and result.failed == result.unfinished == 0
    assert 0 < result.p50 < result.p99 <= result.max
    assert result.p50 % 1 != 0
    assert result.rate == pytest.approx(result.good / result.seconds)


@pytest.mark.parametrize("name", ["ab_wrong_status", "ab_reset",
                                  "ab_refused"])
def test_ab_failures_are_counted_once(name, tmp_path):
    """200 asked, none good: 200 failed, whatever ab adds up itself."""
    result = parsed(name, tmp_path, connections=20, requests=200)
    assert (result.good, result.failed) == (0, 200)
    assert result.failed_percent == 100
    assert result.p99 is None


def test_ab_that_gave_up(tmp_path):
    """No report at all: everything asked for is unfinished."""
    result = parsed("ab_gave_up", tmp_path, connections=20, requests=200)
    assert (result.good, result.unfinished) == (0, 200)
    assert "timeout" in result.notes[0]


def test_ab_interrupted(tmp_path):
    """An interrupt cuts the rest off, and what was measured counts."""
    result = parsed("ab_interrupted", tmp_path, connections=20)
    assert result.good > 100 and result.unfinished == 0
    assert result.p99 > 0


def test_ab_interrupted_without_any_answer(tmp_path):
    """Then the clients are unfinished: a rate of 0 is not a success."""
    result = parsed("ab_interrupted_hung", tmp_path, connections=20)
    assert (result.good, result.unfinished) == (0, 20)


def test_wrk_good(tmp_path):
    """Units of a latency are turned into milliseconds."""
    result = parsed("wrk_good", tmp_path, connections=20)
    assert result.good > 100 and result.failed_percent == 0
    assert 0 < result.p50 <= result.p99 <= result.max
    assert load.Wrk()._milliseconds("659.61us") == pytest.approx(0.65961)
    assert load.Wrk()._milliseconds("1.02s") == pytest.approx(1020)


@pytest.mark.parametrize("name, good, failed", [
    ("wrk_wrong_status", 0, None), ("wrk_reset", 0, None),
    ("wrk_refused", 0, 20), ("wrk_mixed", 40, 40)])
def test_wrk_failures(name, good, failed, tmp_path):
    """Errors of sockets and wrong statuses are failures, never dropped."""
    result = parsed(name, tmp_path, connections=20)
    assert result.good == good
    assert result.failed == failed if failed is not None \
        else result.failed > 100
    assert result.failed_percent > 0


def test_wrk_without_any_answer(tmp_path):
    """wrk itself reports no error for a server that never answers."""
    result = parsed("wrk_hung", tmp_path, connections=20)
    assert (result.good, result.failed, result.unfinished) == (0, 0, 20)
    assert result.p50 is None


def test_h2load(tmp_path):
    """By number, by time, and what fails."""
    assert parsed("h2load_good", tmp_path).good == 2000
    timed = parsed("h2load_time", tmp_path)
    assert timed.good > 100 and timed.seconds == pytest.approx(0.7, abs=.05)
    hung = parsed("h2load_hung", tmp_path)
    assert (hung.good, hung.failed, hung.timeouts, hung.unfinished) == \
        (0, 20, 20, 180)
    assert parsed("h2load_refused", tmp_path).failed_percent == 100


def test_httperf(tmp_path):
    """A connection that breaks fails a call; those it did not come to are
    unfinished."""
    job = {"connections": 50, "calls": 10, "rate": 100}
    good = parsed("httperf_good", tmp_path, **job)
    assert (good.good, good.failed_percent) == (500, 0)
    hung = parsed("httperf_hung", tmp_path, **job)
    assert (hung.good, hung.failed, hung.unfinished) == (0, 50, 450)
    assert hung.timeouts == 50
    mixed = parsed("httperf_mixed", tmp_path, **job)
    assert (mixed.good, mixed.failed, mixed.unfinished) == (20, 60, 420)
    assert "40 connreset" in mixed.notes[0]
    refused = parsed("httperf_refused", tmp_path, **job)
    assert "50 connrefused" in refused.notes[0]


def test_httperf_is_not_judged_by_the_wait_for_time_outs(tmp_path):
    """One of 300 connections is never answered, or stops after 3 of its 10
    calls: the rate is that of the second in which the others were."""
    job = {"connections": 300, "calls": 10, "rate": 300, "timeout": 2.0}
    silent = parsed("httperf_one_silent", tmp_path, **job)
    assert (silent.good, silent.timeouts, silent.failed) == (2990, 1, 1)
    assert silent.unfinished == 9
    assert silent.rate == pytest.approx(2990, rel=0.02)
    broken = parsed("httperf_one_breaks_off", tmp_path, **job)
    assert (broken.good, broken.timeouts, broken.unfinished) == (2993, 1, 6)
    assert 2300 < broken.rate < 3000


def test_httperf_that_answers_until_the_end(tmp_path):
    """Without time-outs a server that is behind has the time it took."""
    good = parsed("httperf_good", tmp_path, connections=50, calls=10,
                  rate=100)
    with open(os.path.join(DATA, "httperf_good.txt"), encoding="utf-8") as f:
        assert good.seconds == load.number(r"test-duration ([\d.]+)",
                                           f.read())


def test_httperf_out_of_descriptors(tmp_path):
    """It names its own limit, so that the server is not blamed."""
    result = parsed("httperf_descriptors", tmp_path, connections=3000,
                    calls=10, rate=2000)
    assert "1019 fd-unavail" in result.notes[0]


def test_nonsense_is_an_error():
    """Output without a report is told as such."""
    job = load.Job(("http://127.0.0.1:1/",))
    for name in load.TOOLS:
        with pytest.raises(load.LoadError, match="no report"):
            load.TOOLS[name].parse("Segmentation fault\n", job, "/nowhere")


def test_merge():
    """Counts add up; of the 99th percentiles the worst counts."""
    one = load.Result(good=100, failed=1, seconds=1.0, p50=1.0, p99=5.0,
                      cpu=0.5)
    two = load.Result(good=300, unfinished=2, seconds=1.1, p50=2.0, p99=9.0,
                      cpu=0.25)
    both = load.merge([one, two])
    assert (both.good, both.failed, both.unfinished) == (400, 1, 2)
    assert both.seconds == 1.1 and both.cpu == 0.75
    assert both.p50 == pytest.approx(1.75) and both.p99 == 9.0


def test_merge_with_one_that_left_no_report():
    """What one part of the load got is not known, so the whole is not."""
    both = load.merge([load.Result(good=100, seconds=1.0),
                       load.Result(None, None, None, None, None, hung=True)])
    assert both.rate is both.failed_percent is both.unfinished is None
    assert not both.reported and both.hung


@pytest.fixture(name="silent")
def silent_server():
    """A listener that accepts in the kernel and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


def first_that_asks(listener):
    """Return the first connection with a request, which has been read: wrk
    tries at first whether it can connect at all."""
    while True:
        client, _ = listener.accept()
        if client.recv(4096):
            return client
        client.close()


@pytest.fixture(name="choosy")
def choosy_server():
    """A server that answers its first client only, as often as it asks, and
    never the others, which it leaves in the accept queue."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n42"

    def serve():
        with first_that_asks(listener) as client, \
                contextlib.suppress(ConnectionError):
            client.sendall(answer)
            while client.recv(4096):
                client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@pytest.mark.skipif(bool(load.missing("wrk")), reason="needs wrk")
def test_clients_that_are_never_answered_are_unfinished(choosy):
    """One of 20 is answered thousands of times; wrk says nothing of 19."""
    result = load.run("wrk", load.Job((choosy,), connections=20, seconds=1.6),
                      os.sched_getaffinity(0))
    assert result.good > 100 and result.failed == 0
    assert result.unfinished == 19


@pytest.mark.skipif(bool(load.missing("wrk")), reason="needs wrk")
def test_what_the_kernel_does_not_tell_is_not_zero(choosy, monkeypatch):
    """Without its list of sockets nobody knows who was never answered."""
    monkeypatch.setattr(load.sockets, "silent_clients", lambda *_: None)
    result = load.run("wrk", load.Job((choosy,), connections=20, seconds=1.6),
                      os.sched_getaffinity(0))
    assert result.good > 100 and result.unfinished is None
    assert result.failed_percent is None


@pytest.mark.skipif(bool(load.missing("wrk")), reason="needs wrk")
def test_a_late_answer_is_measured():
    """wrk would drop the latency of what takes longer than its 2 s."""
    def serve():
        with first_that_asks(listener) as client:
            time.sleep(2.3)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            client.recv(4096)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        result = load.run("wrk", load.Job((url,), seconds=2.6),
                          os.sched_getaffinity(0))
    assert (result.good, result.timeouts) == (1, 0)
    assert result.max == pytest.approx(2300, rel=0.02)


@pytest.mark.skipif(bool(load.missing("wrk")), reason="needs wrk")
def test_run_cuts_a_fraction_of_a_second(silent):
    """0.4 s of wrk, which itself knows whole seconds only."""
    begun = time.monotonic()
    result = load.run("wrk", load.Job((silent,), connections=5, seconds=0.4),
                      os.sched_getaffinity(0))
    assert time.monotonic() - begun < 2
    assert not result.hung and result.unfinished == 5
    assert result.cpu >= 0 and "-c 5" in result.commands[0]


@pytest.mark.skipif(bool(load.missing("ab")), reason="needs ab")
def test_run_ends_a_tool_that_hangs(silent):
    """ab that waits for 50 answers is ended after the deadline, and said
    to have hung."""
    class Short(load.Job):
        """A job with less patience."""
        deadline = 1.0

    result = load.run("ab", Short((silent,), connections=5, requests=50,
                                  seconds=30), os.sched_getaffinity(0))
    assert result.hung and result.good == 0
    assert result.unfinished == 50 and result.wall < 5


def test_a_tool_without_a_report_gives_no_rate(silent, monkeypatch):
    """It hangs and is killed: what the server did is not known, not 0."""
    class Short(load.Job):
        """A job with less patience."""
        deadline = 0.3

    stuck = SimpleNamespace(
        whole_seconds=False, parse=load.TOOLS["httperf"].parse,
        command=lambda job, folder: ["sh", "-c", "trap '' INT; sleep 60"])
    monkeypatch.setitem(load.TOOLS, "httperf", stuck)
    monkeypatch.setattr(load, "missing", lambda name: "")
    result = load.run("httperf", Short((silent,), connections=5, calls=10,
                                       rate=10.0), os.sched_getaffinity(0))
    assert result.hung and not result.reported
    assert result.rate is result.failed is result.unfinished is None


@pytest.mark.skipif(bool(load.missing("ab")), reason="needs ab")
def test_each_address_gets_its_share(silent):
    """Of the connections and of the requests; none is left out."""
    class Short(load.Job):
        """A job with less patience."""
        deadline = 0.5

    result = load.run("ab", Short((silent, silent, silent), connections=10,
                                  requests=101), os.sched_getaffinity(0))
    words = [command.split() for command in result.commands]
    assert [each[each.index("-c") + 1] for each in words] == ["4", "3", "3"]
    assert [each[each.index("-n") + 1] for each in words] == ["34", "34", "33"]
    assert result.unfinished == 101


def test_run_of_a_missing_tool(monkeypatch):
    """It says what to install."""
    monkeypatch.setattr(load.shutil, "which", lambda name: None)
    with pytest.raises(load.LoadError, match="apt-get install wrk"):
        load.run("wrk", load.Job(("http://127.0.0.1:1/",)), {0})
