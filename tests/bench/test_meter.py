"""The meters on children whose cost is known."""

import os
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from bench.run import process as child
from bench.meter import costs as cost_meter
from bench import load
from bench.meter import Metric, memory, procfs, sockets, switches, syscalls

PYTHON = sys.executable
CORES = frozenset(os.sched_getaffinity(0))

BURN = """
import os, time
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""


def start(code, tmp_path):
    """Run Python `code`, which prints `ready`; return the process."""
    log = tmp_path / "log"
    with open(log, "wb") as output:
        process = child.spawn([PYTHON, "-u", "-c", BURN + code], CORES,
                              output)
    until = time.monotonic() + 20
    while "ready" not in log.read_text():
        assert time.monotonic() < until and process.poll() is None, \
            log.read_text()
        time.sleep(0.01)
    return process


def wait_until(true):
    """Wait until `true()` is, at most 20 seconds."""
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_tree_has_grandchildren(tmp_path):
    """Three generations, and a fork made by a thread."""
    process = start("""
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
""", tmp_path)
    try:
        wait_until(lambda: len(procfs.tree(process.pid)) == 4)
        tree = procfs.tree(process.pid)
        assert sum(procfs.proportional_memory(p.pid) for p in tree) > 1 << 20
    finally:
        child.stop(process)
    assert not procfs.tree(process.pid)


def test_switches_of_living_threads():
    """Each sleep is one."""
    before = switches.living(os.getpid())[0]
    for _ in range(50):
        time.sleep(0.001)
    assert 50 <= switches.living(os.getpid())[0] - before <= 100


def test_stop_kills_what_does_not_end(tmp_path):
    """A process that ignores SIGTERM is killed, and said not to be clean."""
    process = start("""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready")
time.sleep(60)
""", tmp_path)
    ended, clean = child.stop(process, seconds=0.3)
    assert ended.code == -9 and not clean


def test_stop_tells_who_had_ended_by_itself(tmp_path):
    """A crash before the SIGTERM is no clean end."""
    process = start("""
print("ready")
os.abort()
""", tmp_path)
    wait_until(lambda: procfs.process(process.pid).state == "Z")
    ended, clean = child.stop(process)
    assert ended.early and not clean and str(ended) == "SIGABRT"


def meter_of(pid):
    """Return a CostMeter of the process `pid` with a list of the times at
    which it took samples."""
    seen = []
    meter = cost_meter.CostMeter(SimpleNamespace(
        pid=pid, start=SimpleNamespace(cores=CORES), report=None))
    metric = Metric()
    metric.sample = lambda watch: seen.append(time.monotonic())
    meter.metrics = [metric]
    return meter, seen


def test_several_samples_in_a_short_run_and_one_before_its_end():
    """A peak that one sample saw is hardly a peak."""
    meter, seen = meter_of(os.getpid())
    pretend_a_load(meter, 0.4)
    assert len(seen) >= 3           # the first of them before the load
    assert 0.3 < seen[-1] - meter.begun < 0.39


def pretend_a_load(meter, seconds):
    """Call the meter as load.run does, but put no load on anything."""
    meter.begin(seconds)
    end = meter.begun + seconds
    while time.monotonic() < end:
        time.sleep(max(0.0, min(meter.tick(), end) - time.monotonic()))


def test_an_expensive_sample_is_taken_once_and_before_the_end():
    """One that takes 0.1 s of the core is not taken in between, so that the
    load tool keeps its core."""
    meter, seen = meter_of(os.getpid())

    def burn(watch):
        seen.append(time.monotonic())
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass

    meter.metrics[0].sample = burn
    pretend_a_load(meter, 1.0)
    assert len(seen) == 2           # before the load, and before its end
    assert 0.5 < seen[1] - meter.begun < 0.98


def test_a_busy_core_is_not_busier_than_it_can_be(tmp_path):
    """Work that the server does after the load is part of its cost, but not of
    the time that the load took."""
    process = start("""
