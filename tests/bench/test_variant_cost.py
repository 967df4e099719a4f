"""What variant_cost.py makes of its rounds."""

import types

from bench.studies import cost
from bench.run import servers
from bench.studies import variants as variant_cost


def test_table():
    """Medians, the ratios of each round, and their interval."""
    rows = {"plain": [20.0] * 6, "variant": [10.0] * 5 + [11.0],
            "floor": [8.0] * 6}
    assert variant_cost.table({"preforking": rows})[2:] == [
        "| preforking | 20.0 | 10.0 | 8.0 | 0.50 (0.50 to 0.55) "
        "| 2.50 (2.50 to 2.50) | 1.25 (1.25 to 1.38) |"]


def test_table_without_floor_and_with_few_rounds():
    """Floors answer one page only."""
    rows = {"plain": [20.0], "variant": [10.0]}
    assert variant_cost.table({"epoll": rows})[2:] == [
        "| epoll | 20.0 | 10.0 | – | 0.50 | – | – |"]


def test_a_variant_is_started_like_its_plain_server(tmp_path):
    """With the same options, and from another place."""
    one = types.SimpleNamespace(options=("--workers", "2"))
    scenario = next(s for s in cost.SCENARIOS if s.name == "file-10k")
    who = variant_cost.who_is_measured(one, "epoll", tmp_path / "epoll", scenario)
    assert set(who) == {"plain", "variant"}
    plain, variant = (server.command(servers.Start(), 0, tmp_path)[0]
                      for server in (who["plain"], who["variant"]))
    assert plain[0] == f"{servers.TOP}/epoll"
    assert variant[0] == str(tmp_path / "epoll")
    assert plain[1:] == variant[1:] and plain[-2:] == ["--workers", "2"]
