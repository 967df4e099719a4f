"""Servers whose system calls fail.

    pytest tests/shim --servers epoll,poll
    pytest tests/shim --seed 7 --seeds 20       # seeds 7 to 26
"""

import pytest

from tests.shim.shim import Shim


def pytest_addoption(parser):
    group = parser.getgroup("zerohttpd")
    group.addoption("--seed", type=int, default=1,
                    help="the first seed of the faults (default: %(default)s)")
    group.addoption("--seeds", type=int, default=1,
                    help="how many seeds (default: %(default)s)")


def pytest_generate_tests(metafunc):
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
