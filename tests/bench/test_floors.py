"""What floors.py makes of its rounds."""

import pytest

from bench.studies import cost
from bench.studies import floors
from bench import peers


def rows(*costs):
    """Rows as cost.measure() returns them."""
    return [{"us": us, "user_us": us / 4, "system_us": us * 3 / 4, "failed": 0}
            for us in costs]


def test_every_design_has_its_floor():
    """And those that keep connections have another for that."""
    wanted = floors.pairs([])
    assert [design for design, told, _ in wanted if told == floors.NEW] \
        == list(cost.ALL)
    assert {design for design, told, _ in wanted if told == floors.KEPT} \
        == set(cost.EVENT)
    assert {floor for _, _, floor in wanted} == {
        name for name in peers.names() if name.startswith("floor-")}
    assert floors.pairs(["07"])[0] == ("epoll", floors.NEW, "floor-epoll")


@pytest.mark.parametrize("n, place", [(6, 0), (8, 0), (9, 1), (12, 2),
                                      (24, 6)])
def test_interval(n, place):
    """As in tables of the sign test: in six rounds, the least and the most."""
    assert floors.interval(range(n)) == (place, n - 1 - place)


def test_no_interval_of_few_rounds():
    assert floors.interval(range(5)) is None
    assert "few rounds (3)" in floors.sentence(
        {"design": "epoll", "load": floors.NEW,
         **floors.compare(rows(1, 2, 3), rows(1, 2, 3))})


def test_pairs_of_a_round_are_compared():
    """A machine that becomes slower changes no ratio."""
    found = floors.compare(rows(12, 24, 36, 12, 24, 36),
                           rows(10, 20, 30, 10, 20, 30))
    assert found["ratio"] == found["low"] == found["high"] == 1.2
    assert found["server"]["us"] == 24 and found["floor"]["us"] == 20
    assert "1.20 to 1.20" in floors.sentence(
        {"design": "epoll", "load": floors.NEW, **found})


def test_below_the_floor_is_said():
    found = floors.compare(rows(*[8] * 6), rows(*[10] * 6))
    assert "BELOW" in floors.sentence(
        {"design": "epoll", "load": floors.NEW, **found})
