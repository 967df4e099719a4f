"""What is asked for, what is planned, for how long; the experiments."""

import dataclasses
import os
import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.bench.made_up import KNOWN, MACHINE
from tools.bench import config, experiments, load, peers, plan
from tools.bench.experiments import equal
from tools.bench.load.base import SHARERS
from tools.bench.run import cell, session
from tools.kit import servers
from tools.stats.stats import LOOKS

MINE = """
title = "Style"
question = "What does a file cost?"
path = "/style.css"

[check]
type = "text/css"
pattern = "font-family: .*;"

[[variants]]
quick = [100]
full = [10, 100]
"""


def planned(**environment):
    """Return the Stages for these variables on two cores; of the five published experiments, unless
    the variables name others."""
    return plan.make(config.parse([], {
        "SEED": "1", "EXPERIMENT": ",".join(experiments.ORDER), **environment}), MACHINE, True)


@pytest.mark.parametrize("wrong, says", [
    ("EXPERIMENT=nosuch", "guestbook"), ("CONCURRENCY=ten", "from 1 to"),
    ("PEERS=nosuch", "no peer"), ("REPEAT=0", "from 1 to"), ("SECONDS=-1", "a number"),
    ("SECONDS=nan", "a number"), ("SERVER_CPUS=0-9999", "cores"), ("SERVER_CPUS=first", "written"),
    ("COMMIT=perhaps", "1 or 0"), ("TOOL=siege", "wrk"), ("TOOL=ab,wrk", "one tool"),
    ("SERVERS=none", "nothing to measure")])
def test_wrong_settings_say_what_there_is(wrong, says):
    """One sentence with what would be right. (tests/frame/test_settings.py has others.)"""
    with pytest.raises(config.SettingsError, match=says):
        config.parse([], dict([wrong.split("=")]))


@pytest.mark.parametrize("words, text, full", [
    ([], "", False), ([], "off", False), ([], "ON", True), (["--full"], "0", True)])
def test_full_can_be_said_in_words(words, text, full):
    """FULL=off must not start hours of measuring; an option wins."""
    assert config.parse(words, {"FULL": text}).full is full


def test_cores_can_be_chosen():
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    settings = config.parse(["--load-cpus", cores], {"SERVER_CPUS": cores, "LOAD_CPUS": "9999"})
    assert settings.server_cores == settings.load_cores == os.sched_getaffinity(0)


@pytest.mark.parametrize("source, refused", [
    ({"commit": "a", "changed": True}, True), ({}, True), ({"changed": False}, False)])
def test_a_dirty_tree_is_not_committed(source, refused, monkeypatch):
    """Said before the first hour."""
    monkeypatch.setattr(config.facts, "commit", lambda: source)
    with pytest.raises(config.SettingsError, match="^COMMIT=1: ") if refused else nullcontext():
        config.read("run", [], {"COMMIT": "1"})


@pytest.mark.parametrize("command, words, environment", [
    ("study", ["floors"], {}), ("run", [], {"AWAKE": "1"})])
def test_what_a_fleet_cannot_do(command, words, environment):
    """The hosts of a fleet have neither the ways of a study nor its neighbours."""
    with pytest.raises(config.SettingsError, match="FLEET=hosts.ini: .* on one machine"):
        config.read(command, words, {"FLEET": "hosts.ini", **environment})


def test_a_quick_run_fits_five_minutes():
    """Of all five experiments and all seven servers, with time left for what is open. What is
    compared has six rounds, as fewer could settle nothing, and one rate for all servers."""
    stages = planned()
    assert list(dict.fromkeys(
        (s.experiment.of or s.experiment).name for s in stages)) == list(experiments.ORDER)
    assert plan.total(stages) <= 0.9 * plan.QUICK_SECONDS <= 270
    for stage in stages:
        assert stage.rounds is None and stage.planned == (3 if stage.drawn else 6) <= LOOKS[0]
        assert {c.server.name for c in stage.possible} | set(stage.later) == {
            s.name for s in servers.ARCHITECTURES
            if stage.experiment.name != "hello-rate" or s.model == servers.LOOP}
        loads = {(c.variant.name, c.x) for c in stage.possible}
        assert stage.drawn or len(loads) == len({variant for variant, _ in loads})  # one point each


