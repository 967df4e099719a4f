"""What the tests of observe/ share."""

import fcntl
import sys
from pathlib import Path

import pytest

from bench import venv
from observe import lab


@pytest.fixture(scope="session")
def drawing():
    """Let this process import rich and textual, from build/venv/."""
    build = lab.TOP / "build"
    build.mkdir(exist_ok=True)
    with open(build / "venv.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)    # one of several pytest workers
        reason = venv.make()
    if reason:
        pytest.skip(reason)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(str(Path(venv.FOLDER) / "lib" / version
                        / "site-packages"))
