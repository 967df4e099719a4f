"""What flat.py makes of its runs, and how it asks for load."""

import pytest

from bench.studies import flat

CURVE = flat.Curve("epoll", "/guestbook", (20, 15000))


class Live:
    """As servers.running() gives, without a server."""

    @staticmethod
    def url(path, host="127.0.0.1"):
        return f"http://{host}:80{path}"


def run(rate, **others):
    """A run as measure() returns it."""
    return {"rate": rate, "us": 30.0, "tool_us": 9.0, "cookies": 0.0,
            "segments": 2.0, "late_acks": 0.0, "lost": 0} | others


def test_the_best_is_found_and_nothing_lost_is_forgotten():
    """Medians, the share of each in the best one of its round, and losses
    added up."""
    runs = {20: [run(rate) for rate in (100.0, 100.0, 300.0)],
            15000: [run(80.0, us=40.0, cookies=0.4),
                    run(70.0, us=50.0, cookies=0.1, lost=3),
                    run(270.0, us=60.0, cookies=0.2, lost=4)]}
    told = flat.summarize(CURVE, runs)
    assert told["curve"] == "guestbook" and told["best"] == 20
    assert told["points"]["20"]["share"] == 1
    assert told["points"]["15000"] == {
        "rate": 80.0, "share": 0.8, "us": 50.0, "min": 70.0, "max": 270.0,
        "tool_us": 9.0, "cookies": 0.2, "segments": 2.0, "late_acks": 0.0,
        "lost": 7}


@pytest.mark.parametrize("clients, addresses, requests", [
    (20, 1, 20000), (5000, 1, 20000), (15000, 3, 60000)])
def test_each_client_has_four_requests(clients, addresses, requests):
    """And no process of ab more clients than an address has ports for."""
    tool, job = flat.job_for(CURVE, clients, Live, 2)
    assert tool == "ab" and not job.keep_alive
    assert (len(job.urls), job.requests) == (addresses, requests)


def test_kept_connections_are_for_wrk():
    """For longer where it has to open more of them."""
    curve = flat.Curve("epoll", "/answer", (15000,), keep_alive=True)
    tool, job = flat.job_for(curve, 15000, Live, 2)
    assert tool == "wrk" and job.keep_alive and job.seconds == 15
    assert curve.name == "answer-keep-alive"


def test_a_long_queue_is_a_curve_of_its_own():
    """Or its figures would be taken for those of the other."""
    assert flat.Curve("epoll", "/guestbook", (20,), queue=flat.LONG_QUEUE) \
        .name == "guestbook-long-queue"
    assert len({(one.name, one.server) for one in flat.CURVES}) \
        == len(flat.CURVES)