def test_each_experiment_is_compared_at_an_equal_rate():
    """A quick run only draws its curve; FULL=1 compares it, too, and CONCURRENCY= nothing else.
    System calls are counted once."""
    names = experiments.ORDER
    assert not any(stage.experiment.of for stage in planned(CONCURRENCY="50"))
    assert all(stage.calls and not stage.drawn for stage in planned(CONCURRENCY="50"))
    for environment, drawn in (({}, {"guestbook", "hello", "echo"}), ({"FULL": "1"}, set())):
        stages = {stage.experiment.name: stage for stage in planned(**environment)}
        assert {name for name, stage in stages.items() if stage.drawn} == drawn
        for name in names:
            rate, curve = stages[f"{name}-rate"], stages.get(name)
            assert (rate.experiment.baseline, rate.experiment.leads) == ("epoll", "cpu_us")
            assert {cell.x for cell in rate.cells} == {KNOWN[name].equal_rate}
            assert rate.experiment.open_loop and rate.calls
            assert not (curve and {server.name for server, _ in curve.calls}
                        & {server.name for server, _ in rate.calls})
            assert not environment or curve.cells


def test_a_curve_is_compared_where_nothing_else_is():
    """With a number of rounds, and where no tool keeps a rate: then its system calls are counted,
    too."""
    _, curve = planned(EXPERIMENT="guestbook", REPEAT="6")
    assert not curve.drawn and curve.planned == 6
    settings = config.parse([], {"EXPERIMENT": "guestbook"})
    [alone] = plan.make(session.equipped(
        settings, equal.RATE_TOOLS.__contains__)[0], MACHINE, True)
    assert not alone.drawn and alone.calls and alone.planned == 6


def test_an_equal_rate_asks_as_its_experiment_does():
    """The same page and the same check, as new or as kept connections; at 4,000/s for half a
    second 2,000 requests."""
    live = SimpleNamespace(url=lambda path: f"http://127.0.0.1:80{path}")
    rate = KNOWN["answer-rate"]
    assert [one.name for one in rate.variants] == ["keep-alive", "new connections"]
    for variant in rate.variants:
        job = rate.job(live, variant, 4000, 0.5, MACHINE, False)
        assert (job.url, job.asked, job.due_a_second) == ("http://127.0.0.1:80/answer", 2000, 4000)
        assert job.keep_alive == variant.keep_alive
    with pytest.raises(experiments.WrongAnswer):
        rate.check(lambda _: (200, {"content-type": "text/plain"}, b"43"))


@pytest.mark.parametrize("lacking, asked, tool", [
    ((), "", "oha"), (("h2load-rate",), "", "oha"), (("oha",), "", "h2load-rate"),
    ((), "h2load-rate", "h2load-rate"), (equal.RATE_TOOLS, "", "")])
def test_h2load_keeps_the_rate_where_oha_is_not_installed(lacking, asked, tool):
    """But not that of 01 on kept connections, which a sentence says; and nothing does without
    both, which the packaged one would."""
    settings = config.parse([], {"EXPERIMENT": "answer,hello", "TOOL": asked})
    whole, left_out = session.equipped(settings, lacking.__contains__)
    rates = {one.name: one for one in whole.experiments if one.of}
    assert set(rates) == ({"answer-rate", "hello-rate"} if tool else set())
    assert all(session.tool_for(one, asked, one.variants[0]) == tool
               for one in rates.values())
    assert sum("iterative on kept" in one for one in left_out) == (tool == "h2load-rate")
    assert sum("scripts/deps.sh load" in one for one in left_out) == (0 if tool else 2)
    if tool:
        kept = {one.server.name for stage in plan.make(whole, MACHINE, True)
                if stage.experiment.name == "answer-rate"
                for one in stage.cells if one.variant.keep_alive}
        assert ("iterative" in kept) == (tool == "oha") and "forking" in kept
    with_points = config.parse([], {"TOOL": "h2load-rate", "CONCURRENCY": "50"})
    assert not session.equipped(with_points, ().__contains__)[1]


