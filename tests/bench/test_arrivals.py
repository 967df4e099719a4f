"""The open loop of two kinds of requests: its plan, what it sends, what it reports."""

import contextlib
import json
import os
import socket
import threading

import pytest

from tools.bench import load
from tools.bench.load import arrivals

CORES = os.sched_getaffinity(0)


def job(**more):
    """Return the Job of 200 requests, a fifth of them /slow."""
    return load.Job(**{"url": "http://127.0.0.1:8000/quick", "connections": 200, "rate": 400,
                       "other": "/slow", "share": 0.2, "seed": 7, **more})


def test_a_seed_decides_all_arrivals():
    first = arrivals.schedule(job())
    assert first == arrivals.schedule(job()) == sorted(first)
    assert first != arrivals.schedule(job(seed=8))
    assert sum(other for _, other in first) == 40
    assert not any(other for _, other in arrivals.schedule(job(share=0)))


def test_arrivals_are_as_many_a_second_as_was_asked():
    """A Poisson process: the gaps have the mean 1/rate, and a deviation as large as their mean."""
    due = [due for due, _ in arrivals.schedule(job(connections=40_000))]
    gaps = [after - before for before, after in zip([0.0, *due], due)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(1 / 400, rel=0.05)
    assert deviation == pytest.approx(mean, rel=0.05)


def test_a_queue_waits_as_long_as_the_formula_of_m_g_1_says():
    """Pollaczek and Khinchine: lambda E(S^2) / (2 (1 - rho))."""
    came = arrivals.schedule(job(connections=400_000))
    short, other = 0.0001, 0.005
    waits = arrivals.queue_of_one(came, short, other)
    square = 0.8 * short ** 2 + 0.2 * other ** 2
    load_ = 400 * (0.8 * short + 0.2 * other)
    expected = short + 400 * square / (2 * (1 - load_))
    assert sum(waits) / len(waits) == pytest.approx(expected, rel=0.05)


def test_what_is_predicted_has_also_what_surrounds_the_server():
    """Of these, each short one takes 0.2 ms of a server and 0.3 ms around it; the first is lucky,
    and one has failed. The mean that is predicted is theirs."""
    came = arrivals.schedule(job(connections=2000))
    waits = iter(arrivals.queue_of_one(came, 0.0002, 0.005))
    asked = [(due, other, 5_000 if other else 1e6 * (next(waits) + 0.0003)) for due, other in came]
    short = [number for number, (_, other, _) in enumerate(asked) if not other]
    expected = sum(asked[number][2] for number in short) / len(short)
    for number, took in zip(short, (200, None)):
        asked[number] = (*asked[number][:2], took)
    assert arrivals.predicted(asked)["mean"] == pytest.approx(expected / 1e3, rel=0.01)
    assert not arrivals.predicted([(0.0, False, None)])


def report(took, late=0):
    """Return what arrive.py prints of requests that took these microseconds."""
    return json.dumps({"requests": [[late, one] for one in took], "errors": {},
                       "timeouts": 0, "seconds": 1.0})


def test_percentiles_are_those_of_the_short_kind():
    """Slow ones, and those that failed, are in no percentile; failures are counted."""
    asked = job(connections=10)
    took = [20_000 if other else 300 for _, other in arrivals.schedule(asked)]
    short = [number for number, (_, other) in enumerate(arrivals.schedule(asked)) if not other]
    took[short[0]], took[short[1]] = None, 900
    found = load.TOOLS["arrivals"].read(report(took), asked, "")
    assert (found.good, found.failed, found.unfinished) == (9, 1, 0)
    assert (found.p50, found.p99, found.max) == (0.3, 0.9, 0.9)
    assert found.queue["longest"] >= 0.3


@pytest.mark.parametrize("late, percent", [(0, 0), (900, 0), (1500, 100)])
def test_what_was_sent_late_is_told(late, percent):
    found = load.TOOLS["arrivals"].read(report([300] * 10, late), job(connections=10), "")
    assert found.lag_percent == percent


@contextlib.contextmanager
def server(answer):
    """Run a server of one thread, for whose each client answer(socket, its path) is called; yield
    the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        def run():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client:
                        answer(client, client.recv(4096).split()[1])
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def measured(answer, **more):
    """Return the load.Result of a run against server(answer)."""
    with server(answer) as port:
        return load.run("arrivals", job(url=f"http://127.0.0.1:{port}/quick", **more), CORES)


def test_the_clock_runs_from_the_time_at_which_a_request_was_due():
    """The first client is held until ten others have come: their waits are in the report, though
    the server answers each of them immediately when it gets there."""
    came, held = [], threading.Event()

    def answer(client, path):
        if not came:
            held.wait(0.2)
        came.append(path)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    found = measured(answer, connections=20, rate=1000, share=0)
    assert found.good == 20 and not found.failed
    assert found.p50 > 100          # half of them were due more than 100 ms before its end


def test_both_kinds_are_asked_for():
    paths = []

    def answer(client, path):
        paths.append(path)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    found = measured(answer, connections=50, rate=2000)
    assert found.good == 50
    assert sorted(paths) == [b"/quick"] * 40 + [b"/slow"] * 10


@pytest.mark.parametrize("text, said", [
    (b"HTTP/1.1 503 Nothing\r\n\r\n", "HTTP/1.1 503"), (b"", "no answer")])
def test_what_is_no_good_answer_has_failed(text, said):
    found = measured(lambda client, _: client.sendall(text), connections=5, rate=1000)
    assert (found.good, found.failed, found.p50) == (0, 5, None)
    assert said in found.notes[0]


def test_a_client_gives_up():
    """An answer that never comes is a time-out, and the run ends."""
    found = measured(lambda client, _: client.recv(1), connections=3, rate=1000, timeout=0.3)
    assert (found.good, found.failed, found.timeouts) == (0, 3, 3)
