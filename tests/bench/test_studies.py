"""The studies: their files, which are refused; what is counted; the self-check."""

import contextlib
import os
import pathlib
import random
import subprocess
import sys
import threading
import tomllib
import types

import pytest

from tests.bench import made_up
from tests.bench.made_up import KNOWN, MACHINE
from tools.bench import load, peers, plan
from tools.bench.machine import neighbours
from tools.bench.studies import hooks, self_check, study
from tools.kit import TOP, client, procfs, servers, wait
from tools.results import rundir

OFF = "per cent off an even share, at most"
LOAD = '[[load]]\nname = "x"\nservers = ["poll", "epoll"]\n'


def made(text):
    """Return the study of a TOML text with a title and a question."""
    return study.make("made", tomllib.loads('title = "T"\nquestion = "Q?"\n' + text))


def command(server):
    """Return the argv of a server."""
    return server.command(servers.Start(), 80, "")[0]


def test_each_names_what_there_is():
    """Servers, tools, scripts; each load has its baseline among its servers and a name of its
    own, and each server a load."""
    for one in map(study.load, study.names()):
        assert one.title and one.question.endswith("?"), one.name
        assert len({each.name for each in one.variants}) == len(one.variants), one.name
        for each in one.variants:
            assert each.baseline in each.servers and each.tool in load.TOOLS, one.name
            assert not each.script or pathlib.Path(each.script).is_file(), one.name
            assert each.full, one.name
        for server in one.servers:
            assert any(one.applies(server, each) for each in one.variants), one.name


def test_each_design_is_measured_with_its_own_floor():
    """Those that keep connections have another floor for that."""
    pairs = [each.servers for each in study.load("floors").variants]
    assert [mine for _, mine in pairs[:7]] == study.GROUPS["seven"]
    assert {floor for floor, _ in pairs} == {
        name for name in peers.found() if name.startswith("floor-")}


@pytest.mark.parametrize("text, said", [
    ("", "it has no load"),
    ("colour = 1\n[[load]]", "'colour' at its top is unknown"),
    ('[[load]]\nname = "x"', "a load needs a name, and servers"),
    (LOAD.replace("epoll", "epol"), "there is no peer 'epol'"),
    (LOAD + 'tool = "curl"', "'curl' in load 'x' is unknown"),
    (LOAD + "clients = 5", "clients = 5 in load 'x' is of a wrong type"),
    (LOAD + "keepalive = true", "'keepalive' in load 'x' is unknown"),
    (LOAD + 'other = "/compute?ms=5"', "need each other"),
    (LOAD + 'tool = "oha"\nrequests_each = 10', "oha in load 'x' takes neither"),
    (LOAD + 'tool = "httperf"\nrequests = 10', "httperf in load 'x' takes neither"),
    (LOAD + 'ways = { a = "" }\n' + LOAD.replace('"x"', '"y"') + 'ways = { a = "-v" }',
     "two loads have a way 'a', with other words"),
    (LOAD + 'options = { threaded = "-v" }', "'threaded' in options in load 'x' is unknown"),
    ('count = ["heat"]\n[[load]]\nname = "x"', "'heat' in count is unknown")])
def test_a_wrong_file_is_refused_with_a_sentence(text, said):
    with pytest.raises(ValueError) as error:
        made(text)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["broken.toml", "missing.toml"])
def test_a_file_that_cannot_be_read(tmp_path, name):
    (tmp_path / "broken.toml").write_text("title =\n")
    with pytest.raises(ValueError, match=name):
        study.load(str(tmp_path / name))


def test_each_server_is_compared_with_itself_in_its_first_way():
    one = made('floor = true\nkeep_alive = false\n[ways]\nshort = "--backlog 10"\n'
               'mine = "some/where/ --access-log"\n' + LOAD)
    assert [each.name for each in one.variants] == ["x, poll", "x, epoll"]
    assert one.variants[1].servers == ["floor-epoll", "epoll, short", "epoll, mine"]
    assert one.variants[1].baseline == "floor-epoll"
    _, short, mine = map(command, one.chosen({"epoll"}))
    assert short == [*command(servers.named("epoll")), "--backlog", "10"]
    assert mine[0] == f"{TOP}/some/where/epoll"
    assert mine[-1] == "--access-log" and "10" not in mine


def test_a_way_sets_the_kernel_and_the_core(monkeypatch):
    """The core of the load by taskset(1), which needs another one than the server's."""
    seen = []
    monkeypatch.setattr(study.netns, "set_limits", seen.append)
    one = made('[ways]\n"as ever" = ""\n"one core" = "core=load"\nbatch = "policy=batch"\n'
               'paced = "net.ipv4.tcp_congestion_control=bbr"\n' + LOAD)
    there = {server.name: command(server) for server in one.servers}
    others = ",".join(map(str, sorted(os.sched_getaffinity(0) - {0})))
    assert there["epoll, one core"] == ["taskset", "-c", others, *there["epoll, as ever"]]
    assert there["epoll, batch"] == ["chrt", "--batch", "0", *there["epoll, as ever"]]
    assert there["epoll, paced"] == there["epoll, as ever"]
    assert seen == [{"ipv4/tcp_congestion_control": "bbr"}] * 2     # poll's and epoll's


