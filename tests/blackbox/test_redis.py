"""Redis is away: the guestbook says so without a delay, the other pages work,
and when Redis is back, the guestbook works again. Redis in other bad states is in
tests/faults/test_faulty_redis.py."""

import time

import pytest

from tests.support.client import build
from tests.support.guest import Guest
from tests.support.processes import expect_below, seconds_of
from tests.support.scenarios import recovery

pytestmark = pytest.mark.shared

# "Within a second" is what is promised; the answer itself takes some time on top.
PROMISE = 1.25


def expect_away(server, site):
    """The guestbook answers 503, soon, and everything else is there. No remark is thanked for."""
    def ask():
        response = server.request("/guestbook")
        assert response.status == 503
        assert 0 < int(response.get("Retry-After")) <= 60
        assert "Redis" in response.text

    expect_below(PROMISE, lambda: seconds_of(ask))
    response = Guest(server, site.template).sign("Ada", "is this lost?")
    assert response.status == 503
    assert response.get("Location") is None
    with server.connect() as connection:
        for path in ["/", "/style.css", "/answer", "/hello", "/echo?value=x"]:
            assert connection.request(path).status == 200


def expect_back(server, site):
    """The guestbook works again without a restart. Returns its remarks, newest first."""
    recovery(server)
    guest = Guest(server, site.template)
    for i in range(10):
        assert guest.sign("Ada", f"remark {i}").status == 303
        remarks = guest.read().remarks
        assert remarks[0] == f"remark {i} - Ada"
    return remarks


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--pipeline"]],
                         ids=["one by one", "pipeline"])
def test_redis_stops_and_comes_back(launch, own_redis, site, options):
    server = launch(*options, redis=own_redis.address)
    expect_back(server, site)
    own_redis.stop()
    expect_away(server, site)
    own_redis.start()           # empty
    assert expect_back(server, site) == [f"remark {i} - Ada" for i in reversed(range(10))]


@pytest.mark.slow
@pytest.mark.protocol
def test_redis_ends_an_idle_connection(launch, own_redis):
    """As it does by its `timeout`. The next page opens a new connection."""
    server = launch(redis=own_redis.address)
    for _ in range(5):
        assert server.request("/guestbook").status == 200
        time.sleep(0.1)  # one that was used just now is not looked at again
        own_redis("CLIENT", "KILL", "TYPE", "normal")
        assert server.request("/guestbook").status == 200


@pytest.mark.protocol
def test_redis_absent_at_the_start(launch, own_redis, site):
    """It has a Unix socket here, which is away, too."""
    own_redis.stop()
    server = launch(redis=own_redis.unix)
    expect_away(server, site)
    own_redis.start()
    expect_back(server, site)


@pytest.mark.protocol
def test_no_redis_at_all(launch, site):
    expect_away(launch(redis="none"), site)


@pytest.mark.slow
def test_a_frozen_redis(launch, own_redis, site):
    """Connected, but no reply comes. Clients go while their pages wait: no client gets the replies
    that come later, least of all the next clients."""
    server = launch(redis=own_redis.address)
    expect_back(server, site)
    own_redis.freeze()
    expect_away(server, site)
    for _ in range(5):
        connection = server.connect()
        connection.send(build("/guestbook"))
        server.wait_until_read(connection)
        connection.reset()
    own_redis.thaw()
    expect_back(server, site)
