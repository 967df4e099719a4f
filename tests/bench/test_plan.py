"""What is asked for, what is planned, in which order, for how long."""

import dataclasses

import pytest

from bench import config as wishes
from bench import experiments
from bench import peers
from bench import plan
from bench.analyse.stats import LOOKS
from bench.machine import facts as machines
from bench.run import servers


def planned(**environment):
    """Return (Settings, Stages) for these variables on two cores."""
    chosen = wishes.parse([], {"SEED": "1", **environment})
    machine = machines.Machine(frozenset({0}), frozenset({1}),
                               frozenset({0, 1}), 20000)
    return chosen, plan.make(chosen, machine, True)


def test_six_quick_rounds_fit_five_minutes():
    """Of all five experiments and all seven servers; fewer rounds could
    settle nothing."""
    _, stages = planned()
    assert [s.experiment.name for s in stages] == list(experiments.ORDER)
    assert plan.total(stages) <= plan.QUICK_SECONDS - plan.RESERVE
    for stage in stages:
        assert stage.rounds is None and stage.planned == LOOKS[0] == 6
        assert stage.seconds > plan.SHORTEST
        assert {c.server.name for c in stage.cells} == \
            {s.name for s in servers.ARCHITECTURES}


def test_fewer_servers_get_longer_cells():
    """The time that is left over goes into better figures."""
    _, everyone = planned()
    _, one = planned(SERVERS="epoll")
    assert everyone[0].seconds < one[0].seconds <= plan.LONGEST


@pytest.mark.parametrize("environment, rounds", [
    ({}, None), ({"FULL": "1"}, None), ({"FULL": "1", "SECONDS": "1"}, None),
    ({"SECONDS": "1"}, 6), ({"REPEAT": "9"}, 9),
    ({"REPEAT": "9", "FULL": "1"}, 9)])
def test_how_many_rounds(environment, rounds):
    """REPEAT= is obeyed; where nothing ends a run, six are enough."""
    _, stages = planned(EXPERIMENT="redirect", **environment)
    assert stages[0].rounds == rounds


def test_the_baseline_is_epoll_or_the_first_that_takes_part():
    """A variant may name another one."""
    _, [stage] = planned(EXPERIMENT="redirect")
    assert stage.baseline_of("") == "epoll"
    _, [stage] = planned(EXPERIMENT="redirect", SERVERS="poll,forking")
    assert stage.baseline_of("") == "forking"
    variant = experiments.Variant("", quick=(1,), baseline="poll")
    stage.cells = [dataclasses.replace(cell, variant=variant)
                   for cell in stage.cells]
    assert stage.baseline_of("") == "poll"


def test_full_grid_is_the_published_one():
    """Every x that was published is measured."""
    _, stages = planned(FULL="1")
    for stage in stages:
        xs = {c.x for c in stage.cells}
        for points in stage.experiment.published.series.values():
            assert set(points) <= xs


def test_what_is_impossible_is_named():
    """100,000 connections need several processes; poll has but one."""
    _, stages = planned(FULL="1", EXPERIMENT="hello")
    poll = [c for c in stages[0].cells
            if c.server.name == "poll" and c.x == 100000]
    assert len(poll) == 1 and "20,000 descriptors" in poll[0].impossible
    epoll = [c for c in stages[0].cells
             if c.server.name == "epoll" and c.x == 100000]
    assert len(epoll) == 1 and not epoll[0].impossible


def test_hello_gives_epoll_enough_processes():
    """No loop may run out of descriptors, though they spread by chance."""
    hello = {e.name: e for e in experiments.all_experiments()}["hello"]
    machine = machines.Machine(frozenset({0}), frozenset({1}),
                               frozenset({0, 1}), 20000)
    count = hello.workers(servers.named("epoll"), hello.variants[0], 100000,
                          machine)
    assert 100000 / count < 0.85 * 20000


def test_many_clients_are_shared_out_among_addresses():
    """Of one address connect() finds no more than 14,000 ports quickly."""
    machine = machines.Machine(frozenset({0}), frozenset({1}),
                               frozenset({0, 1}), 20000)
    live = servers.Live(None, None, None, 80, "", ())
    for one in experiments.all_experiments():
        if one.name in ("hello", "guestbook"):
            job = one.job(live, one.variants[0], 30000, 1.0, machine, True)
            assert 30000 / len(set(job.urls)) <= 7000


def test_a_peer_on_one_address_takes_part_as_far_as_it_can():
    """Whoever can be told the address to listen on, hears them all."""
    hello = {e.name: e for e in experiments.all_experiments()}["hello"]
    machine = machines.Machine(frozenset({0}), frozenset({1}),
                               frozenset({0, 1}), 200000)
    peer = peers.Peer("nginx")
    assert peer.any_host
    hello.possible(peer, 30000, machine)
    peer.any_host = False
    hello.possible(peer, 5000, machine)
    with pytest.raises(experiments.NotPossible, match="one address"):
        hello.possible(peer, 30000, machine)


def test_narrowing():
    """CONCURRENCY, REPEAT, SECONDS and SERVERS do what they say."""
    _, stages = planned(EXPERIMENT="guestbook", CONCURRENCY="10,40",
                        REPEAT="5", SECONDS="0.5", SERVERS="07,iterative")
    assert {c.x for c in stages[0].cells} == {10, 40}
    assert {c.server.name for c in stages[0].cells} == {"iterative", "epoll"}
    assert len(stages[0].cells) == 2 * 2 and stages[0].runs == 2 * 2 * 5
    assert stages[0].seconds == 0.5


def test_workers_only_where_there_are_any():
    """The variant with a worker for each core is epoll's alone."""
    _, stages = planned(EXPERIMENT="answer", FULL="1")
    many = {c.server.name for c in stages[0].cells if c.variant.many_workers}
    assert many == {"epoll"}


@pytest.mark.parametrize("environment, says", [
    ({"EXPERIMENT": "nosuch"}, "guestbook"),
    ({"SERVERS": "apache"}, "iterative"),
    ({"PEERS": "nosuch"}, "no peer"),
    ({"CONCURRENCY": "ten"}, "above 0"), ({"REPEAT": "0"}, "above 0"),
    ({"SECONDS": "-1"}, "above 0"), ({"SERVER_CPUS": "0-9999"}, "cores"),
    ({"SERVER_CPUS": "first"}, "written"), ({"LOAD_CPUS": "9999"}, "cores"),
    ({"COMMIT": "perhaps"}, "1 or 0"), ({"TOOL": "siege"}, "wrk"),
    ({"SERVERS": "none"}, "nothing to measure")])
def test_wrong_settings_say_what_there_is(environment, says):
    """One sentence with what would be right."""
    with pytest.raises(wishes.SettingsError, match=says):
        wishes.parse([], environment)


def test_options_win_over_the_environment():
    """--repeat 7 beats REPEAT=5."""
    assert wishes.parse(["--repeat", "7"], {"REPEAT": "5"}).repeat == 7
