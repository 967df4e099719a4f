"""Which limit is named, and with which evidence."""

from types import SimpleNamespace

import pytest

from bench.analyse import bottleneck

WRK = SimpleNamespace(name="wrk", busy_waits=False, open_loop=False)
HTTPERF = SimpleNamespace(name="httperf", busy_waits=True, open_loop=True)
QUEUE = {"overflows": 5, "accept_queue": 10, "accept_queue_limit": 10}


@pytest.mark.parametrize("values, limit, evidence", [
    ({"server_busy": 97.0, "load_busy": 60.0}, "server core", "97 %"),
    # What the tables draw hollow is not called the limit here.
    ({"server_busy": 94.0, "load_busy": 60.0}, "waiting", "server 94 %"),
    ({"server_busy": 50.0, "load_busy": 96.0}, "load tool", "wrk 96 %"),
    ({"redis_busy": 95.0, "server_busy": 95.0}, "Redis", "95 %"),
    ({"load_cores_busy": 99.0, "load_busy": 60.0, "foreign": 0.0},
     "cores of the load", "wrk 60 %"),
    ({"load_cores_busy": 99.0, "foreign": None}, "all cores", "99 % busy"),
    ({"server_busy": 60.0, "foreign": 40.0}, "other programs", "40 %"),
    ({"failed_percent": 1.0, "descriptors": 1020, "descriptor_limit": 1024},
     "descriptors", "1,020 of 1,024"),
    ({"failed": 2, "note": "2 fd-unavail"}, "descriptors of the load tool",
     "2 fd-unavail"),
    ({"status": "crashed", "note": "SIGABRT"}, "crash", "SIGABRT"),
    ({"status": "hung"}, "the load tool hung", "no report"),
    # A full queue that lost nothing is the limit only where no core was busy.
    ({"server_busy": 97.0, **QUEUE}, "server core", "97 %"),
    ({"server_busy": 40.0, **QUEUE}, "accept queue", "5 overflows"),
    ({"server_busy": 97.0, "unfinished": 3, **QUEUE}, "accept queue",
     "10 of 10 waiting"),
    # Three threads at 50 % each are not busy, however much that is together.
    ({"width": 3, "load_busy": 150.0}, "waiting", "50 % of 3 cores"),
    ({"width": 3, "load_busy": 285.0}, "load tool", "95 % of 3 cores"),
    # httperf keeps its core busy whatever happens.
    ({"tool": HTTPERF, "load_busy": 99.0, "load_cores_busy": 99.0,
      "foreign": 0.0, "failed": 3}, "waiting", "server 0 %"),
    ({"tool": HTTPERF, "load_cores_busy": 99.0}, "none", "all demanded"),
])
def test_limits(values, limit, evidence):
    """Each limit has its evidence."""
    row = {"failed_percent": 0.0, "note": "", **values}
    found, why = bottleneck.judge(row, row.pop("tool", WRK), row.pop("width", 1))
    assert found == limit and evidence in why
    assert "httperf" not in why
