"""The part of the grader that pytest calls: limits of time, and Results."""

import contextlib
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from labs.grade.observe import Seen
from labs.grade.outputs import Result
from labs.grade.sandbox import Isolation, SandboxError
from tools.kit.redis import RedisError

BUILT = pytest.StashKey()       # of the config: a Built
SERVERS = pytest.StashKey()     # of a test: the servers that it started
TEST_SECONDS = 40               # no test of a good server needs five ...
ENOUGH = 5                      # ... which a test has, once it has begun
# All tests may take this many times as long as those that fail. On a machine
# with fifty programs for two cores, those of a good server took two minutes.
MOST_TIMES = 5


@dataclass(frozen=True)
class Built:
    """A compiled submission: the path of the program, what build.prepare()
    returned, and how it is isolated."""

    program: Path
    shown: dict
    isolation: Isolation


class Grading:
    """A pytest plugin. `results` is {name of a test: Result}; `broken` says
    what the grader could not do, "" if all went well.

    Results come from pytest in this process alone: nothing that a submission
    prints or writes is read as a result.
    """

    def __init__(self, lab, built, seconds, on_begin=lambda name: None):
        """`seconds`: how long the tests that fail may take together, so that a good server has
        enough time on every machine; all tests have MOST_TIMES as long. `on_begin` is called with
        the name of each test before it runs."""
        self.lab, self.built, self.on_begin = lab, built, on_begin
        self.results, self._left = {}, seconds      # for tests that fail
        self._last = time.monotonic() + MOST_TIMES * seconds
        self.broken = ""

    def pytest_configure(self, config):
        """Give the fixtures what was built."""
        config.stash[BUILT] = self.built

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        """Start no test when the time for all is up."""
        self.on_begin(item.originalname.removeprefix("test_"))
        if self._left <= 0 or time.monotonic() >= self._last:
            raise Seen("no time was left after the tests before",
                       "tests that end; see the first that failed")
        with self._limited():
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self):
        """Interrupt a test when its time is up."""
        with self._limited():
            yield

    @contextlib.contextmanager
    def _limited(self):
        """Raise Seen in the block when the time of this phase of a test is up.
        Only there: between phases, an exception would end pytest itself."""
        def too_late(*_):
            raise Seen("no result in time", "a test that ends; something waits forever")

        signal.signal(signal.SIGALRM, too_late)
        signal.setitimer(signal.ITIMER_REAL, min(TEST_SECONDS, max(ENOUGH, self._left)))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Record how a test ended: its first phase that failed counts."""
        report = (yield).get_result()
        test = self.lab.test(item.originalname.removeprefix("test_"))
        if call.excinfo is not None:
            if isinstance(call.excinfo.value, (RedisError, SandboxError)):
                self.broken = str(call.excinfo.value)
            self._left -= report.duration
            failed = self.results.get(test.name)
            if failed is None or failed.passed:
                self.results[test.name] = Result(
                    test, False, *explain(item, call.excinfo.value), report.duration)
        elif call.when == "call":
            self.results[test.name] = Result(test, True, seconds=report.duration)

    def in_order(self):
        """Return the Results in the order of lab.toml; a test without one has failed."""
        return [self.results.get(test.name) or Result(
            test, False, "the test was not run", "its result", ran=False)
            for test in self.lab.tests]


def explain(item, error):
    """Return (what was seen, what was expected) for an exception."""
    servers = item.stash.get(SERVERS, [])
    for server in servers:
        if server.fault:
            return server.fault, described(error)[1]
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        for server in servers:      # it may be about to end
            if server.wait(0.5) is not None:
                return (f"the server ended: {server.ending}", "a server that goes on")
    return described(error)


def described(error):
    """Return (what was seen, what was expected) as the exception says it."""
    if isinstance(error, Seen):
        return error.seen, error.expected
    if isinstance(error, TimeoutError):
        return "no answer in time", "an answer"
    if isinstance(error, OSError):
        return str(error), "a connection that works"
    return f"{type(error).__name__}: {error}", "no exception"
