"""What all tests of the labs share."""

import pytest


@pytest.fixture
def source(tmp_path):
    """An empty folder, for a submission."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder
