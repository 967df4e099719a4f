"""The studies: their files, which are refused, and one for real; what floors must do."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import types

import pytest

from made_up import MACHINE
from bench import config, load, peers, plan
from bench.meter import syscalls
from bench.peers import floor_check
from bench.run import servers
from bench.studies import hooks, study

TOP = pathlib.Path(servers.TOP)
TRACE = pathlib.Path(__file__).with_name("data") / "strace.txt"
LOAD = '[[load]]\nname = "x"\nservers = ["poll", "epoll"]\n'


def made(text):
    """Return the study of a TOML text with a title and a question."""
    return study.make("made", tomllib.loads('title = "T"\nquestion = "Q?"\n' + text))


def command(server):
    """Return the argv of a server."""
    return server.command(servers.Start(), 80, "")[0]


@pytest.mark.parametrize("name", study.names())
def test_each_names_what_there_is(name):
    """Servers, tools, scripts; each load has its baseline among its servers and a name of its
    own, and each server a load."""
    one = study.load(name)
    assert one.title and one.question.endswith("?")
    assert len({each.name for each in one.variants}) == len(one.variants)
    for each in one.variants:
        assert each.baseline in each.servers and each.tool in load.TOOLS
        assert not each.script or pathlib.Path(each.script).is_file()
        assert one.cores(each, MACHINE) and each.full
    for server in one.servers:
        assert any(one.applies(server, each) for each in one.variants)


def test_each_design_is_measured_with_its_own_floor():
    """Those that keep connections have another floor for that."""
    pairs = [each.servers for each in study.load("floors").variants]
    assert [mine for _, mine in pairs[:7]] == study.GROUPS["seven"]
    assert {floor for floor, _ in pairs} == {
        name for name in peers.found() if name.startswith("floor-")}


def test_a_chosen_server_comes_with_its_baselines():
    """Ours go by number, too, as everywhere."""
    asked = config.read("study", ["floors"], {"SERVERS": "07"})
    assert {one.name for one in asked.servers} == {"epoll", "floor-epoll", "floor-epoll-kept"}


@pytest.mark.parametrize("text, said", [
    ("", "it has no load"),
    ("colour = 1\n[[load]]", "'colour' at its top is unknown"),
    ('[[load]]\nname = "x"', "a load needs a name, and servers"),
    (LOAD.replace("epoll", "epol"), "there is no peer 'epol'"),
    (LOAD + 'tool = "curl"', "'curl' in load 'x' is unknown"),
    (LOAD + "clients = 5", "clients = 5 in load 'x' is of a wrong type"),
    (LOAD + "keepalive = true", "'keepalive' in load 'x' is unknown"),
    ('count = ["heat"]\n[[load]]\nname = "x"', "'heat' in count is unknown")])
def test_a_wrong_file_is_refused_with_a_sentence(text, said):
    with pytest.raises(ValueError) as error:
        made(text)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["nosuch", "broken.toml", "missing.toml"])
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("broken.toml").write_text("title =\n")
    with pytest.raises(study.StudyError, match=name):
        study.load(name)


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


def test_a_way_sets_the_kernel(monkeypatch):
    seen = []
    monkeypatch.setattr(study.netns, "set_limits", seen.append)
    slow, fast = map(command, study.load("pacing").chosen({"nginx"}))
    assert slow == fast
    assert seen == [{"ipv4/tcp_congestion_control": how} for how in ("reno", "bbr")]


@pytest.mark.parametrize("name, x, clients, requests", [
    ("flat", 20, 20, 20000), ("flat", 15000, 15000, 60000),
    ("idle-connections", 15000, 10, None)])
def test_how_many_clients_ask_and_how_often(name, x, clients, requests):
    """Those that are idle are not asked to work."""
    live = types.SimpleNamespace(server=peers.Peer("floor-epoll"), url=lambda *_: "")
    one = study.load(name)
    job = one.job(live, one.variants[0], x, 2, MACHINE, True)
    assert (job.connections, job.requests) == (clients, requests)


@pytest.mark.skipif(bool(servers.named("epoll").problem()), reason="needs `make all`")
def test_idle_connections_are_no_requests_of_the_load(tmp_path):
    start = servers.Start(frozenset(os.sched_getaffinity(0)))
    with servers.running(servers.named("epoll"), start, str(tmp_path / "log")) as live:
        with hooks.idle(types.SimpleNamespace(x=7), live, [], {}):
            pass
    assert live.before == 7 and live.served == 0


def test_what_a_hook_counts_is_told_with_its_median(tmp_path, monkeypatch):
    """Also where one round of the cell failed."""
    @contextlib.contextmanager
    def count(cell, live, seen, told):
        yield
        told["answers"] = seen[0] * 2
    monkeypatch.setitem(hooks.HOOKS, "answers", count)
    one = made('count = ["answers"]\n' + LOAD)
    cell = plan.Cell(one, one.servers[1], one.variants[0], 100)
    for result in (1, 2, 6):
        with one.beside(cell, None) as seen:
            seen.append(result)
    with pytest.raises(load.LoadError), one.beside(cell, None):
        raise load.LoadError
    summary = {"experiments": [{}]}
    assert one.finish(tmp_path, summary) == ["x, epoll, 100: 4.00 answers"]
    assert summary["experiments"][0]["extra"][0]["values"] == [2, 4, 12]


def test_spread(monkeypatch):
    """1 and 3 clients of two loops are half off their mean."""
    held = iter([5, 5, 6, 8])
    monkeypatch.setattr(hooks.procfs, "tree", lambda _: [
        types.SimpleNamespace(pid=pid) for pid in range(3)])
    monkeypatch.setattr(hooks.procfs, "open_descriptors", lambda _: next(held))
    monkeypatch.setattr(hooks, "SPREAD_SECONDS", 0)
    cell = types.SimpleNamespace(variant=types.SimpleNamespace(keep_alive=True))
    found = {}
    with hooks.spread(cell, types.SimpleNamespace(pid=0), [], found) as timer:
        timer.join()
    assert found == {"per cent off an even share, at most": 50.0}


@pytest.mark.skipif(bool(servers.named("epoll").problem() or load.missing("wrk")),
                    reason="needs `make all` and wrk")
def test_floors_for_real(tmp_path):
    """The shortest form: it leaves the files of a run."""
    subprocess.run(
        [sys.executable, "-m", "bench", "study", "floors"], cwd=TOP,
        env={**os.environ, "SERVERS": "epoll", "SECONDS": "0.4", "REPEAT": "1",
             "OUT": str(tmp_path), "NO_INSTALL": "1"}, capture_output=True, check=True)
    folder = (tmp_path / "latest").resolve()
    assert folder.name.endswith("-floors") and (folder / "summary.json").exists()
    assert "floor-epoll-kept" in (folder / "samples.csv").read_text()


def test_normalize():
    """Flags, sizes and errors stay; what differs from run to run does not."""
    assert floor_check.Calls().parse(TRACE.read_text()) == {
        "accept4(fd, NULL, NULL, SOCK_CLOEXEC)": 1,
        "recvfrom(fd, bytes, 16384, MSG_DONTWAIT, NULL, NULL) = EAGAIN": 1,
        "epoll_ctl(fd, EPOLL_CTL_ADD, fd, {events=EPOLLIN|EPOLLET})": 1,
        "epoll_wait(fd, events, 256, a time)": 1}


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.skipif(not shutil.which("gcc"), reason="builds the floors")
@pytest.mark.parametrize("design", [server.name for server in servers.ARCHITECTURES])
def test_floor_is_like_its_server(design, tmp_path):
    """Change a call or the answer of a server, and its floor has to follow."""
    if servers.named(design).problem():
        pytest.skip(servers.named(design).problem())
    try:    # twice: on a busy machine a call may be interrupted
        assert not (floor_check.differences(design, str(tmp_path))
                    and floor_check.differences(design, str(tmp_path)))
    except syscalls.SyscallError as error:
        pytest.skip(str(error))     # a container may not trace


def test_a_difference_is_said(tmp_path, monkeypatch):
    """A floor that lacks a call of the server, or bytes of its answer."""
    found = [{"prompt": {"a": 1, "b": 2}, "answer": {"42": 1}},
             {"prompt": {"b": 2}, "answer": {"4": 1}}]
    monkeypatch.setattr(floor_check, "look", lambda *_: found.pop(0))
    monkeypatch.setattr(floor_check.peers.Peer, "build", lambda _: None)
    assert [line.split(":")[0] for line in floor_check.differences("iterative", tmp_path)] == [
        "iterative, prompt", "iterative, answer", "iterative, answer"]
