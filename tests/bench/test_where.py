"""What where.py counts."""

import subprocess

from bench.studies import cost
from bench.studies import breakdown as where


def test_what_does_not_start_is_not_counted(monkeypatch):
    """As a build for a processor that valgrind does not know."""
    class Ended(subprocess.Popen):
        """A program that has ended before its output is read."""

        def __init__(self, _, **settings):
            super().__init__(["false"], **settings)
            self.wait()

    monkeypatch.setattr(subprocess, "Popen", Ended)
    scenario = next(one for one in cost.SCENARIOS if one.name == "one-shot-100")
    assert where.instructions_of("epoll", scenario, "", None) is None
