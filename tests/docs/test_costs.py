"""The tables of performance.md: verdicts come from the figures."""

import pytest

from conftest import DOCS           # puts docs/ on the path
from filling import costs
from filling.figures import FigureError, Namespace


class Context:
    """As run.Context, with made-up runs."""

    def __init__(self, **names):
        self.names = Namespace("", {name: costs.Node(name, told)
                                    for name, told in names.items()})


@pytest.mark.parametrize("relation, value, verdict", [
    (costs.MOST, 1.08, True), (costs.MOST, 1.081, False),
    (costs.LEAST, 0.9, True), (costs.LEAST, 0.89, False),
    (costs.BELOW, 0.99, True), (costs.BELOW, 1, False)])
def test_target(relation, value, verdict):
    """At most, at least, below."""
    target = 1 if relation == costs.BELOW else \
        0.9 if relation == costs.LEAST else 1.08
    assert costs.met(relation, target, value) is verdict


def test_goals_say_what_was_not_measured():
    """Nothing is taken for reached that nobody looked at."""
    rows = [line.split(" | ") for line in costs.goals(
        Context(cost={"keep-alive-100": {"floor": {"us": 4.0},
                                         "epoll": {"us": 4.2},
                                         "nginx": {"us": 5.0},
                                         "go": {"us": 9.0}},
                      "one-shot-100": {"floor-oneshot": {"us": 8.0},
                                       "epoll": {"us": 9.6}}}))[2:]]
    assert len(rows) == len(costs.GOALS)
    assert [row[2:] for row in rows[:5]] == [
        ["1.050", "yes |"], ["–", "not measured |"], ["0.840", "yes |"],
        ["–", "not measured |"], ["1.200", "**no** |"]]
    assert all(row[3] == "not measured |" for row in rows[5:])


def test_flatness_is_told_of_the_best_or_of_a_base():
    """Of a curve's own best, or of the rate at so many clients."""
    points = {"20": {"share": 0.8}, "100": {"share": 1.0},
              "1000": {"share": 0.6}}
    ctx = Context(flat={"guestbook forking": {"points": points}})
    assert costs.flat("guestbook forking", 1000)(ctx) == 0.6
    assert costs.flat("guestbook forking", 1000, base=20)(ctx) == \
        pytest.approx(0.75)


def test_redis_alone_is_taken_at_its_best():
    """Pages a second over those of the best pipeline, or of one."""
    ctx = Context(redis={"redis-benchmark, 1 in a pipeline": {"pages": 25.0},
                         "redis-benchmark, 3 in a pipeline": {"pages": 100.0},
                         "redis-benchmark, 64 in a pipeline": {"pages": 200.0},
                         "epoll, kept connections": {"pages": 40.0},
                         "epoll, kept connections, --pipeline": {
                             "pages": 50.0}})
    assert costs.pages_over_redis("epoll")(ctx) == 0.25
    assert costs.pages_over_redis("epoll", 3)(ctx) == 0.5


def test_missing_figures_are_named():
    """Neither zero nor a traceback."""
    with pytest.raises(FigureError, match="cost.idle.epoll"):
        costs.Node("cost", {"idle": {}}).get("idle").get("epoll")


def test_names_without_runs(tmp_path):
    """What was not measured yet is simply not there."""
    guard = tmp_path / "tests" / "cost"
    guard.mkdir(parents=True)
    (guard / "instructions.json").write_text('{"epoll one-shot": 7}')
    found = costs.names(tmp_path / "docs")
    assert found["guard"].get("epoll one-shot") == 7
    with pytest.raises(FigureError):
        found["cost"].get("keep-alive-100")
    assert set(costs.names(DOCS)) == set(found)
