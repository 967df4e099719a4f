"""What the load tools print, recorded from real runs, and what is read."""

import contextlib
import os
import selectors
import shutil
import socket
import threading
import time

import pytest

from bench import load
from bench.load import base

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
    """All answered; percentiles come from the file, finer than 1 ms. The mean
    is that of the connection times, not ab's "Time per request"."""
    result = parsed("ab_good", tmp_path, connections=20)
    assert 18.5 <= result.mean <= 19.5 and result.mean != 18.922
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


def test_the_mean_of_ab_is_finer_than_its_report(tmp_path):
    """Most answers take 0.2 ms and some 3 ms: the report says 0 ms, the
    percentiles tell nearly how much it is."""
    times = [0.2] * 90 + [3.0] * 11
    (tmp_path / "percentiles.csv").write_text(
        "Percentage served,Time in ms\n"
        + "".join(f"{i},{ms:.3f}\n" for i, ms in enumerate(times)))
    text = ("Complete requests:      1000\n"
            "Time taken for tests:   1.000 seconds\n"
            "Time per request:       9.000 [ms] (mean)\n"
            "Total:          0    0   0.5      0       3\n")
    job = load.Job(("http://127.0.0.1:8000/",))
    result = load.TOOLS["ab"].parse(text, job, str(tmp_path))
    assert result.mean == pytest.approx(0.48, abs=0.02)


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
    assert base.milliseconds("659.61us") == pytest.approx(0.65961)
    assert base.milliseconds("1.02s") == pytest.approx(1020)


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
    """Without time-outs a server that is behind has the time it took. The
    last connections lived long, but began in time: httperf did not lag."""
    good = parsed("httperf_good", tmp_path, connections=50, calls=10, rate=50)
    assert good.seconds == 1.42
    assert (good.sent_rate, good.lag_percent) == (500, 0)


def test_httperf_that_lags(tmp_path):
    """50 connections were due within 0.5 s. They took more than 0.9: the
    longest lived 0.45 s, and all ended after 1.42 s."""
    late = parsed("httperf_good", tmp_path, connections=50, calls=10, rate=100)
    assert late.lag_percent == pytest.approx(100 * (1 - 0.5 / 0.967), rel=.01)
    assert late.sent_rate == pytest.approx(500 / 0.967, rel=.01)
    assert "httperf lagged" in late.notes[0]


def test_httperf_out_of_descriptors(tmp_path):
    """It names its own limit, so that the server is not blamed."""
    result = parsed("httperf_descriptors", tmp_path, connections=3000,
                    calls=10, rate=2000)
    assert "1019 fd-unavail" in result.notes[0]


def test_oha(tmp_path):
    """Answers by status, errors by kind, and what was never asked for when it
    was interrupted; percentiles in milliseconds."""
    job = {"connections": 10, "calls": 10, "rate": 20.0, "timeout": 1.0}
    good = parsed("oha_good", tmp_path, **job)
    assert (good.good, good.failed_percent, good.notes) == (100, 0, [])
    assert 0.05 < good.p50 < good.p99 <= good.max < 500
    assert good.sent_rate == pytest.approx(200, rel=.02)
    mixed = parsed("oha_mixed", tmp_path, **job)
    assert (mixed.good, mixed.failed, mixed.timeouts) == (50, 50, 0)
    assert "25 connection error" in mixed.notes[0]
    hung = parsed("oha_hung", tmp_path, **job)
    assert (hung.good, hung.timeouts, hung.unfinished) == (0, 40, 60)
    assert hung.p99 is hung.lag_percent is None
    late = parsed("oha_good", tmp_path, **{**job, "rate": 40.0})
    assert late.lag_percent == pytest.approx(50, abs=3)
    assert "oha lagged" in late.notes[0]


def test_every_tool_says_what_its_latency_is():
    """The sentence is printed with the figures."""
    for name, tool in load.TOOLS.items():
        assert tool.latency.startswith(name + ":")
        assert tool.open_loop == (name in ("httperf", "oha"))


