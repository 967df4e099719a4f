"""An answer that the server has begun arrives whole (RFC 9112, 9.6).

After a server has decided to close, further requests of the client may still arrive.
If the server closes its socket while such a request is unread, or before it arrives,
the kernel sends a RST and drops the send buffer, although the log calls the answer
complete. So every logged answer must arrive whole. These clients have a small receive
buffer, so that most of an answer waits in the server's send buffer.
"""

import itertools
import os
import signal
import time

import pytest

from tests.support.access_log import fields
from tests.support.client import Reset, build
from tests.support.private_redis import PrivateRedis
from tests.support.processes import DEADLINE, wait_for
from tests.support.servers import ONE_CLIENT, ONE_PLACE, is_refused
from tests.support.procfs import unread

pytestmark = pytest.mark.shared

FURTHER = build("/hello")
HURRY = 0.5     # seconds: half of LINGER_MS, for which a server reads on after its FIN
LATE = 0.2      # seconds after the FIN: four times RECV_TIMEOUT_MS of a blocking server
LARGE = "/large.bin"

# Why a server closes after an answer although its client wants to go on. The last two
# come after it has kept the connection, so its answer does not announce them.
OPTIONS = {"no keep-alive": ("--keep-alive", "0"), "others wait": (),
           "idle": ("--keep-alive", "0.2"), "room": (),
           "drain": ("--drain-timeout", "3600", "--request-timeout", "3600"), "nothing": ()}


@pytest.fixture(scope="module")
def content():
    """Three million random bytes."""
    return os.urandom(3_000_000)


@pytest.fixture(scope="module")
def long_remarks():
    """A Redis whose guestbook has a page of 600 KB."""
    redis = PrivateRedis()
    redis("RPUSH", "guestbook_remarks", *[f"{i:03}" + 6000 * "x"
                                          for i in range(100)])
    yield redis
    redis.close()


class Play:
    """A server that has a reason to close, and its clients."""

    def __init__(self, server, why, log):
        self.server = server
        self.why = why
        self.log = log
        self.logged_before = 0
        self.other = None

    def ask(self, data, receive_buffer=8192):
        """Connect, send a request and perhaps more; return the connection. The server
        has the reason to close before it has the whole request."""
        self.leave()
        self.logged_before = len(self.requests())
        client = self.server.connect(receive_buffer=receive_buffer)
        if self.why == "others wait":
            assert client.request("/answer").body == b"42"
            self.other = self.server.connect()
        elif self.why == "drain":
            client.send(data[:9])
            self.server.wait_until_read(client)
            self.server.send_signal(signal.SIGTERM)
            wait_for(lambda: is_refused(self.server), "the drain to begin")
            data = data[9:]
        client.send(data)
        if self.why == "room":
            assert client.receive(1000)
            self.other = self.server.connect()
        return client

    def leave(self):
        """End the other client."""
        if self.other:
            self.other.close()
        self.other = None

    def requests(self):
        """Return the requests of the log."""
        if not self.log.exists():
            return []
        return [fields(line)[0] for line in self.log.read_text().splitlines()]

    def targets(self):
        """Return the targets of the requests that the log has since `ask`, without
        the first one of a client that others wait for."""
        targets = [request.split()[1]
                   for request in self.requests()[self.logged_before:]]
        return targets[1:] if self.why == "others wait" else targets

    def has_ended(self, client):
        """Whether the server has closed its side of this connection."""
        return unread(self.server.address, client.socket.getsockname()) is None

    def read_until_ended(self, client):
        """Read no more than necessary until the server has closed its side; return
        a time before that."""
        while True:
            before = time.monotonic()
            if self.has_ended(client):
                return before
            if client.arrived(0.005):
                client.receive(4096)


@pytest.fixture
def play(launch, server_name, long_remarks, own_site, content, tmp_path):
    """play(why) starts a server that closes after an answer, for this reason."""
    own_site.write("large.bin", content)
    log = tmp_path / "access.log"
    plays = []

    def start(why):
        places = ONE_CLIENT if why == "room" else ONE_PLACE
        server = launch(*OPTIONS[why], *places.get(server_name, ()),
                        "--access-log", log, root=own_site.root,
                        redis=long_remarks.address)
        wait_for(lambda: server.request("/guestbook").status == 200, "Redis")
        plays.append(Play(server, why, log))
        return plays[-1]

    yield start
    for one in plays:
        one.leave()
        if one.why == "drain" and not one.server.ended:
            one.server.finish()


def in_time(play, why):
    """Return a function that calls act(Play) until it returns true. On a crowded machine, a client
    may come so late that the server has rightly stopped reading. There is one server, but each
    `drain` needs a new one, so five tries are all there."""
    plays = []

    def call(act):
        end, tries = time.monotonic() + DEADLINE, 0
        while tries < 5 or why != "drain" and time.monotonic() < end:
            tries += 1
            if not plays or why == "drain":
                plays.append(play(why))
            if act(plays[-1]):
                return
        pytest.fail("the machine was too slow each time")
    return call


def read_rest(client, began):
    """Return the responses up to the end; None after a reset HURRY seconds or more after `began`,
    which the server is free to send."""
    client.widen()
    try:
        return client.read_to_end()
    except Reset:
        if time.monotonic() - began < HURRY:
            raise
        return None


