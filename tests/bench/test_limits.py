"""Which limit is named, and with which evidence."""

from bench.analyse import bottleneck as limits
from bench import load

WRK, HTTPERF = load.TOOLS["wrk"], load.TOOLS["httperf"]


def judged(tool=WRK, width=1, **values):
    """Return (limit, evidence) for a row with these figures."""
    return limits.judge({"failed_percent": 0.0, "note": "", **values}, tool,
                        width)


def test_a_full_queue_that_cost_nothing_is_not_the_limit():
    """A busy core is; only when none was busy did somebody wait for it."""
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
    """httperf has its core busy whatever comes."""
    limit, evidence = judged(HTTPERF, load_busy=99.0, load_cores_busy=99.0,
                             foreign=0.0, failed=3)
    assert limit == "waiting" and "httperf" not in evidence
    assert judged(HTTPERF, load_cores_busy=99.0)[0] == "none"


def test_no_figure_has_its_reason():
    """A crash, and a load tool that left no report."""
    assert judged(status="crashed", note="SIGABRT") == ("crash", "SIGABRT")
    limit, evidence = judged(HTTPERF, status="hung", failed_percent=None)
    assert limit == "the load tool hung" and "httperf" in evidence
