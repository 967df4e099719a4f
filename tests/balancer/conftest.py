"""Fixtures: instances behind a balancer, as `make run-balanced` starts them.

    pytest tests/balancer --servers epoll,preforking

Tests of one client are in test_one_client.py, with instances that only pretend;
those with 200 clients, on real servers, are in test_crowd.py.
"""

import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.support.processes import (children, end, make_folder, remove_folder,
                                     spawn, wait_for)
from tools.fleet.balancer.run import is_free


def missing(program):
    """Return why a test cannot run, "" if `program` is here."""
    found = shutil.which(program) or Path("/usr/sbin", program).exists()
    return "" if found else f"{program} is not installed"


@pytest.fixture(params=["haproxy", "nginx"])
def name(request):
    """Either balancer, by its name; tests ask for one with `indirect`."""
    if missing(request.param):
        pytest.skip(missing(request.param))
    return request.param


def comm(pid):
    """Return the name of a process."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def event_loop(server, name):
    """Return the process that serves the clients: of nginx, a child."""
    [pid] = [pid for pid in children(server.pid) if comm(pid) == name]
    return (children(pid) or [pid])[0]


def connections(port):
    """Return the rows of /proc/net/tcp, as words, whose own end is a port of this machine."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row for row in rows if row[1].endswith(f":{port:04X}")]


@pytest.fixture
def folder():
    """A temporary folder."""
    path = make_folder("balancer")
    yield path
    remove_folder(path)


class Balanced:
    """run.py, running: `address` is the balancer's, `pid` its own."""

    def __init__(self, folder, first_port, redis, server, *words):
        self.log = folder / "run.log"
        with open(self.log, "wb") as log:
            self.process = spawn(
                [sys.executable, "-m", "tools.fleet.balancer.run", server,
                 "--redis", redis, "--port", str(first_port), *words],
                stdout=log, stderr=log)
        self.pid = self.process.pid
        self.address = ("127.0.0.1", first_port)
        self.wait_for_line(r"^ready: ")

    def wait_for_line(self, pattern, times=1):
        """Wait until it has printed a line that matches, `times` times."""
        def there():
            assert self.process.poll() is None, self.log.read_text()
            return len(re.findall(pattern, self.log.read_text(),
                                  re.MULTILINE)) >= times
        wait_for(there, f"{pattern!r} in the output of run.py")

    def instance(self, name):
        """Return (pid, port) of an instance that runs now."""
        pid, port = re.findall(rf"^{name}: process (\d+), http://.*?:(\d+)/",
                               self.log.read_text(), re.MULTILINE)[-1]
        return int(pid), int(port)

    def rolling_restart(self):
        """Tell it to restart the instances, and wait until it has."""
        self.process.send_signal(signal.SIGHUP)
        self.wait_for_line(r"^restarted \d+ instances")

    def stop(self):
        """Stop it; it must end with status 0."""
        self.process.terminate()
        assert self.process.wait(60) == 0, self.log.read_text()


@pytest.fixture(scope="session")
def free_port(worker_number):
    """free_port() returns a port that is free, as are the next few.

    The kernel gives none of them to a client, which an instance that starts
    again on its port could not share it with.
    """
    ports = iter(range(10000 + 1000 * worker_number, 20000, 10))
    return lambda: next(port for port in ports if all(
        is_free(one) for one in range(port, port + 10)))


@pytest.fixture(scope="session")
def worker_number(request):
    """The number of this process among those of pytest-xdist; 0 without it."""
    name = getattr(request.config, "workerinput", {}).get("workerid", "gw0")
    return int(name.removeprefix("gw"))


@pytest.fixture
def balanced(folder, redis, free_port):
    """balanced("epoll", ...) runs run.py with these words, which may follow."""
    redis("FLUSHALL")
    started = []

    def start(*words):
        started.append(Balanced(folder, free_port(), redis.address, *words))
        return started[-1]

    yield start
    for one in started:
        try:
            if one.process.poll() is None:
                one.stop()
        finally:
            end(one.process)
