"""What the tests of the fleet share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import hosts as namespaces          # noqa: E402  (tests/fleet/hosts.py)
from tools.fleet import __main__ as fleet    # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def ansible():
    """Ansible, or no test."""
    try:
        fleet.install()
    except fleet.Mistake as reason:
        pytest.skip(str(reason))


def pytest_collection_modifyitems(items):
    """Skip the tests with hosts, by name, where there can be none."""
    reason = namespaces.why_not()
    for item in items:
        if reason and item.get_closest_marker("namespaces"):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure(config):
    config.addinivalue_line("markers", "namespaces: makes hosts on this machine")
    config.addinivalue_line("markers", "timeout(seconds): of pytest-timeout")
    config.addinivalue_line("markers", "slow: only with FULL=1 (make check-fleet)")
