"""The meters on children whose cost is known."""

import os
import socket
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from bench import load
from bench.meter import Metric, costs, memory, procfs, sockets
from bench.run import process as child

CORES = frozenset(os.sched_getaffinity(0))
BURN = """
import os, sys, time
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""


@contextmanager
def running(code, tmp_path):
    """Run Python `code`, which prints `ready`; yield the process."""
    log = tmp_path / "log"
    with open(log, "wb") as output:
        process = child.spawn([sys.executable, "-u", "-c", BURN + code], CORES, output)
    try:
        wait_until(lambda: "ready" in log.read_text())
        yield process
    finally:
        if process.returncode is None:
            child.stop(process)


def wait_until(true):
    """Wait until `true()` is, at most 20 seconds."""
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_tree_has_grandchildren(tmp_path):
    """Three generations, and a fork made by a thread."""
    with running("""
import threading
def fork():
    if os.fork() == 0:
        time.sleep(60)
if os.fork() == 0:
    fork()
    time.sleep(60)
thread = threading.Thread(target=fork)
thread.start()
print("ready")
time.sleep(60)
""", tmp_path) as process:
        wait_until(lambda: len(procfs.tree(process.pid)) == 4)
        tree = procfs.tree(process.pid)
        assert sum(procfs.proportional_memory(p.pid) for p in tree) > 1 << 20
    assert not procfs.tree(process.pid)


@pytest.mark.parametrize("code, seconds, said", [
    ("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
     "print('ready')\ntime.sleep(60)", 0.3, "SIGKILL"),
    ("print('ready')\nos.abort()", 10, "SIGABRT")])
def test_stop_tells_what_is_no_clean_end(code, seconds, said, tmp_path):
    """A process that ignores SIGTERM, and one that crashed before it."""
    with running(code, tmp_path) as process:
        wait_until(lambda: said == "SIGKILL" or procfs.process(process.pid).state == "Z")
        ended, clean = child.stop(process, seconds=seconds)
    assert not clean and str(ended) == said


def meter_of(pid):
    """Return a CostMeter of the process `pid` with a list of the times at
    which it took samples."""
    seen = []
    meter = costs.CostMeter(SimpleNamespace(
        pid=pid, start=SimpleNamespace(cores=CORES), served=None))
    meter.metrics = [Metric()]
    return meter, seen


@pytest.mark.parametrize("seconds, cost, least, most", [(0.4, 0.0, 3, 9), (1.0, 0.1, 2, 2)])
def test_samples_are_few_and_end_with_the_load(seconds, cost, least, most):
    """A peak that one sample saw is hardly a peak. One that takes 0.1 s of
    the core is not taken in between, so that the load tool keeps its core."""
    meter, seen = meter_of(os.getpid())

    def sample(watch):
        seen.append(time.monotonic())
        until = time.thread_time() + cost
        while time.thread_time() < until:
            pass

    meter.metrics[0].sample = sample
    meter.begin(seconds)
    end = meter.begun + seconds
    while time.monotonic() < end:
        time.sleep(max(0.0, min(meter.tick(), end) - time.monotonic()))
    assert least <= len(seen) <= most       # the first of them before the load
    assert 0.5 * seconds < seen[-1] - meter.begun < 0.98 * seconds


def test_a_busy_core_is_not_busier_than_it_can_be(tmp_path):
    """Work that the server does after the load is part of its cost, but not of
    the time that the load took."""
    with running("print('ready')\nburn(0.5)\ntime.sleep(60)", tmp_path) as process:
        meter, _ = meter_of(process.pid)
        meter.begin(0.2)
        time.sleep(0.2)
        meter.end(load.Result(good=100))
    watch = meter.watch
    assert 0 < watch.busy_cpu <= watch.wall + 0.02
    assert watch.busy_cpu <= watch.server_cpu


def test_accept_queue():
    """Waiting connections are counted, accepted ones are not."""
    with socket.create_server(("127.0.0.1", 0), backlog=5) as listener:
        port = listener.getsockname()[1]
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        assert sockets.accept_queue(port) == (3, 5)
        accepted = listener.accept()[0]
        assert sockets.accept_queue(port) == (2, 5)
        for sock in [accepted, *clients]:
            sock.close()


def test_overflow_is_counted():
    """The kernel counts what a full accept queue turns away; a client whose
    connection is not made is silent."""
    before = sockets.tcp_counters()["ListenOverflows"]
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        clients = [socket.socket() for _ in range(6)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        wait_until(lambda: sockets.tcp_counters()["ListenOverflows"] > before)
        assert 3 <= sockets.silent_clients(listener.getsockname()[1], 60) <= 5
        for client in clients:
            client.close()


def test_open_connections_are_the_descriptors_that_came():
    """Those from before do not count; those that have gone count at the peak."""
    me = procfs.process(os.getpid())
    watch = SimpleNamespace(tree=[me], count_connections=True, answered=None)
    metric = memory.Memory()
    metric.begin(watch)
    opened = [os.dup(0) for _ in range(510)]
    metric.sample(watch)
    for descriptor in opened:
        os.close(descriptor)
    metric.sample(watch)
    found = metric.finish(watch)
    assert found["open_connections"] == 510
    assert found["bytes_per_connection"] is not None