def test_a_load_has_ways_of_its_own():
    one = made(LOAD + 'ways = { "as ever" = "", log = "--access-log" }\n'
               + LOAD.replace('"x"', '"plain"'))
    assert [(each.name, each.servers) for each in one.variants] == [
        ("x, poll", ["poll, as ever", "poll, log"]),
        ("x, epoll", ["epoll, as ever", "epoll, log"]), ("plain", ["poll", "epoll"])]
    there = {server.name: command(server) for server in one.servers}
    assert there["epoll, log"] == [*there["epoll"], "--access-log"]


def job_of(one, x):
    """Return the load.Job of two seconds of the first load of a study."""
    live = types.SimpleNamespace(server=peers.Peer("floor-epoll"), url=lambda path: path)
    return one.job(live, one.variants[0], x, 2, MACHINE, True)


@pytest.mark.parametrize("words, clients, requests", [
    ("requests_each = 4", 15000, 60000), ("busy = 10", 10, None),
    ("requests = 5000", 15000, 15000), ("requests = 20000", 15000, 20000)])
def test_how_many_clients_ask_and_how_often(words, clients, requests):
    """Those that are idle are not asked to work."""
    job = job_of(made(LOAD + words), 15000)
    assert (job.connections, job.requests) == (clients, requests)


def test_connections_with_several_requests():
    """Of an open loop: the rate is that of all requests."""
    job = job_of(made(LOAD + 'tool = "httperf"\nrequests_each = 10'), 4000)
    assert (job.connections, job.calls, job.asked, job.due_a_second) == (800, 10, 8000, 4000)


ARRIVALS = LOAD + 'tool = "arrivals"\nrate = 400\n'


def test_a_share_of_slow_requests():
    """Of an open loop: x is the share, and the server is started so that it has the page."""
    one = made(ARRIVALS + 'other = "/compute?ms=5"\noptions = { poll = "--backlog 4" }')
    job = job_of(one, 5)
    assert (job.url, job.other, job.share) == ("/answer", "/compute?ms=5", 0.05)
    assert (job.asked, job.rate, job.keep_alive) == (800, 400, False)
    [computing] = one.variants
    assert computing.options == {"poll": ["--compute", "--backlog", "4"], "epoll": ["--compute"]}
    [waiting] = made(ARRIVALS + 'other = "/guestbook"\nredis_ms = 20').variants
    assert waiting.redis == "tcp" and "slow Redis 20" in waiting.options["poll"]


def test_an_equal_rate_is_of_an_open_loop():
    """x is what is due in a second. The study of that name asks as `make compare` does."""
    one = study.load("equal-rate")
    job = job_of(made(LOAD + 'tool = "oha"\npath = "/guestbook"\nkeep_alive = false'), 2000)
    assert (job.url, job.rate, job.asked, job.keep_alive) == ("/guestbook", 2000, 4000, False)
    assert one.open_loop and one.x_short == "requests/s demanded"
    assert not one.obstacle(one.servers[0], 10 * MACHINE.descriptors, MACHINE)
    assert {(each.path, *each.full) for each in one.variants} == {
        (each.path, each.equal_rate) for each in KNOWN.values() if each.equal_rate}
    assert {each.idle for each in one.variants} == {0, KNOWN["hello-rate"].idle}


@pytest.mark.skipif(bool(servers.named("epoll").problem()), reason="needs `make all`")
def test_idle_connections_are_no_requests_of_the_load(tmp_path):
    start = servers.Start(frozenset(os.sched_getaffinity(0)))
    with servers.running(servers.named("epoll"), start, str(tmp_path / "log")) as live:
        with hooks.idle(types.SimpleNamespace(x=7), live, [], {}):
            pass
    assert live.before == 7 and live.served == 0


@pytest.mark.parametrize("name, told_of", [("epoll", True), ("iterative", False)])
@pytest.mark.skipif(bool(servers.named("epoll").problem()), reason="needs `make all`")
def test_the_longest_iteration_is_a_loops_own(tmp_path, name, told_of):
    """In ticks of the kernel; a server without a loop has none."""
    start, told = servers.Start(frozenset(os.sched_getaffinity(0)), extra=("--compute",)), {}
    with servers.running(servers.named(name), start, str(tmp_path / "log")) as live:
        with hooks.iteration(None, live, [], told):
            with client.Connection(("127.0.0.1", live.port), 60) as one:
                # An iteration is counted at its end, so the next one has the second answer.
                for path in ("/compute?ms=200", "/answer"):
                    one.request(path)
                    assert one.response().status == 200
    longest = told.get("ms, the longest iteration")
    assert longest >= 190 if told_of else longest is None


