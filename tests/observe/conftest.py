"""What the tests of tools/observe/ share."""

import sys
from pathlib import Path

import pytest

from tools.kit import venv


@pytest.fixture(scope="session")
def drawing():
    """Let this process import rich, from build/venv/."""
    reason = venv.make()
    if reason:
        pytest.skip(reason)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(str(Path(venv.FOLDER) / "lib" / version
                        / "site-packages"))
