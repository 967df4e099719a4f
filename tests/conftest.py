"""Fixtures: a Redis, a web site and a server for each test that asks.

    pytest -n auto tests/blackbox
    pytest tests/faults --servers epoll,poll -k redis
    pytest tests/blackbox --sample protocol -m 'not slow'
    pytest tests/blackbox --bin-dir build/address,undefined/bin

Every test that (directly or not) uses `server_name` runs once for each of the
seven executables; with --sample, tests of code that all seven share run on one
server of each driver. The server is stopped with SIGTERM and must exit with 0;
see servers.Server.finish for what else it owes.
"""

import collections
import contextlib
import zlib
from pathlib import Path

import pytest

from tests.support.faulty_redis import FaultyRedis
from tests.support.private_redis import PrivateRedis
from tests.support.servers import FOLDERS, LOOPS, SMALL_POOL, TOP, Server, ServerFault
from tests.support.site import Site

# --sample: the tests with these markers run on one server of each driver.
SAMPLED = {"protocol": {"protocol"}, "shared": {"protocol", "shared"}}
TURNS = pytest.StashKey()       # {module: how many of its tests were sampled so far}


def pytest_addoption(parser):
    group = parser.getgroup("zerohttpd")
    group.addoption("--bin-dir", default=str(TOP), metavar="DIR",
                    help="folder of the executables (default: %(default)s)")
    group.addoption("--servers", default=",".join(FOLDERS), metavar="A,B",
                    help="which of the seven to test (default: all)")
    group.addoption("--sample", choices=SAMPLED,
                    help="run tests of the protocol, or of all that is shared, on one "
                    "blocking server and one event loop (default: on all)")


def pytest_configure(config):
    for name in config.getoption("--servers").split(","):
        if name not in FOLDERS:
            raise pytest.UsageError(f"--servers: there is no {name!r}, only "
                                    f"{', '.join(FOLDERS)}")


def pytest_generate_tests(metafunc):
    if "server_name" in metafunc.fixturenames:
        metafunc.parametrize("server_name", chosen(metafunc.definition), indirect=True,
                             scope="session")


def chosen(test):
    """Return the servers that a test function runs for. A test with the marker `only` is about
    an architecture: all its servers run it. Of a sample, the tests of a module take turns."""
    names = test.config.getoption("--servers").split(",")
    only = test.get_closest_marker("only")
    if only:
        return [name for name in names if name in only.args]
    markers = SAMPLED.get(test.config.getoption("--sample"), set())
    if not markers & {mark.name for mark in test.iter_markers()}:
        return names
    turn = test.config.stash.setdefault(TURNS, collections.Counter())
    number = turn[test.path] + zlib.crc32(test.path.name.encode())
    turn[test.path] += 1
    drivers = ([name for name in names if name not in LOOPS],
               [name for name in names if name in LOOPS])
    return [driver[number % len(driver)] for driver in drivers if driver]


def pytest_collection_modifyitems(config, items):
    """Drop tests for which no server is left."""
    kept, dropped = [], []
    for item in items:
        server = getattr(item, "callspec", None) and item.callspec.params.get("server_name")
        (kept if server is None or server in FOLDERS else dropped).append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


@pytest.fixture(scope="session")
def server_name(request):
    """The executable under test; parametrized by pytest_generate_tests."""
    return request.param


@pytest.fixture(scope="session")
def bin_dir(request):
    """The folder of the executables."""
    return Path(request.config.getoption("--bin-dir")).resolve()


@pytest.fixture(scope="session")
def executable(bin_dir, server_name):
    """The path of the executable under test."""
    return bin_dir / server_name


@pytest.fixture(scope="session")
def redis():
    """A Redis for all tests of this process. See `own_redis`, `guestbook`."""
    with contextlib.closing(PrivateRedis()) as instance:
        yield instance


@pytest.fixture
def own_redis():
    """A Redis that the test may stop, freeze and fill."""
    with contextlib.closing(PrivateRedis()) as instance:
        yield instance


@pytest.fixture
def durable_redis():
    """A Redis of the test's own that keeps what it has acknowledged.

    Only appendfsync "always" is that strict: with "everysec", its default, a
    write may wait for an fsync that is under way, and the reply does not.
    """
    with contextlib.closing(PrivateRedis("--appendonly", "yes",
                                         "--appendfsync", "always")) as instance:
        yield instance


@pytest.fixture
def faulty_redis(redis):
    """A proxy before the Redis of all tests; a test can make it misbehave."""
    redis("FLUSHALL")
    with contextlib.closing(FaultyRedis(redis.port)) as instance:
        yield instance


@pytest.fixture(scope="session")
def site():
    """A copy of the project's public/ and templates/, for all tests."""
    instance = Site()
    yield instance
    instance.remove()


@pytest.fixture
def own_site():
    """Such a copy that the test may spoil."""
    instance = Site()
    yield instance
    instance.remove()


@pytest.fixture(scope="session")
def launcher(executable, site, redis):
    """A function that starts the server under test; see `launch`.

    It keeps idle connections for a minute, not for five seconds: a test that
    holds many must not lose the first one on a busy machine.
    """
    def start(*options, root=None, redis=redis.address, **settings):
        return Server(executable, "-p", 0, "--root", root or site.root,
                      "--redis", redis, "--keep-alive", "60",
                      *SMALL_POOL.get(executable.name, ()), *options,
                      **settings)
    return start


@pytest.fixture
def launch(launcher):
    """launch(*options, root=..., redis=...) starts a server for this test.

    It gets a free port, the shared site and Redis and a small pool unless the
    options say otherwise (the last one counts). All are stopped, and checked,
    at the end of the test.
    """
    started = []

    def start(*options, **settings):
        started.append(launcher(*options, **settings))
        return started[-1]

    yield start
    faults = []
    for server in started:
        if not server.ended:
            try:
                server.check()
                server.stop()
            except ServerFault as fault:
                faults.append(str(fault))
            finally:
                server.end()
    assert not faults, "\n".join(faults)


@pytest.fixture(scope="session")
def shared_server(launcher):
    """Returns a function that returns the server which all tests share."""
    running = []

    def get():
        if running and not running[-1].is_running():
            running.pop().end()         # a test broke it; give others a chance
        if not running:
            running.append(launcher())
        return running[-1]

    yield get
    while running:
        running.pop().stop()


@pytest.fixture
def server(shared_server):
    """The server under test with usual options, shared by many tests.

    The test that makes it exit, or a sanitizer speak, fails.
    """
    instance = shared_server()
    yield instance
    try:
        instance.check()
    except ServerFault:
        instance.end()
        raise
