"""Redis is away: the guestbook says so without a delay, the other pages work,
and when Redis is back, the guestbook works again."""

import re
import socket
import threading
import time

import pytest

from tests.support.guest import Guest
from tests.support.processes import expect_below, seconds_of, wait_for
from tests.support.servers import TOP

pytestmark = pytest.mark.shared

# "Within a second" is what is promised; the answer itself takes some time on top.
PROMISE = 1.25
BACKOFF = int(re.search(r"BACKOFF_MAX_MS = (\d+)",
                        (TOP / "common/redis.c").read_text())[1]) / 1000


def expect_away(server):
    """The guestbook answers 503, soon, and everything else is there."""
    def ask():
        response = server.request("/guestbook")
        assert response.status == 503
        assert 0 < int(response.get("Retry-After")) <= 60
        assert "Redis" in response.text

    expect_below(PROMISE, lambda: seconds_of(ask))
    with server.connect() as connection:
        for path in ["/", "/style.css", "/answer", "/hello",
                     "/echo?value=x"]:
            assert connection.request(path).status == 200


def expect_back(server, site):
    """The guestbook works again without a restart. Returns its guest.

    Each worker of a pool finds out on its own, and after a failure waits up to
    half a second (BACKOFF_MAX_MS). So it is back when 20 clients in a row, over
    a longer time, were not turned away.
    """
    guest = Guest(server, site.template)
    answers = []                    # times of the answers since the last 503

    def is_back():
        if server.request("/guestbook").status == 200:
            answers.append(time.monotonic())
        else:
            answers.clear()
        return len(answers) >= 20 and answers[-1] - answers[0] > BACKOFF

    wait_for(is_back, "the guestbook to be back")
    for i in range(10):
        assert guest.sign("Ada", f"remark {i}").status == 303
        assert guest.read().remarks[0] == f"remark {i} - Ada"
    return guest


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--pipeline"]],
                         ids=["one by one", "pipeline"])
def test_redis_stops_and_comes_back(launch, own_redis, site, options):
    server = launch(*options, redis=own_redis.address)
    for _ in range(2):
        expect_back(server, site)
        own_redis.stop()
        expect_away(server)
        own_redis.start()
    expect_back(server, site)


@pytest.mark.slow
def test_redis_ends_an_idle_connection(launch, own_redis):
    """As it does by its `timeout`. The next page opens a new connection."""
    server = launch(redis=own_redis.address)
    for _ in range(5):
        assert server.request("/guestbook").status == 200
        time.sleep(0.1)  # one that was used just now is not looked at again
        own_redis("CLIENT", "KILL", "TYPE", "normal")
        assert server.request("/guestbook").status == 200


def test_a_remark_is_not_thanked_for_without_redis(launch, own_redis, site):
    server = launch(redis=own_redis.address)
    guest = expect_back(server, site)
    own_redis.stop()
    for _ in range(3):
        response = guest.sign("Ada", "is this lost?")
        assert response.status == 503
        assert response.get("Location") is None
    own_redis.start()
    assert expect_back(server, site).read().remarks == \
        [f"remark {i} - Ada" for i in reversed(range(10))]


def test_a_remark_that_is_refused_without_redis(launch, own_redis, site):
    """Whether 400 or 503 comes first is all the same, so it comes at all."""
    server = launch(redis=own_redis.address)
    own_redis.stop()
    assert Guest(server, site.template).sign("", "x").status in (400, 503)


def test_redis_absent_at_the_start(launch, own_redis, site):
    own_redis.stop()
    server = launch(redis=own_redis.address)
    expect_away(server)
    own_redis.start()
    expect_back(server, site)


def test_no_redis_at_all(launch):
    expect_away(launch(redis="none"))


def test_unix_socket(launch, own_redis, site):
    server = launch(redis=own_redis.unix)
    expect_back(server, site)
    own_redis.stop()
    expect_away(server)
    own_redis.start()
    expect_back(server, site)


@pytest.mark.slow
def test_a_frozen_redis(launch, own_redis, site):
    """Connected, but no reply comes."""
    server = launch(redis=own_redis.address)
    expect_back(server, site)
    own_redis.freeze()
    expect_away(server)
    own_redis.thaw()
    expect_back(server, site)


@pytest.mark.slow
def test_a_client_that_goes_while_its_page_waits_for_redis(
        launch, own_redis, site):
    """No client gets the reply that comes later, least of all the next one."""
    server = launch(redis=own_redis.address)
    expect_back(server, site)
    own_redis.freeze()
    for _ in range(5):
        connection = server.connect()
        connection.send(b"GET /guestbook HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait_until_read(connection)
        connection.reset()
    own_redis.thaw()
    expect_back(server, site)


@pytest.mark.only("poll", "epoll")
def test_a_kept_client_that_goes_while_its_page_waits_for_redis(
        launch, own_redis, site):
    """A client that waits for Redis leaves. The loop learns that the client is
    gone before it gets the reply that was meant for this client."""
    server = launch(redis=own_redis.address)
    expect_back(server, site)
    kept = [server.connect() for _ in range(5)]
    for connection in kept:
        connection.send(b"GET /answer HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.read_response().body == b"42"
    own_redis.freeze()
    for connection in kept:
        connection.send(b"GET /guestbook HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait_until_read(connection)
        connection.reset()
    assert server.request("/answer").body == b"42"
    own_redis.thaw()
    expect_back(server, site)


class Impostor:
    """Listens as Redis would, and answers each connection with `answer`
    (bytes, or None to close without one), whatever is asked."""

    def __init__(self, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer_one, args=(peer,),
                             daemon=True).start()

    def _answer_one(self, peer):
        with peer:
            try:
                while self._answer and peer.recv(4096):
                    peer.sendall(self._answer)
            except OSError:
                pass

    def close(self):
        """Listen no more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.slow
@pytest.mark.parametrize("answer", [
    None, b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\xff\x00\xff", b"$-1\r\n",
    b"*-1\r\n", b"-ERR no\r\n", b"-LOADING wait\r\n", b"-NOAUTH who?\r\n",
    b"$5\r\nhel", b"*1\r\n*1\r\n*1\r\n:1\r\n", b":1\r\n:2\r\n:3\r\n:4\r\n",
    b"$99999999999\r\n", b"*1000000\r\n"],
    ids=lambda b: "closes" if b is None else repr(b)[2:-1])
def test_something_that_is_not_our_redis(launch, answer):
    impostor = Impostor(answer)
    try:
        server = launch(redis=impostor.address)
        for _ in range(2):
            assert server.request("/guestbook").status == 503
            assert server.request("/answer").body == b"42"
            assert server.request(
                "/guestbook", "POST",
                [("Content-Type", "application/x-www-form-urlencoded")],
                b"guest-name=a&guest-remarks=b").status in (303, 503)
    finally:
        impostor.close()