def test_what_a_hook_counts_is_on_disk_after_each_round(tmp_path, monkeypatch):
    """Nothing of a round that failed."""
    @contextlib.contextmanager
    def count(cell, live, seen, told):
        yield
        told["answers"] = seen[0] * 2
    monkeypatch.setitem(hooks.HOOKS, "answers", count)
    one = made('count = ["answers"]\n' + LOAD)
    cell = plan.Cell(one, one.servers[1], one.variants[0], 100)
    folder = rundir.Folder(tmp_path)
    for result in (1, 6):
        with one.beside(cell, None, told := {}) as seen:
            seen.append(result)
        folder.add_counted(made_up.row(server="epoll", repeat=result), told)
        assert rundir.read_rows(f"{folder.path}/counted.csv")[-1] == {
            "experiment": "answer", "variant": "keep-alive", "server": "epoll", "x": 100,
            "repeat": result, "figure": "answers", "value": 2 * result}
    with pytest.raises(load.LoadError), one.beside(cell, None, told := {}):
        raise load.LoadError
    assert not told


@pytest.mark.parametrize("way, words, calls", [
    (["first=7000"], "requests_each = 10", 10), (["first=7000"], "", 1), ([], "", 1)])
def test_a_load_before_the_measurement_is_no_part_of_it(way, words, calls, monkeypatch):
    """It is as the one that is measured, at its own rate."""
    seen = []

    def run(tool, job, _cores):
        seen.append((tool, job.asked, job.due_a_second, job.calls))
        return load.Result(good=job.asked)

    monkeypatch.setattr(load, "run", run)
    [variant] = made(LOAD + 'tool = "httperf"\n' + words).variants
    live = types.SimpleNamespace(server=types.SimpleNamespace(way=way), before=2,
                                 url=lambda path: path)
    with hooks.first(types.SimpleNamespace(variant=variant), live, [], {}):
        assert live.before == (56002 if way else 2)
    assert seen == ([("httperf", 56000, 7000, calls)] if way else [])


def test_what_a_request_takes_of_other_threads_and_of_redis(monkeypatch):
    """A Redis that does not count its reads, and a server without one, have no figure."""
    said = iter([b"total_reads_processed:100\r\n", b"total_reads_processed:130\r\n", b"", b""])
    monkeypatch.setattr(hooks.redis, "ask", lambda where, _: next(said))
    answers, live = [load.Result(good=10)], types.SimpleNamespace(
        pid=os.getpid(), start=servers.Start(frozenset({0}), redis="127.0.0.1:6379"))
    for found in ({"reads of Redis/answer": 3.0}, {}):
        with hooks.messages(None, live, answers, told := {}):
            pass
        assert told == found
    live.start = servers.Start(frozenset({0}), redis="none")
    with hooks.messages(None, live, answers, told := {}):
        pass
    assert not told
    with hooks.helpers(None, live, answers, told := {}):
        thread = threading.Thread(target=sum, args=(range(10**6),))
        thread.start()
        wait.until(lambda: not thread.is_alive(), 60)
    assert [*told] == ["us/answer in other threads"]


def told(noise, rounds=120, **factors):
    """Return what the self-check says of rounds where the CPU time is 10 us times the server's
    factor, and its rate the less; a standard deviation is `noise` of that."""
    draw = random.Random(7)
    return self_check.tell([
        {"status": "ok", "variant": "v", "x": 1, "server": name, "repeat": number,
         "cpu_us": 10 * factor * draw.gauss(1, noise),
         "rate": 1e5 / factor * draw.gauss(1, noise)}
        for number in range(rounds) for name, factor in factors.items()],
        "plain", "copy", "slower", "unmetered")


def test_the_self_check_finds_what_is_there_and_nothing_else():
    cost, cost_found, rate, rate_found, meters = told(
        0.01, plain=1, copy=1, slower=1.05, unmetered=0.98)
    assert all(int(line.split()[1]) <= 10 for line in (cost, rate))
    assert cost_found == "cpu_us: slower is found in 10 of 10 runs of 12 rounds"
    assert rate_found == "rate: slower is found in 10 of 10 runs of 12 rounds"
    assert meters.startswith("the meters take 1.9 % of the rate (")


