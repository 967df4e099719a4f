"""Fixtures of the regression tests. They run one server, given as --program:

    make break-check NAME=...       builds it first
"""

import contextlib
import shlex
import shutil
from pathlib import Path

import pytest

from labs.grade import build, sandbox
from labs.grade.redis import Redis
from labs.grade.server import Server


def pytest_addoption(parser):
    group = parser.getgroup("break-it labs")
    group.addoption("--program", help="the executable to test")
    group.addoption("--options", default="", help="words for its command line")


@pytest.fixture(scope="session")
def isolation():
    """How programs are kept apart. Comes before all that uses the network,
    because the test gets a network of its own."""
    return sandbox.enter()


@pytest.fixture(scope="session")
def redis(isolation):
    """A Redis; .address is HOST:PORT."""
    with Redis() as running:
        yield running


@pytest.fixture(scope="session")
def built(request, isolation, tmp_path_factory):
    """(the program, the site), where a sandbox may show them."""
    folder = tmp_path_factory.mktemp("break")
    for path in (folder, folder.parent):
        path.chmod(0o711)
    given = Path(request.config.getoption("--program"))
    program = folder / "program" / given.name
    program.parent.mkdir()
    program.parent.chmod(0o755)
    shutil.copy(given, program)
    program.chmod(0o755)
    return program, build.prepare(folder / "shown")


@pytest.fixture
def fresh_server(request, isolation, built, redis):
    """fresh_server(args=..., redis=..., limits=...) starts the program with
    the options of the lab; each ends with the test. See server.Server."""
    words = shlex.split(request.config.getoption("--options"))
    with contextlib.ExitStack() as started:
        def start(args=(), redis=redis.address, limits=None):
            return started.enter_context(Server(
                built[0], [*words, *args], built[1], isolation, redis, limits))
        yield start


@pytest.fixture
def server(fresh_server):
    """The program, running, with a Redis: see server.Server."""
    return fresh_server()