@pytest.mark.parametrize("environment, where", [
    ({"FULL": "1", "EXPERIMENT": "hello"}, "hello"), ({"EXPERIMENT": "echo"}, "echo")])
def test_what_has_no_equal_rate_keeps_its_own(environment, where):
    """01 takes no part in hello's rate, and without oha in no equal rate on kept connections. Its
    system calls are counted all the same; and where there is nothing else, its costs are
    compared."""
    def stages(**more):
        settings = config.parse([], {"SEED": "1", **environment, **more})
        return {one.experiment.name: one for one in plan.make(
            session.equipped(settings, ("oha",).__contains__)[0], MACHINE, True)}

    counted = {name: {server.name for server, _ in stage.calls} for name, stage in stages().items()}
    assert "iterative" in counted[where] and "epoll" in counted[f"{where}-rate"] - counted[where]
    alone = stages(SERVERS="iterative")
    assert list(alone) == [where] and not alone[where].drawn


def test_the_equal_rate_of_hello_has_idle_connections():
    """With the 100 that ask 10,000 are open, for what has room for them. What a process may open
    limits them; the rate does not."""
    rate = KNOWN["hello-rate"]
    assert rate.idle + SHARERS == KNOWN["hello"].reference == 10000
    assert [one.name for one in servers.ARCHITECTURES if rate.applies(one, rate.variants[0])] == [
        "poll", "epoll"]
    assert "idle" in rate.title and rate.lasts(4000, 1.0) > 1.0
    assert not rate.applies(peers.Peer("poco"), rate.variants[0])
    assert rate.applies(peers.Peer("go"), rate.variants[0])
    [said] = rate.left_out([*servers.ARCHITECTURES, peers.Peer("civetweb")])
    assert "iterative" in said and "civetweb" in said and "epoll" not in said
    few = dataclasses.replace(MACHINE, descriptors=13000, load_hosts=2)
    epoll = servers.named("epoll")
    assert "descriptors" in rate.obstacle(epoll, 4000, few)
    assert not rate.obstacle(epoll, 4000, MACHINE)
    assert not KNOWN["answer-rate"].obstacle(epoll, 40000, few)


def test_the_guestbook_is_a_curve():
    """Of six to eight published points from 20 to 1,000 clients, three rounds each. Of many
    clients, none still waits at the end, as if lost."""
    _, stage = planned(EXPERIMENT="guestbook")
    points = sorted({cell.x for cell in stage.possible})
    assert 6 <= len(points) <= 8 and (points[0], points[-1]) == (20, 1000)
    assert set(points) <= set(stage.experiment.published.series["epoll"])
    assert stage.planned == plan.CURVE_ROUNDS == 3
    live = SimpleNamespace(url=str)
    job = stage.experiment.job(live, stage.cells[0].variant, 1000, stage.seconds, MACHINE, False)
    assert job.seconds == 1.0


@pytest.mark.parametrize("environment, left", [
    ({}, 5), ({"FULL": "1"}, 0), ({"CONCURRENCY": "500"}, 0), ({"SERVERS": "06,07"}, 0)])
def test_hello_leaves_the_blocking_five_to_full(environment, left):
    """They never reach 10,000 connections; one sentence says so, and they can be asked for."""
    stage = planned(EXPERIMENT="hello", **environment)[-1]
    said = plan.left_to_full_in_words([stage])
    assert len(stage.later) == left and len(said) == bool(left)
    assert all("FULL=1" in one for one in said)
    assert not {cell.server.name for cell in stage.cells} & set(stage.later)


