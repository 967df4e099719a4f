"""Fixtures: a Redis, a web site and a server for each test that asks.

    pytest -n auto tests/blackbox
    pytest tests/blackbox --servers epoll,poll -k guestbook
    pytest tests/blackbox --sample three -m 'not slow'
    pytest tests/blackbox --bin-dir build/address,undefined/bin

Every test that (directly or not) uses `server_name` runs once for each of the
seven executables; with --sample, tests of the protocol run on some of them (see
sampling.py). The server is stopped with SIGTERM and must exit with 0;
see servers.Server.finish for what else it owes.
"""

import os
import shutil
from pathlib import Path

import pytest

import sampling
from private_redis import PrivateRedis
from processes import make_folder, remove_folder
from servers import FOLDERS, SMALL_POOL, TOP, Server, ServerFault


def pytest_addoption(parser):
    group = parser.getgroup("zerohttpd")
    group.addoption("--bin-dir", default=str(TOP), metavar="DIR",
                    help="folder of the executables (default: %(default)s)")
    group.addoption("--servers", default=",".join(FOLDERS), metavar="A,B",
                    help="which of the seven to test (default: all)")
    group.addoption("--full", dest="sample", action="store_const", const=None,
                    help="run every case on every server (the default)")
    group.addoption("--sample", dest="sample", choices=sampling.MODES,
                    metavar="MODE",
                    help="run each case of the protocol on fewer servers: "
                    + "; ".join(f"{mode}: {what}"
                                for mode, what in sampling.MODES.items()))


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "only(*names): the rule holds for these servers alone")
    config.addinivalue_line(
        "markers", "browser: drives a real, headless Chromium")
    config.addinivalue_line(
        "markers", "slow: takes half a second or more (see sampling.SLOW)")
    for name in config.getoption("--servers").split(","):
        if name not in FOLDERS:
            raise pytest.UsageError(f"--servers: there is no {name!r}, only "
                                    f"{', '.join(FOLDERS)}")


def pytest_generate_tests(metafunc):
    if "server_name" not in metafunc.fixturenames:
        return
    names = metafunc.config.getoption("--servers").split(",")
    only = metafunc.definition.get_closest_marker("only")
    if only:
        names = [name for name in names if name in only.args]
    metafunc.parametrize("server_name", names, indirect=True,
                         scope="session")


@pytest.hookimpl(tryfirst=True)     # before -m looks at the markers
def pytest_collection_modifyitems(config, items):
    """Mark slow tests, drop tests without a server, and sample the protocol."""
    for item in items:
        if sampling.is_slow(item.path.stem, item.originalname):
            item.add_marker("slow")

    # --servers and `only` may leave a test without a server.
    items[:] = [item for item in items if "server_name" not in item.fixturenames
                or item.callspec.params["server_name"] in FOLDERS]

    if config.getoption("--sample"):
        kept = set(in_sample(items, config.getoption("--servers").split(","),
                             config.getoption("--sample")))
        config.hook.pytest_deselected(
            items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def in_sample(items, servers, mode):
    """Yield the tests that the mode of sampling keeps.

    A test with the marker `only` is about an architecture: it stays.
    """
    numbering = sampling.Numbering()
    for item in items:
        if item.path.stem not in sampling.FILES[mode] \
                or "server_name" not in item.fixturenames \
                or item.get_closest_marker("only"):
            yield item
            continue
        server = item.callspec.params["server_name"]
        case = item.callspec.id.split("-")      # such as epoll-POST-/answer
        case.remove(server)
        number = numbering.number(item.path.stem, item.originalname, tuple(case))
        if server in sampling.servers_for(number, servers, mode):
            yield item


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
    instance = PrivateRedis()
    yield instance
    instance.close()


@pytest.fixture
def own_redis():
    """A Redis that the test may stop, freeze and fill."""
    instance = PrivateRedis()
    yield instance
    instance.close()


class Site:
    """A folder with public/ and templates/, as --root takes it."""

    def __init__(self):
        self.root = make_folder("site")
        shutil.copytree(TOP / "public", self.root / "public")
        shutil.copytree(TOP / "templates", self.root / "templates")
        self.public = self.root / "public"

    @property
    def template(self):
        """The text of the guestbook's template."""
        return (self.root / "templates/guestbook/index.html").read_text()

    def write(self, path, content, age=3600):
        """Put a file below public/, last changed `age` seconds ago."""
        file = self.public / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        changed = file.stat().st_mtime_ns - age * 10**9
        os.utime(file, ns=(changed, changed))
        return file

    def remove(self):
        """Remove the folder."""
        remove_folder(self.root)


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