def test_the_self_check_says_so_when_measuring_is_wrong():
    """A copy that differs is called different; noise hides what is slower."""
    told_of_copy = told(0.01, plain=1, copy=1.05, slower=1.05, unmetered=1)[0]
    assert told_of_copy == "cpu_us: 100 of 100 sessions call copy different"
    hits = told(0.2, plain=1, copy=1, slower=1.05, unmetered=1)[1]
    assert int(hits.split()[5]) < 5
    assert told(0.01, rounds=11, plain=1, copy=1, slower=1, unmetered=1) == [
        "The self-check needs 12 rounds or more."]


def test_a_neighbour_has_each_core_that_nobody_else_wants():
    """While the cell is measured, and no longer; also the server's core, where the program that
    measures does not run."""
    def idle():
        return [one.pid for one in procfs.tree(os.getpid())
                if os.sched_getscheduler(one.pid) == os.SCHED_IDLE]

    cores = os.sched_getaffinity(0)
    live = types.SimpleNamespace(server=types.SimpleNamespace(way=["neighbour=awake"]),
                                 start=servers.Start(frozenset(cores)))
    os.sched_setaffinity(0, {max(cores)})
    try:
        with hooks.neighbour(None, live, [], {}):
            assert wait.until(lambda: len(idle()) == len(cores), 240)
            assert sorted(tuple(os.sched_getaffinity(pid)) for pid in idle()) == [
                (core,) for core in sorted(cores)]
    finally:
        os.sched_setaffinity(0, cores)
    assert not idle()
    live.server.way = ["core=load"]
    with hooks.neighbour(None, live, [], {}):
        assert not idle()


@pytest.mark.parametrize("last, off", [([60, 40], 20.0), ([50, 30], 25.0)])
def test_an_even_share_is_that_of_all_clients(last, off, monkeypatch):
    """Not of the ten that connected first, all of them to one loop. If some of the hundred never
    connect, the look with the most counts, not one after the load, when clients leave."""
    shares, looks = [[10, 0], last], iter(range(10**9))
    ended = threading.Event()

    def descriptors(pid):
        look = next(looks) // 2         # of two loops; the first one is before the load
        if look > len(shares):
            ended.set()
        return 5 + ([[0, 0], *shares, [1, 0]][min(look, len(shares) + 1)][pid - 2])

    monkeypatch.setattr(hooks, "SPREAD_OFTEN", 0.001)
    monkeypatch.setattr(hooks.procfs, "tree", lambda _: [
        types.SimpleNamespace(pid=pid) for pid in (1, 2, 3)])
    monkeypatch.setattr(hooks.procfs, "open_descriptors", descriptors)
    cell = types.SimpleNamespace(x=100, variant=types.SimpleNamespace(keep_alive=True))
    told = {}
    with hooks.spread(cell, types.SimpleNamespace(pid=1), [], told):
        assert wait.until(lambda: ended.is_set() or sum(last) == 100 and told.get(OFF) == off, 240)
    assert told == {OFF: off}


def test_the_neighbour_that_empties_the_caches_owns_its_memory():
    """32 MiB that are all one page of zeros would stay in the nearest cache."""
    def resident():
        return [int(status.split("RssAnon:")[1].split()[0]) for one in procfs.tree(os.getpid())
                if os.sched_getscheduler(one.pid) == os.SCHED_IDLE
                and "RssAnon:" in (status := procfs.read(f"/proc/{one.pid}/status"))]

    live = types.SimpleNamespace(server=types.SimpleNamespace(way=["neighbour=cold"]),
                                 start=servers.Start(frozenset(os.sched_getaffinity(0))))
    with hooks.neighbour(None, live, [], {}):
        assert wait.until(lambda: resident() and min(resident()) > 32 << 10, 240)


def test_who_has_work_gets_the_core_of_a_neighbour():
    """Each session has an equal share of a core (autogroup), so the policy SCHED_IDLE alone leaves
    the half of it to a neighbour. What a neighbour uses is charged to no server: else every core
    would be fully busy, and no machine quiet."""
    core = min(os.sched_getaffinity(0))

    def charged():
        return neighbours.without({core: 0.0, -1: 1.0})

    with neighbours.running(["awake"], {core}):
        assert wait.until(lambda: charged()[core] < -0.05, 240)
        assert charged()[-1] == 1.0     # a core without a neighbour
        before = charged()[core]
        done = subprocess.run(
            [sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"],
            check=False, start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        assert done.returncode == 0
        assert before - charged()[core] < 0.12
    assert charged() == {core: 0.0, -1: 1.0}


def test_a_folder_that_is_no_control_group_is_left_as_it_was(tmp_path, monkeypatch):
    """Such as /sys/fs/cgroup itself with version 1, an ordinary file system."""
    monkeypatch.setattr(neighbours, "GROUPS", tmp_path)
    core = min(os.sched_getaffinity(0))
    with neighbours.running(["awake"], {core}), neighbours.running(["awake"], {core}):
        assert not list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
