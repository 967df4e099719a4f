"""What is asked for, what is planned, in which order, for how long."""

import pytest

from bench.run import session as compare
from bench import experiments
from bench.machine import facts as machines
from bench import peers
from bench import plan
from bench.run import servers
from bench import config as wishes


def planned(**environment):
    """Return (Settings, Stages) for these variables on two cores."""
    chosen = wishes.parse([], {"SEED": "1", **environment})
    machine = machines.Machine(frozenset({0}), frozenset({1}),
                               frozenset({0, 1}), 20000)
    return chosen, plan.make(chosen, machine, True)


def test_quick_grid_fits_five_minutes():
    """All five experiments, all seven servers, three repeats."""
    _, stages = planned()
    assert [s.experiment.name for s in stages] == list(experiments.ORDER)
    assert plan.total(stages) <= plan.QUICK_SECONDS
    for stage in stages:
        assert stage.repeat >= 3
        assert stage.seconds >= plan.SHORTEST
        assert {c.server.name for c in stage.cells} == \
            {s.name for s in servers.ARCHITECTURES}


def test_fewer_servers_get_longer_cells():
    """The time that is left over goes into better figures."""
    _, everyone = planned()
    _, one = planned(SERVERS="epoll")
    assert one[0].seconds > everyone[0].seconds
    assert one[0].seconds <= plan.LONGEST


def test_cells_are_shuffled_in_rounds():
    """Each round holds each cell once, in an order of its own."""
    _, stages = planned(EXPERIMENT="guestbook")
    cells = stages[0].cells
    size = len(cells) // 3
    rounds = [cells[n * size:(n + 1) * size] for n in range(3)]
    keys = [[(c.server.name, c.x) for c in each] for each in rounds]
    assert sorted(keys[0]) == sorted(keys[1]) == sorted(keys[2])
    assert len({tuple(each) for each in keys}) == 3
    assert [c.repeat for c in cells] == [1] * size + [2] * size + [3] * size


def test_seed_makes_the_order():
    """The same seed, the same order; another one, another order."""
    def order(seed):
        _, stages = planned(EXPERIMENT="answer", SEED=seed)
        return [c.label for c in stages[0].cells]
    assert order("7") == order("7") != order("8")


def test_full_grid_is_the_published_one():
    """Every x that was published is measured."""
    _, stages = planned(FULL="1")
    for stage in stages:
        xs = {c.x for c in stage.cells}
        for points in stage.experiment.published.series.values():
            assert set(points) <= xs


def test_what_is_impossible_is_planned_once_and_named():
    """100,000 connections need several processes; poll has but one."""
    _, stages = planned(FULL="1", EXPERIMENT="hello")
    poll = [c for c in stages[0].cells
            if c.server.name == "poll" and c.x == 100000]
    assert len(poll) == 1 and "20,000 descriptors" in poll[0].impossible
    epoll = [c for c in stages[0].cells
             if c.server.name == "epoll" and c.x == 100000]
    assert len(epoll) == 3 and not epoll[0].impossible


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
    assert len(stages[0].cells) == 2 * 2 * 5
    assert stages[0].seconds == 0.5


def test_workers_only_where_there_are_any():
    """The variant with a worker for each core is epoll's alone."""
    _, stages = planned(EXPERIMENT="answer")
    many = {c.server.name for c in stages[0].cells if c.variant.many_workers}
    assert many == {"epoll"}


@pytest.mark.parametrize("environment, says", [
    ({"EXPERIMENT": "nosuch"}, "guestbook"),
    ({"SERVERS": "apache"}, "iterative"),
    ({"PEERS": "nosuch"}, "no peer"),
    ({"CONCURRENCY": "ten"}, "above 0"), ({"REPEAT": "0"}, "above 0"),
    ({"SECONDS": "-1"}, "above 0"), ({"SERVER_CPUS": "0-9999"}, "cores"),
    ({"SERVER_CPUS": "first"}, "written"), ({"TOOL": "siege"}, "wrk"),
    ({"SERVERS": "none"}, "nothing to measure")])
def test_wrong_settings_say_what_there_is(environment, says):
    """One sentence with what would be right."""
    with pytest.raises(wishes.SettingsError, match=says):
        wishes.parse([], environment)


def test_options_win_over_the_environment():
    """--repeat 7 beats REPEAT=5."""
    assert wishes.parse(["--repeat", "7"], {"REPEAT": "5"}).repeat == 7


def test_cores():
    """The list that taskset takes."""
    assert wishes.cores("0,2-4") == {0, 2, 3, 4}


class Slow:
    """A runner and a view for a machine on which all takes `factor` times
    as long as planned; no time really passes."""

    def __init__(self, factor):
        self.factor, self.now, self.rows = factor, 0.0, []

    def monotonic(self):
        """The clock."""
        return self.now

    def run(self, cell, seconds, ends=None):
        """A cell that is run."""
        lasts = cell.experiment.lasts(cell.x, seconds)
        self.now += self.factor * (lasts + cell.around)
        self.rows.append((cell.experiment.name, cell.repeat, "ok"))

    def skip(self, cell, status, _):
        """A cell that is not."""
        self.rows.append((cell.experiment.name, cell.repeat, status))

    def count_calls(self, *_):
        """System calls of one server."""
        self.now += self.factor * (plan.CALLS_SECONDS + plan.AROUND_CALLS)

    def __getattr__(self, name):
        return lambda *_: None      # what a view does


@pytest.mark.parametrize("factor", [1, 2.5])
def test_the_time_is_kept_on_a_slow_machine(factor, monkeypatch):
    """No experiment is left out: each gives up its last repeats."""
    _, stages = planned()
    slow = Slow(factor)
    monkeypatch.setattr(compare.time, "monotonic", slow.monotonic)
    compare.measure(stages, slow, slow, plan.QUICK_SECONDS)
    assert slow.now <= plan.QUICK_SECONDS
    for stage in stages:
        mine = [row for row in slow.rows if row[0] == stage.experiment.name]
        assert len(mine) == len(stage.cells)
        left_out = [repeat for _, repeat, status in mine
                    if status == "no time"]
        assert bool(left_out) == (factor > 1)
        assert mine[0][2] == "ok"