def test_nonsense_is_an_error():
    """Output without a report is told as such."""
    job = load.Job(("http://127.0.0.1:1/",))
    for name in load.TOOLS:
        with pytest.raises(load.LoadError, match="no report"):
            load.TOOLS[name].parse("Segmentation fault\n", job, "/nowhere")


def test_merge():
    """Counts add up; of the 99th percentiles the worst counts."""
    one = load.Result(good=100, failed=1, seconds=1.0, p50=1.0, p99=5.0,
                      cpu=0.5, sent_rate=90.0, lag_percent=10.0)
    two = load.Result(good=300, unfinished=2, seconds=1.1, p50=2.0, p99=9.0,
                      cpu=0.25, sent_rate=300.0, lag_percent=0.0)
    both = load.merge([one, two])
    assert (both.good, both.failed, both.unfinished) == (400, 1, 2)
    assert both.seconds == 1.1 and both.cpu == 0.75
    assert both.p50 == pytest.approx(1.75) and both.p99 == 9.0
    assert (both.sent_rate, both.lag_percent) == (390, 10)


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
    assert result.max > 2290


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

    class Stuck(load.Httperf):
        """A tool that nothing but a kill ends."""

        def path(self):
            return "/bin/sh"

        def command(self, job, folder):
            return ["sh", "-c", "trap '' INT; sleep 60"]

    monkeypatch.setitem(load.TOOLS, "httperf", Stuck())
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
    job = load.Job(("http://127.0.0.1:1/",), rate=1.0)
    for name, remedy in (("wrk", "apt-get install wrk"),
                         ("oha", "cargo install oha")):
        monkeypatch.setattr(type(load.TOOLS[name]), "path", lambda self: None)
        with pytest.raises(load.LoadError, match=remedy):
            load.run(name, job, {0})


@pytest.fixture(name="stalling")
def stalling_server():
    """A server that answers immediately, but stops once for a second, from
    its 20th request on."""
    def serve():
        requests = 0
        while True:
            for key, _ in selector.select():
                if key.fileobj is stop:
                    return
                if key.fileobj is listener:
                    selector.register(listener.accept()[0],
                                      selectors.EVENT_READ)
                    continue
                try:
                    asked = key.fileobj.recv(4096)
                except ConnectionError:
                    asked = b""
                if not asked:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    continue
                requests += 1
                if requests == 20:
                    time.sleep(1)
                key.fileobj.sendall(
                    b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n"
                    b"Content-Length: 2\r\n\r\n42")

    stop, end = socket.socketpair()
    with selectors.DefaultSelector() as selector, stop, end, \
            socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
        for one in (stop, listener):
            selector.register(one, selectors.EVENT_READ)
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        end.send(b"x")
        thread.join()
        for key in list(selector.get_map().values()):
            key.fileobj.close()


@pytest.mark.skipif(bool(load.missing("oha")), reason="needs oha")
def test_an_open_loop_shows_a_stall(stalling):
    """150 of the 600 requests are due while the server stands still: the first
    of them waits a second. Only 100 connections are open: the others wait in
    the tool, and that counts too."""
    job = load.Job((stalling,), connections=60, calls=10, rate=15.0,
                   seconds=4.0)
    result = load.run("oha", job, os.sched_getaffinity(0))
    assert (result.good, result.failed_percent) == (600, 0)
    assert result.max == pytest.approx(1000, rel=0.1)
    assert 850 < result.p99 <= result.max
    assert result.p50 < 300
    assert result.lag_percent < 2


@pytest.mark.parametrize("name, corrected", [("wrk", True), ("ab", False)])
def test_a_closed_loop_and_a_stall(name, corrected, stalling):
    """One client, a stall of one second in two: a single slow answer. wrk adds
    hundreds more, so that its mean is no longer clients / rate; ab adds none,
    so that its 99th percentile is blind to the stall."""
    if load.missing(name):
        pytest.skip("needs " + name)
    result = load.run(name, load.Job((stalling,), connections=1, seconds=2),
                      os.sched_getaffinity(0))
    assert result.good > 300
    assert result.max == pytest.approx(1000, rel=0.1)
    assert (result.p99 > 500) == corrected
    assert (result.mean > 10 * 1e3 / result.rate) == corrected
