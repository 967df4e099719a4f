"""The studies: their files, what a wrong one is told, and one for real."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import tomllib

import pytest

from bench import load, peers, plan
from bench.run import servers
from bench.studies import hooks, study

TOP = pathlib.Path(servers.TOP)
VARIANT = {"VARIANT": "accept-mutex", "OF": "prethreaded preforking",
           "LOAD": "one-shot-100", "OPTIONS": "--threads 5"}


class Machine:
    """Two cores, as a plan knows them."""

    server_cores, load_cores = frozenset({0}), frozenset({1})
    all_cores, descriptors = frozenset({0, 1}), 20000


def made(text, environment=None):
    """Return the study of a TOML text with a title and a question."""
    told = tomllib.loads('title = "T"\nquestion = "Q?"\n'
                         + textwrap.dedent(text))
    return study.make("made", told, environment or {})


# ------------------------------------------------------------------ the files

def test_there_is_a_file_for_each_question():
    assert set(study.names()) >= {
        "cost", "floors", "flat", "pacing", "breakdown", "variants",
        "reuseport", "redis-limit", "redis-ways", "accept-ways",
        "idle-connections", "wake-up", "short-queue"}


@pytest.mark.parametrize("name", study.names())
def test_each_names_what_there_is(name):
    """Servers, peers, tools; and each load has somebody to serve it, and its
    baseline among them. Reading it writes nothing tracked."""
    one = study.load(name, VARIANT)
    assert one.title and one.question.endswith("?")
    everyone = {server.name: server for server in one.servers}
    assert len({load.name for load in one.variants}) == len(one.variants)
    for each in one.variants:
        assert each.baseline in each.servers
        assert [name for name, server in everyone.items()
                if one.applies(server, each)] == [
                    name for name in everyone if name in each.servers]
        assert each.tool in load.TOOLS and each.quick == each.full
        assert not each.script or each.tool != "wrk" \
            or pathlib.Path(each.script).is_file()
        assert one.cores(each, Machine)
    for server in everyone.values():
        assert server.kind in ("architecture", "floor", "peer")
        assert isinstance(server.has_workers, bool)


def test_each_design_is_measured_with_its_own_floor():
    """Those that keep connections have another floor for that."""
    floors = study.load("floors")
    pairs = [each.servers for each in floors.variants]
    assert [mine for mine, _ in pairs[:7]] == study.SEVEN
    assert {floor for _, floor in pairs} == {
        name for name in peers.names() if name.startswith("floor-")}
    assert all(each.baseline == each.servers[1] for each in floors.variants)


def test_a_chosen_server_comes_with_its_baselines():
    floors = study.load("floors")
    assert [one.name for one in floors.chosen({"epoll"})] == [
        "epoll", "floor-epoll", "floor-epoll-kept"]
    assert len(floors.chosen(set())) == len(floors.servers)
    ways = study.load("redis-ways").chosen({"poll"})
    assert {one.server.name for one in ways} == {"poll"} and len(ways) == 4


# ------------------------------------------------------------ a file is wrong

@pytest.mark.parametrize("text, said", [
    ("", "it has no load"),
    ("colour = 1\n[[load]]", "'colour' at its top is unknown"),
    ('[[load]]\nname = "x"', "a load needs a name, and servers"),
    ('[[load]]\nname = "x"\nservers = ["epol"]', "there is no peer 'epol'"),
    ('[[load]]\nname = "x"\nservers = ["epoll"]\nbaseline = "poll"',
     "'poll' in load 'x' is unknown; there are epoll"),
    ('[[load]]\nname = "x"\nservers = ["epoll"]\ntool = "curl"', "'curl' in"),
    ('[[load]]\nname = "x"\nservers = ["epoll"]\nclients = 5',
     "clients = 5 in load 'x' is of a wrong type"),
    ('[[load]]\nname = "x"\nservers = ["epoll"]\nkeepalive = true',
     "'keepalive' in load 'x' is unknown"),
    ('metrics = ["heat"]\n[[load]]', "'heat' in metrics is unknown"),
    ('[[load]]\nname = "x"\nservers = ["{WHO}"]',
     "it needs the environment variable WHO"),
    ('[way.fast]\nspeed = 1\n[[load]]', "'speed' in way fast is unknown"),
])
def test_a_wrong_file_is_refused_with_a_sentence(text, said):
    with pytest.raises((study.StudyError, peers.PeerError)) as error:
        made(text)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_is_no_toml(tmp_path, monkeypatch):
    (tmp_path / "broken.toml").write_text("title =\n")
    monkeypatch.setattr(study, "FOLDER", tmp_path)
    with pytest.raises(study.StudyError, match="studies/broken.toml: "):
        study.load("broken")
    with pytest.raises(study.StudyError, match="there are broken"):
        study.load("../bench/studies/cost")


# --------------------------------------------------------------- how it is run

def test_a_table_is_repeated_and_ways_multiply_its_servers():
    one = made("""
        [way.short]
        backlog = 10
        [way.long]
        options = ["--access-log"]
        [[load]]
        name = "{server}"
        for = ["poll", "epoll"]
        servers = ["{server}"]
        """)
    assert [each.name for each in one.variants] == ["poll", "epoll"]
    assert one.variants[1].servers == ("epoll, short", "epoll, long")
    assert one.variants[1].baseline == "epoll, short"
    short, long = (server.command(servers.Start(), 0, "")[0]
                   for server in one.chosen({"epoll"}))
    assert short[short.index("--backlog") + 1] == "10"
    assert long[-1] == "--access-log" and "10" not in long


def test_a_variant_is_started_like_its_plain_server():
    """From another place; its options are those of the load."""
    one = study.load("variants", VARIANT)
    plain, mine = (server.command(servers.Start(), 0, "")[0]
                   for server in one.servers[:2])
    assert plain[0] == f"{TOP}/prethreaded" and plain[1:] == mine[1:]
    assert mine[0] == f"{TOP}/build/variants/accept-mutex/prethreaded"
    each = one.variants[0]
    assert each.options[plain_name := one.servers[0].name] == \
        each.options[f"{plain_name}, accept-mutex"] == ["--threads", "5"]


class Live:
    """A server that runs, as far as a job wants to know."""

    server = peers.Peer("floor-epoll")

    @staticmethod
    def url(path, host="127.0.0.1"):
        """An address."""
        return f"http://{host}:80{path}"


@pytest.mark.parametrize("clients, addresses, requests", [
    (20, 1, 20000), (5000, 1, 20000), (15000, 3, 60000)])
def test_each_client_has_four_requests(clients, addresses, requests):
    """And no process of ab more clients than an address has ports for."""
    flat = study.load("flat")
    job = flat.job(Live, flat.variants[0], clients, 2, Machine, True)
    assert not job.keep_alive and (len(job.urls), job.requests) == (
        addresses, requests)


def test_idle_clients_are_not_asked_to_work():
    idle = study.load("idle-connections")
    job = idle.job(Live, idle.variants[0], 10000, 2, Machine, True)
    assert job.connections == 10 and job.seconds == 2


def test_a_plan_has_a_cell_for_each_server_and_number_of_clients():
    floors = study.load("floors")
    cells = [(variant.name, server.name, x) for variant in floors.variants
             for server in floors.servers if floors.applies(server, variant)
             for x in variant.full]
    assert len(cells) == 18 == len(set(cells))
    assert plan.AROUND[floors.servers[1].kind]


# ----------------------------------------------------------- what hooks make

def test_timers_that_cannot_be_counted_are_not_taken_for_none():
    """perf without the right to, or without that tracepoint."""
    assert hooks.timer_count("12,,timer:hrtimer_expire_entry,2,100.0,,\n") == 12
    assert hooks.timer_count("") is None
    assert hooks.timer_count(
        "<not supported>,,timer:hrtimer_expire_entry,0,,,") is None


def test_off():
    """By 20 %: 600 and 400 clients instead of 500 each."""
    assert hooks.off([600, 400]) == pytest.approx(20)
    assert hooks.off([500, 500]) == 0


def test_redis_benchmark_takes_as_long_as_its_three_commands():
    text = "100 pages\n" + "".join(
        f"X: {rate} requests per second, p50=0.1 msec\n"
        for rate in ("100.00", "50.00", "100.00"))
    result = hooks.RedisBenchmark().parse(text, None, None)
    assert (result.good, result.seconds) == (100, 4)
    with pytest.raises(load.LoadError):
        hooks.RedisBenchmark().parse("100 pages\n", None, None)


def test_a_server_below_its_floor_is_a_defect_of_the_floor():
    one = {"metric": "cpu_us", "server": "epoll", "variant": "x", "ratio": .9,
           "base": "floor-epoll", "low": .85, "high": .95}
    assert "defect of floor-epoll" in study.defects([one])[0]
    assert not study.defects([{**one, "high": 1.01}, {**one, "high": None},
                              {**one, "base": "floor-poll"}])


# -------------------------------------------------------------------- for real

@pytest.mark.skipif(not shutil.which("wrk") or not shutil.which("redis-server")
                    or not (TOP / "epoll").exists(),
                    reason="needs wrk, Redis and `make all`")
def test_floors_for_real(tmp_path):
    """The shortest form: it leaves the files of a run, below OUT alone."""
    def tracked():
        return subprocess.run(["git", "-C", TOP, "status", "--porcelain"],
                              capture_output=True, text=True,
                              check=False).stdout
    before = tracked()
    done = subprocess.run(
        [sys.executable, "-m", "bench", "study", "floors"], cwd=TOP, text=True,
        env={**os.environ, "SERVERS": "epoll", "SECONDS": "0.4", "REPEAT": "1",
             "OUT": str(tmp_path)}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    folder = (tmp_path / "latest").resolve()
    assert folder.name.endswith("-floors")
    assert {"env.json", "samples.csv", "summary.json", "report.html"} <= {
        path.name for path in folder.iterdir()}
    assert "floor-epoll-kept" in (folder / "samples.csv").read_text()
    assert tracked() == before
