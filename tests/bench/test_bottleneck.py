"""Which limit is named, and with which evidence."""

from types import SimpleNamespace

import pytest

from bench.analyse import bottleneck

WRK = SimpleNamespace(name="wrk", busy_waits=False)
HTTPERF = SimpleNamespace(name="httperf", busy_waits=True)


def judged(tool=WRK, width=1, **values):
    """Return (limit, evidence) for a row with these figures."""
    return bottleneck.judge({"failed_percent": 0.0, "note": "", **values},
                            tool, width)


@pytest.mark.parametrize("values, limit", [
    ({"server_busy": 97.0, "load_busy": 60.0}, "server core"),
    ({"server_busy": 50.0, "load_busy": 96.0}, "load tool"),
    ({"redis_busy": 95.0, "server_busy": 95.0}, "Redis"),
    ({"load_cores_busy": 99.0, "load_busy": 60.0, "foreign": 0.0},
     "cores of the load"),
    ({"server_busy": 30.0, "load_busy": 30.0}, "waiting"),
    ({"load_cores_busy": 99.0, "foreign": None}, "all cores"),
    ({"server_busy": 60.0, "foreign": 40.0}, "other programs"),
    ({"failed_percent": 1.0, "descriptors": 1020, "descriptor_limit": 1024},
     "descriptors"),
    ({"failed": 2, "note": "connections with errors: 2 fd-unavail"},
     "descriptors of the load tool"),
    ({"status": "crashed", "note": "SIGABRT"}, "crash"),
])
def test_limits(values, limit):
    """Each limit has its evidence."""
    found, evidence = judged(**values)
    assert found == limit and evidence


def test_a_full_queue_that_cost_nothing_is_not_the_limit():
    """A busy core is the limit; the queue is, when no core was busy or
    requests were lost."""
    queue = {"overflows": 5, "accept_queue": 10, "accept_queue_limit": 10}
    assert judged(server_busy=97.0, **queue)[0] == "server core"
    assert judged(server_busy=40.0, **queue)[0] == "accept queue"
    assert judged(server_busy=97.0, unfinished=3, failed_percent=None,
                  **queue)[0] == "accept queue"


def test_a_tool_of_several_threads_has_several_cores():
    """Three at 50 % each are not busy, however much that is together."""
    assert judged(width=3, load_busy=150.0)[0] == "waiting"
    limit, evidence = judged(width=3, load_busy=285.0)
    assert limit == "load tool" and "95 % of 3 cores" in evidence


def test_a_tool_that_waits_in_a_loop_is_no_evidence():
    """httperf keeps its core busy whatever happens."""
    limit, evidence = judged(HTTPERF, load_busy=99.0, load_cores_busy=99.0,
                             foreign=0.0, failed=3)
    assert limit == "waiting" and "httperf" not in evidence
    assert judged(HTTPERF, load_cores_busy=99.0)[0] == "none"
    assert judged(HTTPERF, status="hung", failed_percent=None) == \
        ("the load tool hung", "httperf left no report")
