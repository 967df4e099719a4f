"""What the tests of the fleet share."""

import pytest

from tests.fleet import hosts as namespaces
from tools.fleet import __main__ as fleet


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
