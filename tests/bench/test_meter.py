"""The meters on children whose cost is known, and on what has ended."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.bench import load
from tools.bench.meter import costs, cpu, memory, switches, syscalls, yardstick
from tools.kit import process as child, procfs, sockets, strace
from tests.bench.made_up import wait_until

CORES = frozenset(os.sched_getaffinity(0))


@contextlib.contextmanager
def running(code, tmp_path):
    """Run Python `code`, which prints `ready`; yield the process."""
    log = tmp_path / "log"
    with open(log, "wb") as output:
        process = child.spawn([sys.executable, "-uc", "import os, time\n" + code], CORES, output)
    try:
        wait_until(lambda: "ready" in log.read_text())
        yield process
    finally:
        if process.returncode is None:
            child.stop(process)


FORKS = """
import threading
def fork():
    os.fork()
    time.sleep(60)
os.fork() or fork()
threading.Thread(target=fork).start()
print("ready")
time.sleep(60)
"""


def test_all_that_a_server_has_started_is_measured(tmp_path):
    """Three generations, and a fork made by a thread. A group has those that were there before
    it, too."""
    with running(FORKS, tmp_path) as process:
        wait_until(lambda: len(procfs.tree(process.pid)) == 4)
        family = [one.pid for one in procfs.tree(process.pid)]
        assert sum(map(procfs.proportional_memory, family)) > 1 << 20
        with cpu.of_tree(process.pid) as opened:
            group = isinstance(opened, cpu.Group)
            if group:
                moved = procfs.read(opened.folder / "cgroup.procs").split()
                assert set(map(int, moved)) == set(family)
    assert not procfs.tree(process.pid)
    if not group:
        pytest.skip("no control group can be made here; the rest was tested")


def test_what_ignores_to_end_is_killed(tmp_path):
    with running("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                 "print('ready')\ntime.sleep(60)", tmp_path) as process:
        ended = child.stop(process, seconds=0.3)
    assert (str(ended), ended.early) == ("SIGKILL", False)


def test_busy_times_are_those_of_a_clock(monkeypatch):
    """Work that no sample has seen counts, and idle time of which all samples say work does not."""
    now = {"idle": 1000, "seen": 0, "clock": 50.0}
    monkeypatch.setattr(procfs, "read", lambda _: (
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 {seen} 0 0 {idle} 5 0 0 0 0 0\n"
        "cpu1 0 0 0 0 0 0 0 0 0 0\n".format(**now)))
    monkeypatch.setattr(procfs.time, "monotonic", lambda: now["clock"])
    begun = procfs.busy_times()
    now.update(clock=51.0, idle=1000 + 3 * procfs.TICKS // 4)
    unseen = procfs.busy_times()
    now.update(clock=52.0, seen=procfs.TICKS, idle=now["idle"] + procfs.TICKS)
    idle = procfs.busy_times()
    assert (unseen[0] - begun[0], unseen[1] - begun[1]) == pytest.approx((0.25, 1.0))
    assert idle[0] - unseen[0] == pytest.approx(0.0)


@pytest.mark.parametrize("file, text", [
    ("/proc/schedstat", "version 15\ncpu0 0 0 9 9 9 9 2500000000 7 7\ndomain0 3 0 0 0 0 0 8 8\n"
     "cpu1 0 0 9 9 9 9 500000000 7 7\n"),
    ("/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu", "2500000000 500000000 \n")])
def test_programs_are_told_from_interrupts(file, text, monkeypatch):
    monkeypatch.setattr(procfs, "read", lambda path: text if path == file else "")
    assert procfs.program_times() == {0: 2.5, 1: 0.5}


def test_a_program_is_seen_on_its_core():
    """By whatever this kernel tells; the other cores are not the server's."""
    core = min(CORES)
    before = procfs.program_times()
    busy = child.spawn([sys.executable, "-c", "while True: pass"], {core}, subprocess.DEVNULL)
    try:
        wait_until(lambda: procfs.program_times()[core] > before[core] + 0.1)
    finally:
        child.stop(busy)


def test_foreign_load_is_what_other_programs_ran():
    """Not the half of a second in which the core neither idled nor ran a program."""
    values = cpu.CpuTime().finish(SimpleNamespace(
        live=SimpleNamespace(start=SimpleNamespace(cores={0})), result=load.Result(), wall=10.0,
        load_cores={1},
        core_times={0: 9.0, 1: 4.0, 2: 0.0}, program_times={0: 8.5, 1: 4.0}, busy_cpu=8.0,
        stolen_times={0: 0.2, 1: 0.0},
        redis_pid=None, answered=0))
    assert values["foreign"] == pytest.approx(5.0) and values["steal"] == pytest.approx(2.0)
    assert (values["server_busy"], values["load_cores_busy"]) == pytest.approx((80.0, 40.0))


