"""Fixtures of the tests, and the points.

    python3 -m labs.grade 03 DIR        runs them

A test runs in a lab only if its lab.toml names it; see lab.py.
"""

import contextlib

import pytest

from labs.grade import lab as labs
from labs.grade.observe import Seen
from labs.grade.plugin import BUILT, SERVERS
from labs.grade.redis import Redis
from labs.grade.server import Server
from labs.grade.test_robust import begin_slow_answer


def pytest_addoption(parser):
    group = parser.getgroup("labs")
    group.addoption("--lab", help="number or name of the lab")


def pytest_collection_modifyitems(config, items):
    """Keep the tests that lab.toml names, in its order."""
    lab = labs.find(config.getoption("--lab"))
    found = {item.originalname.removeprefix("test_"): item for item in items}
    missing = [test.name for test in lab.tests if test.name not in found]
    if missing:
        raise pytest.UsageError(
            f"{lab.folder / 'lab.toml'} names tests that do not exist: " + ", ".join(missing))
    items[:] = [found[test.name] for test in lab.tests]


@pytest.fixture(scope="session")
def lab(request):
    """The Lab that is graded."""
    return labs.find(request.config.getoption("--lab"))


@pytest.fixture
def expect(request, lab):
    """This test's parameters in this lab, [test.expect] in lab.toml: a dict."""
    return lab.test(request.node.originalname.removeprefix("test_")).expect


@pytest.fixture(scope="session")
def redis():
    """A Redis for all tests; .address is HOST:PORT."""
    with Redis() as running:
        yield running


@pytest.fixture
def own_redis():
    """A Redis that the test may stop and start: see redis.Redis."""
    with Redis() as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def stopping(request, lab, redis):
    """What test_finishes_slow_answers looks at when the other tests have run, as it takes seconds:
    begin_slow_answer() of a server, None if the test is not run, or the Seen of its failure."""
    with contextlib.ExitStack() as started:
        found = None
        if any(item.originalname == "test_finishes_slow_answers" for item in request.session.items):
            built = request.config.stash[BUILT]
            try:
                found = begin_slow_answer(started.enter_context(Server(
                    built.program, lab.args, built.shown, built.isolation, redis.address)))
            except (Seen, OSError) as error:
                found = error
        yield found


@pytest.fixture
def fresh_server(request, lab, redis):
    """fresh_server(args=..., redis=..., limits=...) starts the submission.

    args    more words for its command line, after those of lab.toml
    redis   an address, "none"; by default the Redis of all tests
    limits  {"nofile": 30}: resource limits, named as in sandbox.LIMITS

    Each is ended with the test. Raises Seen when it does not start.
    """
    built = request.config.stash[BUILT]
    with contextlib.ExitStack() as started:
        def start(args=(), redis=redis.address, limits=None):
            server = started.enter_context(Server(
                built.program, [*lab.args, *args], built.shown, built.isolation, redis, limits))
            request.node.stash.setdefault(SERVERS, []).append(server)
            return server
        yield start


@pytest.fixture
def server(fresh_server):
    """The submission, running, with a Redis: see server.Server."""
    return fresh_server()
