"""Redis in every state but a good one. Redis absent or frozen is in
tests/blackbox/test_redis.py."""

import re
import time

import pytest

from tests.support import faulty_redis as faults
from tests.support.processes import expect_below, wait_for
from tests.support.scenarios import away, exactly_once, recovery
from tests.support.servers import ONE_AT_A_TIME, TOP

pytestmark = pytest.mark.shared

# Promised: a 503 within a second, and the guestbook within a second of Redis'
# return. A sanitized server may add:
SLACK = 2.0
# Seconds that a server waits for one reply (REDIS_WAIT_MS).
WAIT = int(re.search(r"REDIS_WAIT_MS = (\d+)", (TOP / "common/redis.h").read_text())[1]) / 1000

BOTH_WAYS = pytest.mark.parametrize("options", [[], ["--pipeline"]],
                                    ids=["one by one", "pipeline"])


@pytest.mark.parametrize("mode, seconds, options", [
    (faults.DELAY, 1.5, []), (faults.DRIP, 0.4, []), (faults.SILENT, 0, []),
    (faults.CUT, 0, []), (faults.CUT, 0, ["--pipeline"]),
    (faults.GARBAGE, 0, []), (faults.WRONG_TYPE, 0, []), (faults.RESET, 0, []),
    (faults.HUGE_STRING, 0, [])],
    ids=["delay", "drip", "silent", "cut", "cut-pipeline", "garbage",
         "wrong-type", "reset", "huge-string"])
def test_fault(launch, faulty_redis, mode, seconds, options):
    """The guestbook is away within a second, all else is there, and it comes
    back within a second, to stay."""
    server = launch(*options, redis=faulty_redis.address)
    recovery(server)
    faulty_redis.seconds = seconds

    def away_and_back():
        faulty_redis.mode = mode
        slowest = away(server)
        faulty_redis.mode = faults.PASS
        return max(slowest, recovery(server))

    expect_below(1 + SLACK, away_and_back)


@BOTH_WAYS
def test_a_slow_redis_makes_slow_pages(launch, faulty_redis, options):
    """Slow is not away: as long as replies keep coming, so do pages. A page is refused
    only when a reply took longer than the server waits, as on a machine that stands still."""
    server = launch(*options, redis=faulty_redis.address)
    recovery(server)
    faulty_redis.seconds = 0.1

    def three_pages():
        faulty_redis.mode = faults.DELAY
        for _ in range(3):
            began = time.monotonic()
            if server.request("/guestbook").status != 200:
                assert time.monotonic() - began > WAIT
                faulty_redis.mode = faults.PASS
                recovery(server)
                return False
        return True

    wait_for(three_pages, "three slow pages")


def test_a_password_that_we_do_not_know(launch, own_redis):
    """NOAUTH is Redis' way to be away for us; lifted, it is back."""
    server = launch(redis=own_redis.address)

    def away_and_back():
        own_redis("CONFIG", "SET", "requirepass", "secret")
        slowest = away(server)
        own_redis("CONFIG", "SET", "requirepass", "")
        return max(slowest, recovery(server))

    expect_below(1 + SLACK, away_and_back)


@pytest.mark.only(*ONE_AT_A_TIME)
def test_a_silent_redis_does_not_freeze_the_site(launch, faulty_redis,
                                                 server_name):
    """Where a page that waits for Redis holds up others, it must not do so
    again and again: after one has waited without a reply the next ones do not wait,
    for 10 ms, then 20, 40 ... (see common/redis.c)."""
    server = launch(*ONE_AT_A_TIME[server_name], redis=faulty_redis.address)

    def some_do_not_wait():
        recovery(server)
        faulty_redis.mode = faults.SILENT
        connections = faulty_redis.accepted
        began, pages = time.monotonic(), 0
        # The first page waits 250 ms on the old connection, six more on a new one.
        while faulty_redis.accepted < connections + 6:
            assert server.request("/guestbook").status == 503
            pages += 1
        pauses = sum(0.01 * 2 ** i for i in range(6))
        assert time.monotonic() - began > 0.98 * (7 * WAIT + pauses)
        faulty_redis.mode = faults.PASS
        return pages > 7        # unless the machine slept through each pause

    wait_for(some_do_not_wait, "a page that does not wait")
    recovery(server)


def test_every_thanks_is_kept_once(launch, durable_redis):
    """Redis is killed and restarted five times under eight busy guests."""
    server = launch(redis=durable_redis.address)
    thanked, refused, lost, twice = exactly_once(server, durable_redis)
    assert thanked >= 240 and refused >= 40
    assert (lost, twice) == (0, 0)