def test_a_busy_core_is_not_busier_than_it_can_be(tmp_path):
    """Work that the server does after the load is part of its cost, but not of
    the time that the load took."""
    with running("print('ready')\nwhile time.process_time() < 0.5: pass\ntime.sleep(60)",
                 tmp_path) as process:
        meter = costs.CostMeter(SimpleNamespace(
            pid=process.pid, served=None, start=SimpleNamespace(cores=CORES)))
        meter.metrics = [cpu.CpuTime()]
        meter.begin(0.2)
        time.sleep(0.2)
        meter.end(load.Result(good=100))
    values = meter.finish()
    busy = values["server_busy"] / 100 * len(CORES)     # of one core
    assert 0 < busy <= 1.1 and busy * 0.2 <= 100 * values["cpu_us"] / 1e6


@pytest.fixture(name="meter")
def meter_with_a_clock(monkeypatch):
    """A CostMeter without metrics, for which `meter.clock` is the time: 100."""
    meter = costs.CostMeter(SimpleNamespace(pid=os.getpid(), served=None))
    meter.metrics, meter.clock = [], 100.0
    monkeypatch.setattr(costs.time, "monotonic", lambda: meter.clock)
    return meter


@pytest.mark.parametrize("longer", [False, True])
def test_the_shortest_run_is_looked_at_under_load(longer, meter):
    """Of a run that ends by requests, only how long it lasts at least is known."""
    meter.begin(load.Job("", requests=5000, seconds=60).least_seconds, longer)
    assert 100 < meter.next < 100.2
    meter.clock = 100.3
    assert (meter.tick() < 110) == longer


def test_a_load_that_opens_longer_is_looked_at_when_all_are_open(meter):
    """Whatever a look costs: at least twice while all of them are open."""
    meter.begin(1.2, opened=0.7)
    meter.clock = 105.0
    assert 105 < meter.tick() <= 105.35


LONG_CALLS = """
import select
asked, call = os.eventfd(0), select.poll()
os.sched_setaffinity(0, {CORE})
for _ in range(15000):
    call.register(os.dup(asked), select.POLLIN)
call.register(os.eventfd(1), select.POLLIN)     # which is found last
print("ready")
while True:
    call.poll()
"""


def test_the_yardstick_keeps_away_from_long_system_calls(tmp_path):
    """The kernel charges the rest of a call to the thread that it wakes in the middle of it."""
    core = min(CORES)
    machine = SimpleNamespace(server_cores={core}, load_cores=set())
    assert not yardstick.build()
    with running(LONG_CALLS.replace("CORE", str(core)), tmp_path), yardstick.running(machine):
        mine = [one for one in procfs.tree(os.getpid())
                if procfs.read(f"/proc/{one.pid}/comm") == "yardstick\n"]
        begun, used = time.monotonic(), procfs.cpu_time(mine)
        time.sleep(0.5)
        share = (procfs.cpu_time(mine) - used) / (time.monotonic() - begun)
    assert mine and share < 0.1


def test_overflow_is_counted():
    """The kernel counts what a full accept queue turns away; a client whose
    connection is not made is silent."""
    before = sockets.counters()["ListenOverflows"]
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        clients = [socket.socket() for _ in range(6)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        wait_until(lambda: sockets.counters()["ListenOverflows"] > before)
        assert 3 <= sockets.silent_clients(listener.getsockname()[1], 60) <= 5
        for client in clients:
            client.close()


def watching(answered):
    """Return (what a metric looks at: this process, whose connections count; Memory that has
    begun)."""
    watch = SimpleNamespace(tree=[procfs.process(os.getpid())], count_connections=True,
                            answered=answered, made=None)
    metric = memory.Memory()
    metric.begin(watch)
    return watch, metric


def test_open_connections_are_the_descriptors_that_came():
    """Those from before do not count; those that have gone count at the peak."""
    watch, metric = watching(None)
    opened = [os.dup(0) for _ in range(510)]
    metric.sample(watch)
    list(map(os.close, opened))
    metric.sample(watch)
    found = metric.finish(watch)
    assert found["open_connections"] == 510
    assert found["bytes_per_connection"] is not None


def test_connections_that_wait_to_be_accepted_are_made():
    """The server has one, and two are in its queue."""
    with socket.create_server(("127.0.0.1", 0), backlog=5) as listener:
        watch, metric = watching(1)
        metric.sample(watch)
        assert watch.made is None
        clients = [socket.create_connection(listener.getsockname()) for _ in range(3)]
        with listener.accept()[0]:
            metric.sample(watch)
        list(map(socket.socket.close, clients))
    assert watch.made >= 3      # other programs of this network make some, too


@pytest.mark.parametrize("answered, found", [(5000, None), (0, 0)])
def test_no_sample_is_not_no_connection(answered, found):
    """On a crowded machine no look at the server may come while its connections are open. Then
    their number is not known; it is not 0."""
    watch, metric = watching(answered)
    metric.end(watch)
    assert metric.finish(watch)["open_connections"] == found


COUNT, SLEEPS = 25, 5       # of each, and in each


@pytest.fixture(name="program", scope="module")
def built(tmp_path_factory):
    """The path of data/ended.c, compiled."""
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    path = tmp_path_factory.mktemp("ended") / "ended"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", path,
                    Path(__file__).with_name("data") / "ended.c"], check=True)
    return path


