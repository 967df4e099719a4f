"""The fixtures of tests/blackbox, which these tests share.

    pytest -n auto tests/faults
    pytest tests/faults --servers epoll,poll -k redis

Where the black-box tests ask one client's questions, these tests bring the
crowd, the fault, and the clock.
"""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "blackbox")]

# pylint: disable=wildcard-import,unused-wildcard-import,wrong-import-position
from blackbox.conftest import *     # noqa: E402,F401,F403  fixtures and hooks
from private_redis import PrivateRedis      # noqa: E402
from faulty_redis import FaultyRedis        # noqa: E402


@pytest.fixture
def durable_redis():
    """A Redis of the test's own that keeps what it has acknowledged.

    Only appendfsync "always" is that strict: with "everysec", its default, a
    write may wait for an fsync that is under way, and the reply does not.
    """
    instance = PrivateRedis("--appendonly", "yes", "--appendfsync", "always")
    yield instance
    instance.close()


@pytest.fixture
def faulty_redis(redis):
    """A proxy before the Redis of all tests; a test can make it misbehave."""
    redis("FLUSHALL")
    instance = FaultyRedis(redis.port)
    yield instance
    instance.close()
