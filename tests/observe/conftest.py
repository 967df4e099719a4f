"""What the tests of tools/observe/ share."""

import pytest


@pytest.fixture(scope="session")
def drawing():
    """What draws tables in a terminal."""
    pytest.importorskip("rich")