def metered(program, how):
    """Run the program. Return what is seen of it and what it says itself, as
    ([Cpu of /proc, Cpu of a group if there can be one], switches, CPU seconds, switches)."""
    with subprocess.Popen([program, how, str(COUNT)], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process, contextlib.ExitStack() as stack:
        assert process.stdout.readline() == "ready\n"
        meters = [cpu.ProcMeter(process.pid)]
        with contextlib.suppress(OSError):
            meters.append(stack.enter_context(contextlib.closing(cpu.Group(process.pid))))
        switched = switches.of_tree(procfs.tree(process.pid))
        before = [meter.read() for meter in meters]
        print("go", file=process.stdin, flush=True)
        seconds, itself = process.stdout.readline().split()
        procfs.settle(process.pid)
        used = [meter.read() - begun for meter, begun in zip(meters, before)]
        counted = switches.of_tree(procfs.tree(process.pid))
        process.stdin.close()
        process.wait()
    return used, counted - switched, float(seconds), int(itself)


@pytest.mark.parametrize("how", ["fork", "thread"])
def test_meters_count_what_has_ended(program, how):
    """/proc cuts time off at 10 ms, twice before and after, for the program and for its children.
    A group counts not less than the clocks of threads and children say, and hardly more: their end
    is the only thing that they cannot measure. Each sleep is a switch, and for each of them the
    program waits once. To stop and continue it, and its own wait for a line, take a few more; what
    ended before takes none."""
    (proc, *group), counted, known, itself = metered(program, how)
    assert known >= COUNT * 0.02
    assert abs(proc.total - known) <= 4 * 0.01 + 0.03 * known
    for used in group:
        assert known <= used.total <= 1.03 * known
    assert itself >= COUNT * (SLEEPS + 1)
    assert itself <= counted <= itself + 20


def test_strace_does_not_wait_for_one_that_has_ended(tmp_path):
    """A child of 02 may end between the look at the server's processes and strace's. A zombie
    cannot be followed; the others are."""
    with subprocess.Popen(["true"]) as ended, subprocess.Popen(["sleep", "60"]) as sleeps:
        try:
            wait_until(lambda: procfs.state(ended.pid) == "Z")
            with strace.following([ended.pid, sleeps.pid], ["-q"], tmp_path / "calls") as one:
                assert procfs.find(r"^TracerPid:\s*(\d+)",
                                   f"/proc/{sleeps.pid}/status") == str(one.pid)
        except strace.StraceError as error:
            if "Operation not permitted" in str(error) and os.geteuid():
                pytest.skip(str(error))
            raise
        finally:
            sleeps.kill()


def test_strace_that_follows_too_late_is_ended(monkeypatch, tmp_path):
    """It would slow down what is measured next."""
    (tmp_path / "strace").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "strace").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(strace, "SECONDS", 0.2)
    before = len(procfs.tree(os.getpid()))
    with pytest.raises(strace.StraceError):
        syscalls.count(SimpleNamespace(pid=os.getpid()), CORES, None)
    assert len(procfs.tree(os.getpid())) == before


def test_group_that_cannot_be_made(monkeypatch, tmp_path):
    """/proc takes its place, and nothing is left over."""
    monkeypatch.setattr(procfs, "read", lambda _, read=procfs.read:
                        "" if _ == "/proc/self/cgroup" else read(_))
    for root in (tmp_path / "nowhere", tmp_path):   # or files of no group
        monkeypatch.setattr(cpu, "ROOT", root)
        with cpu.of_tree(os.getpid()) as meter:
            assert isinstance(meter, cpu.ProcMeter)
    assert not list(tmp_path.glob("**/bench-*"))


def test_the_yardstick_knows_what_a_core_is_slowed_down_by():
    """It measures each piece again and again under load, and ends with the block. Without a
    second core nothing is handed over. On a crowded machine a visit may find no time for some
    pieces, and comes a hundred times less often."""
    first, *more = sorted(CORES)
    machine, seen = SimpleNamespace(server_cores={first}, load_cores=CORES), []
    expected = [True, True, True, bool(more)]

    def each_was_measured():
        seen.append(yardstick.ask())
        sums = [sum(column) for column in zip(*seen)]
        return sums[0] >= 10 and list(map(bool, sums)) == expected

    assert yardstick.build() == ""
    with yardstick.running(machine):
        wait_until(each_was_measured)
    assert yardstick.ask() == []


def test_without_the_yardstick_its_columns_are_empty(monkeypatch, tmp_path):
    """Where there is no compiler; a load of a few visits has no figures, too."""
    monkeypatch.setattr(yardstick, "PROGRAM", tmp_path / "not there")
    with yardstick.running(SimpleNamespace(server_cores={0}, load_cores={0})):
        metric = yardstick.Yardstick()
        metric.begin(None)
        metric.end(None)
        assert metric.finish(None) == {}
    monkeypatch.setattr(yardstick, "ask", lambda: [yardstick.ENOUGH - 1, 3000, 15000, 90])
    metric.end(None)
    assert metric.finish(None) == {}
