"""Servers that a test starts by hand, because it chooses what surrounds them."""

import shutil

import pytest

from tests.support.client import Connection
from tests.support.servers import SMALL_POOL

with_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")


def answers(address):
    """Whether a server answers at that address."""
    try:
        with Connection(address) as connection:
            return connection.request("/answer").body == b"42"
    except ConnectionRefusedError:
        return False


def without_redis(executable, site, *more):
    """Return the command for a small server without Redis."""
    return [str(executable), "--root", str(site.root), "--redis", "none",
            *SMALL_POOL.get(executable.name, []), *map(str, more)]
