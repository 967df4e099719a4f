"""What the tests of observe/ share."""

import sys
from pathlib import Path

import pytest

from scripts import own_venv


@pytest.fixture(scope="session")
def drawing():
    """Let this process import rich, from build/venv/."""
    reason = own_venv.make()
    if reason:
        pytest.skip(reason)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(str(Path(own_venv.FOLDER) / "lib" / version
                        / "site-packages"))