print("ready")
burn(0.5)
time.sleep(60)
""", tmp_path)
    try:
        meter, _ = meter_of(process.pid)
        meter.begin(0.2)
        time.sleep(0.2)
        meter.end(load.Result(good=100))
        time.sleep(0.5)
        watch = meter.watch
        assert 0 < watch.busy_cpu <= watch.wall + 0.02
        assert watch.busy_cpu <= watch.server_cpu
    finally:
        child.stop(process)


def test_pinning(tmp_path):
    """A child runs on the cores it was given."""
    one = {min(CORES)}
    with open(tmp_path / "log", "wb") as output:
        process = child.spawn(["sleep", "60"], one, output)
    try:
        assert os.sched_getaffinity(process.pid) == one
    finally:
        child.stop(process)


def test_accept_queue():
    """Waiting connections are counted, accepted ones are not."""
    with socket.create_server(("127.0.0.1", 0), backlog=5) as listener:
        port = listener.getsockname()[1]
        clients = [socket.create_connection(("127.0.0.1", port))
                   for _ in range(3)]
        assert sockets.listener(port) == sockets.Listener(3, 5)
        accepted = listener.accept()[0]
        assert sockets.listener(port).waiting == 2
        for sock in [accepted, *clients]:
            sock.close()


def test_open_connections_are_the_descriptors_that_came():
    """Those from before do not count; those that have gone count at the peak."""
    me = procfs.process(os.getpid())
    watch = SimpleNamespace(live=me, tree=[me], count_connections=True,
                            answered=None)
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


def test_overflow_is_counted():
    """The kernel counts what a full accept queue turns away."""
    before = sockets.tcp_counters()["ListenOverflows"]
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        clients = []
        for _ in range(6):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            clients.append(client)
        wait_until(lambda: sockets.tcp_counters()["ListenOverflows"] > before)
        for client in clients:
            client.close()


def test_segments_are_counted():
    """A message and its answer are two segments at least."""
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as client, \
            listener.accept()[0] as accepted:
        before = sockets.segments_sent()
        client.sendall(b"ping")
        accepted.sendall(accepted.recv(4))
        assert client.recv(4) == b"ping"
        assert sockets.segments_sent() >= before + 2


def test_descriptors():
    """One more open file is one more."""
    before = procfs.open_descriptors(os.getpid())
    with open(os.devnull, "rb"):
        assert procfs.open_descriptors(os.getpid()) == before + 1
    assert procfs.descriptor_limit() > 0


def test_core_times_grow():
    """A busy core is seen to be busy."""
    core = min(CORES)
    before = sum(procfs.core_times()[core])
    subprocess.run(["taskset", "-c", str(core), PYTHON, "-c",
                    BURN + "burn(0.4)"], check=True)
    assert sum(procfs.core_times()[core]) - before >= 0.3


ECHO = """
print("ready")
while True:
    data = os.read(0, 1)
    if not data:
        break
    os.write(3, data)
"""


@pytest.mark.parametrize("tool", [syscalls.Perf(), syscalls.Strace()],
                         ids=["perf", "strace"])
def test_system_calls_of_a_known_child(tool, tmp_path):
    """A child reads and writes one byte for each request; the one that it
    forks is followed."""
    if tool.problem():
        pytest.skip(tool.problem())
    to_child, from_child = os.pipe(), os.pipe()
    log = tmp_path / "log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [PYTHON, "-u", "-c", "import os\nos.dup2(%d, 3)\n" % from_child[1]
             + "os.fork() and os.waitpid(-1, 0)\n" + ECHO],
            stdin=to_child[0], stdout=output, stderr=output,
            pass_fds=[from_child[1]], start_new_session=True)
    live = type("Live", (), {"pid": process.pid})

    def work():
        for _ in range(200):
            os.write(to_child[1], b"x")
            os.read(from_child[0], 1)
        return 200

    try:
        while "ready" not in log.read_text():
            time.sleep(0.01)
        calls = syscalls.count(tool, live, CORES, work)
    finally:
        child.kill_session(process.pid)
        process.wait()
        for end in (*to_child, *from_child):
            os.close(end)
    assert calls["read"] == pytest.approx(1, abs=0.05)
    assert calls["write"] == pytest.approx(1, abs=0.05)
    assert calls["all"] == pytest.approx(2, abs=0.2)


def test_strace_table():
    """A table as strace 6 prints it."""
    text = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 67.13    0.141064          11     11977           writev
 28.65    0.060216           5     11979         3 recvfrom
------ ----------- ----------- --------- --------- ----------------
100.00    0.210148           8     23956         3 total
"""
    assert syscalls.Strace().parse(text) == {
        "writev": 11977, "recvfrom": 11979, "all": 23956}
