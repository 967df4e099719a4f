"""Somebody sets the clock while the server runs. Dates follow the clock;
deadlines do not, since they are kept with the monotonic one."""

import re
import time

import pytest

from tests.support.client import build, parse_date
from tests.shim.shim import Shim

pytestmark = pytest.mark.clock

YEAR = 365 * 86400
LOG_DATE = re.compile(r"\[\d\d/\w{3}/(\d{4}):")


@pytest.fixture
def clock(executable):
    """The library, for a server whose calls do not fail."""
    instance = Shim(executable, seed=0)
    yield instance
    instance.close()


def fields(connection, target, **options):
    """Return (status, fields as a dictionary) of an answer without a body."""
    connection.send(build(target, "HEAD", **options))
    status, _, pairs = connection.read_head()
    return status, dict(pairs)


@pytest.mark.parametrize("years", [-20, 20], ids=["back", "forth"])
def test_the_clock_is_set(launch, clock, own_site, server_name, years):
    """An idle client and one in the middle of a request stay, and are served.
    Files are not younger than the answer (RFC 9110, 8.8.2.1)."""
    log = own_site.root / "access.log"
    server = launch("--access-log", log, "--keep-alive", 3600,
                    "--request-timeout", 3600, root=own_site.root,
                    env=clock.environment)
    with server.connect() as client:
        assert fields(client, "/")[0] == 200
        client.send(build("/answer", "HEAD")[:-2])
        server.wait_until_read(client)
        clock.set_clock(years * YEAR)
        if server_name != "iterative":      # it serves one client at a time
            with server.connect() as other:     # wakes an event loop
                assert fields(other, "/answer")[0] == 200
        client.expect_silence(0.15)         # three looks of a blocking server
        client.send(b"\r\n")
        assert client.read_head()[0] == 200
        status, found = fields(client, "/style.css")
        assert status == 200
        now = parse_date(found["Date"])
        assert abs(now - time.time() - years * YEAR) < 300
        assert parse_date(found["Last-Modified"]) <= now
        clock.set_clock(0)
        status, found = fields(client, "/style.css")
        assert status == 200
        assert abs(parse_date(found["Date"]) - time.time()) < 300
    assert server.request("/guestbook").status == 200
    server.stop()
    seen = [int(LOG_DATE.search(line)[1])
            for line in log.read_text(encoding="ascii").splitlines()]
    away = [abs(year - time.gmtime().tm_year) > 1 for year in seen]
    changed = 2 if server_name == "iterative" else 3
    assert away == [False] + [True] * changed + [False] * 2


def test_a_deadline_comes_although_the_clock_went_back(launch, clock):
    """Half a request, and then an hour less on the clock: 408 all the same."""
    server = launch("--request-timeout", 1, env=clock.environment)
    with server.connect() as client:
        client.send(build("/answer")[:-2])
        server.wait_until_read(client)
        clock.set_clock(-3600)
        assert client.read_head()[0] == 408