def check(target, responses, content):
    """Check that the answer to `target`, the first one, is what it should be."""
    assert responses[0].status == 200
    if target == LARGE:
        assert responses[0].body == content
    else:
        assert len(responses[0].body) > 600_000
        assert responses[0].body.endswith(b"</html>\n")


# A further request arrives before the server has decided, while it sends, soon after its FIN, or
# later. An idle client's connection has been kept, and is closed while most of the answer is
# still in the send buffer.
WHEN = {"no keep-alive": ("before", "during", "after", "late"),
        "others wait": ("before", "during", "after", "late"),
        "drain": ("before", "during", "after", "late"),
        "idle": ("after", "late"), "room": ("after", "late")}


def send_further_requests(play, content, why):
    """Send them behind each kind of answer: from a file, and from memory."""
    call = in_time(play, why)
    for when, target in itertools.product(WHEN[why], (LARGE, "/guestbook")):
        call(lambda one, w=when, t=target: send_a_further_request(one, content, w, t))


def send_a_further_request(one, content, when, target):
    """Send it, and check that every logged answer has arrived. Return False if the client came
    so late that the server had rightly stopped reading."""
    more = FURTHER if when == "before" else b""
    with one.ask(build(target) + more) as client:
        if when == "during":
            assert client.receive(1000)
            client.send(FURTHER)
        began = time.monotonic()
        if when in ("after", "late"):
            began = one.read_until_ended(client)
            time.sleep(LATE if when == "late" else 0)
            client.send(FURTHER)
        responses = read_rest(client, began)
    if responses is None:
        return False
    check(target, responses, content)
    assert [target, "/hello"][:len(responses)] == one.targets()
    assert responses[-1].closes or one.why in ("idle", "room")
    return True


def padded(number):
    """Return a request of 512 bytes, whose answer is about as long."""
    request = build(f"/echo?value={number:03}" + 240 * "x", fields=[("X", "y")])
    return request.replace(b"X: y", b"X: " + (513 - len(request)) * b"y")


def send_a_pipeline(one):
    """Send three reads full of requests; check that every logged answer arrives. Return False if
    the client came too late."""
    assert len(padded(1)) == 512
    with one.ask(b"".join(map(padded, range(96))), 2048) as client:
        began = time.monotonic()
        wait_for(lambda: not unread(one.server.address, client.socket.getsockname()),
                 "the server to read all, or to close")
        client.finish_sending()     # the server may have kept the connection
        responses = read_rest(client, began)
    if responses is None:
        return False
    answered = [response.text.removeprefix("<http_test><value>")[:3]
                for response in responses]
    assert answered == [f"{i:03}" for i in range(len(responses))]
    assert len(responses) == len(one.targets())
    return True


def read_slowly(play, content, why, target):
    """Send nothing more, and stop the server before reading most of the answer."""
    one = play(why)
    with one.ask(build(target)) as client:
        one.read_until_ended(client)
        if why != "drain":
            one.server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(one.server), "the drain to begin")
        client.widen()
        responses = client.read_to_end()
    check(target, responses, content)
    assert len(responses) == 1 and one.targets() == [target]
    one.server.finish()


@pytest.mark.parametrize("why", ["no keep-alive", "drain", "idle", "room"])
def test_a_further_request_cuts_no_answer(play, content, why):
    send_further_requests(play, content, why)


@pytest.mark.parametrize("why", ["no keep-alive", "drain"])
def test_a_read_that_ends_with_a_request_is_no_end_of_the_pipeline(play, why):
    """One read takes 16,384 bytes: 32 requests. More of them wait in the socket."""
    in_time(play, why)(send_a_pipeline)


@pytest.mark.parametrize("why, target", [("no keep-alive", LARGE), ("drain", "/guestbook")])
def test_a_slow_reader_gets_the_rest_after_the_server_s_end(play, content, why, target):
    """Also if the server is stopped while its send buffer holds that rest."""
    read_slowly(play, content, why, target)


@pytest.mark.only(*ONE_PLACE)       # an event loop has a place for each client
def test_nothing_is_cut_while_others_wait(play, content):
    send_further_requests(play, content, "others wait")
    in_time(play, "others wait")(send_a_pipeline)
    read_slowly(play, content, "others wait", LARGE)


# A client that has announced its last request.

def test_a_client_that_sends_more_than_it_said(play, content):
    """RFC 9112, 9.6 forbids it. The server discards what it reads together with the
    last request. What arrives later may cost the client the rest of its answer. Neither
    is ever answered or logged."""
    one = play("nothing")
    old = build(LARGE, version="HTTP/1.0")
    last = build(LARGE, fields=[("Connection", "close")])
    for when, request in ("before", last), ("during", last), ("after", last), ("during", old):
        with one.ask(request + (FURTHER if when == "before" else b"")) as client:
            if when == "during":
                assert client.receive(1000)
                client.send(FURTHER)
            if when == "after":
                one.read_until_ended(client)
                client.send(FURTHER)
            client.widen()
            try:
                [response] = client.read_to_end()
                assert response.body == content
            except Reset as fault:
                assert when != "before" and fault.begun
                assert content.startswith(fault.unread.partition(b"\r\n\r\n")[2])
        wait_for(one.targets, "the line of the log")
        assert one.targets() == [LARGE]
    assert one.server.request("/answer").body == b"42"
