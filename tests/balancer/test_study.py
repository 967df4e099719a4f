"""The study of instances behind a balancer: how it starts them, and how it
splits the cost. (tests/bench has the rest of what a study is.)"""

import os
import types

import pytest

from tools.bench.experiments import client
from tools.bench.studies import hooks, study
from tools.kit import procfs, servers
from tests.balancer.conftest import missing

REQUESTS = 50


@pytest.mark.parametrize("way, programs", [
    ("direct", {"python": 1, "epoll": 1}),
    ("HAProxy 2", {"python": 1, "epoll": 2, "haproxy": 1}),
    ("nginx 4", {"python": 1, "epoll": 4, "nginx": 2}),
])
def test_what_it_starts_and_counts(redis, tmp_path, way, programs):
    for name in ("haproxy", "nginx"):
        if name in programs and missing(name):
            pytest.skip(missing(name))
    server = next(one for one in study.load("balanced").servers
                  if one.name == f"balanced-epoll, {way}")
    start = servers.Start(frozenset(os.sched_getaffinity(0)), redis.address)
    seen, told = [], {}
    with servers.running(server, start, str(tmp_path / "log")) as live:
        family = [one.pid for one in procfs.tree(live.pid)]
        names = [procfs.read(f"/proc/{pid}/comm").strip().rstrip("0123456789.") for pid in family]
        assert {name: names.count(name) for name in names} == programs
        with hooks.balancer(None, live, seen, told):
            for _ in range(REQUESTS):
                assert client(live.port)("/guestbook")[0] == 200
            seen.append(types.SimpleNamespace(good=REQUESTS))
    assert live.exit.code == 0 and not any(map(procfs.process, family))
    assert told["us/request in the instances"] > 0
    assert (told["us/request in the balancer"] > 0) == (way != "direct")