@pytest.mark.parametrize("environment, rounds", [
    ({}, None), ({"FULL": "1"}, None), ({"FULL": "1", "SECONDS": "1"}, None),
    ({"SECONDS": "1"}, 6), ({"REPEAT": "9"}, 9), ({"REPEAT": "9", "FULL": "1"}, 9)])
def test_how_many_rounds(environment, rounds):
    """REPEAT= is obeyed; where nothing ends a run, six are enough."""
    assert planned(EXPERIMENT="redirect", **environment)[0].rounds == rounds


@pytest.mark.parametrize("names, variant, base", [
    ("", {}, "epoll"), ("poll,forking", {}, "forking"), ("", {"baseline": "poll"}, "poll")])
def test_the_baseline_is_epoll_or_the_first_that_takes_part(names, variant, base):
    """A variant may name another one."""
    [stage] = planned(EXPERIMENT="redirect", SERVERS=names)
    variant = experiments.Variant("", **variant)
    stage.cells = [dataclasses.replace(cell, variant=variant) for cell in stage.cells]
    assert stage.baseline_of("") == base


def test_the_grid():
    """FULL measures every x that was published. CONCURRENCY, REPEAT, SECONDS and SERVERS do what
    they say."""
    for stage in planned(FULL="1"):
        published = stage.experiment.published
        for points in published.series.values() if published else ():
            assert set(points) <= {c.x for c in stage.cells}
    [stage] = planned(EXPERIMENT="guestbook", CONCURRENCY="10,40",
                      REPEAT="5", SECONDS="0.5", SERVERS="07,iterative")
    assert sorted((c.server.name, c.x) for c in stage.cells) == [
        ("epoll", 10), ("epoll", 40), ("iterative", 10), ("iterative", 40)]
    assert stage.planned * len(stage.possible) == 2 * 2 * 5 and stage.seconds == 0.5


@pytest.mark.parametrize("visits, refused", [
    ((1000001, 1000002), False), ((1000001, 1000001), True), (("", ""), True)])
def test_the_guestbook_counts_visits(visits, refused):
    """A page that comes out of a cache sends Redis nothing."""
    left = iter(visits)
    with pytest.raises(experiments.WrongAnswer) if refused else nullcontext():
        KNOWN["guestbook"].check(lambda _: (
            200, {"content-type": "text/html; charset=utf-8"}, (
                "<li>Guest number 10</li> ... <li>Guest number 1</li><p>Visits"
                f" so far: <strong>{next(left)}</strong></p>").encode()))


def test_a_new_experiment_is_one_file(tmp_path):
    """It follows the published ones, and says itself what a right answer is."""
    shutil.copytree(experiments.FOLDER, tmp_path / "all")
    (tmp_path / "all" / "style.toml").write_text(MINE)
    *published, mine = experiments.all_experiments(tmp_path / "all")
    assert [one.name for one in published if not one.of] == list(experiments.ORDER)
    assert (mine.name, mine.published, mine.variants[0].full) == ("style", None, [10, 100])
    mine.check(lambda _: (200, {"content-type": "text/css"}, b"p { font-family: serif; }"))
    for wrong in ((404, {"content-type": "text/css"}, b"font-family: serif;"),
                  (200, {"content-type": "text/html"}, b"font-family: serif;"),
                  (200, {"content-type": "text/css"}, b"p { }")):
        with pytest.raises(experiments.WrongAnswer):
            mine.check(lambda _, wrong=wrong: wrong)


@pytest.mark.parametrize("tool, requests, seconds", [("ab", 5000, 60), ("wrk", None, 2.0)])
def test_a_tool_that_counts_no_requests_ends_by_time(tool, requests, seconds):
    """With FULL=1, the guestbook is a number of requests for ab."""
    guestbook = KNOWN["guestbook"]
    one = plan.Cell(guestbook, servers.named("epoll"), guestbook.variants[0], 100)
    live = SimpleNamespace(url=lambda path: f"http://127.0.0.1:1{path}")
    job = cell.job_of(one, live, 2.0, MACHINE, True, load.TOOLS[tool])
    assert (job.requests, job.seconds) == (requests, seconds)
