"""The fixtures of tests/blackbox, and servers whose system calls fail.

    pytest tests/shim --servers epoll,poll
    pytest tests/shim --seed 7 --seeds 20       # seeds 7 to 26
"""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "blackbox"), str(TESTS / "faults")]

# pylint: disable=wildcard-import,unused-wildcard-import,wrong-import-position
from blackbox import conftest as blackbox   # noqa: E402
from blackbox.conftest import *     # noqa: E402,F401,F403  fixtures and hooks
from shim import Shim               # noqa: E402


def pytest_addoption(parser):
    blackbox.pytest_addoption(parser)
    group = parser.getgroup("zerohttpd")
    group.addoption("--seed", type=int, default=1,
                    help="the first seed of the faults (default: %(default)s)")
    group.addoption("--seeds", type=int, default=1,
                    help="how many seeds (default: %(default)s)")


def pytest_configure(config):
    blackbox.pytest_configure(config)
    config.addinivalue_line("markers", "clock: no call fails, the clock is set")


def pytest_generate_tests(metafunc):
    blackbox.pytest_generate_tests(metafunc)
    if "seed" in metafunc.fixturenames:
        first = metafunc.config.getoption("--seed")
        count = metafunc.config.getoption("--seeds")
        metafunc.parametrize("seed", range(first, first + count),
                             ids=lambda seed: f"seed={seed}")


@pytest.fixture
def shim(executable, seed):
    """The library, for a server of this test."""
    instance = Shim(executable, seed)
    yield instance
    instance.close()
