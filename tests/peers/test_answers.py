"""Each peer answers what the collection's own servers answer, so that a figure measured later
is a figure for the same work.

    make check-peers ARGS='-k nginx'

Those are asked that `make peers-deps` has built, and the floors.
"""

import http.client
import os
import re
import signal
import socket
import time
import urllib.parse
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.bench import peers
from tools.bench.experiments import all_experiments, client, expect
from tools.kit import TOP, procfs, servers

PEERS = peers.chosen("all")
PUBLIC = Path(TOP, "public")
SECONDS = 60            # for an answer, and for the end: far less on a quiet machine
MANY_REQUESTS = 1100    # nginx and lighttpd would close after 1,000
SLOW_SECONDS = 0.020    # half of what Nagle and a delayed ACK add to an answer
ECHO_VALUES = ["x", "two words", "a<b>&\"c'", "caf\u00e9", "1+1=2", "100%"]


def check_connection(port, kept):
    """Check that a connection is `kept` for many requests, or is not kept, and that no answer
    waits for a delayed ACK, which begins after some of them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    times = []
    for number in range(MANY_REQUESTS if kept else 1):
        begin = time.monotonic()
        connection.request("GET", "/answer")
        response = connection.getresponse()
        assert response.getheader("Content-Length") == "2" and response.read() == b"42"
        assert response.will_close != kept, f"after {number + 1} requests"
        times.append(time.monotonic() - begin)
    connection.close()
    assert not kept or min(times[-20:]) < SLOW_SECONDS


def check_old_client(port):
    """Check that a client of HTTP/1.0, such as ab, gets an answer and its connection closed."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as sock, \
            sock.makefile("rb") as stream:
        sock.sendall(b"GET /answer HTTP/1.0\r\nHost: localhost\r\n\r\n")
        answer = stream.read()
    assert answer.endswith(b"\r\n\r\n42")


def check_answers(peer, port):
    """Check everything that one running peer promises: that it decodes and
    escapes what it echoes, and has every file below public/, for example."""
    get = client(port)      # asks for "Connection: close"
    for one in all_experiments():
        # Without Redis, there is no guestbook; a measurement asks for that itself.
        if one.path.partition("?")[0] in peer.endpoints and not one.needs_redis:
            one.check(get)
    for value in ECHO_VALUES if "/echo" in peer.endpoints else ():
        for quote in (urllib.parse.quote, urllib.parse.quote_plus):
            path = "/echo?value=" + quote(value)
            assert ElementTree.fromstring(get(path)[2]).findtext("value") == value
    files = PUBLIC.rglob("*") if peer.told.get("static") else ()
    for path in filter(Path.is_file, files):
        target = "/" + path.relative_to(PUBLIC).as_posix()
        expect(get(target), target, 200, "", path.read_bytes())
    # A variant of ours keeps connections; it is only measured where there are new ones.
    check_connection(port, peer.keep_alive is not False or peer.told["kind"] == "variant")
    if peer.kind != "floor":
        check_old_client(port)
        expect(get("/no-such-page"), "/no-such-page", 404, "", re.compile(b""))


def check_end(pid):
    """Check that SIGTERM to a peer ends it and all of its processes."""
    family = [one.pid for one in procfs.tree(pid)]
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + SECONDS
    while alive := [one for one in map(procfs.process, family) if one and one.state != "Z"]:
        assert time.monotonic() < until, f"{len(alive)} of {len(family)} processes still run"
        time.sleep(0.02)


@pytest.mark.parametrize("peer, workers", [
    pytest.param(peer, workers, id=f"{peer.name}-{workers}")
    for peer in PEERS for workers in ((1, 2) if peer.has_loops else (1,))])
def test_a_peer_does_the_same_work(peer, workers):
    if peer.kind == "floor":
        peer.build()
    elif not peer.build_folder.is_dir() or peer.problem():
        pytest.skip(f"it is not built: make peers-deps PEERS={peer.name}")
    start = servers.Start(frozenset(os.sched_getaffinity(0)), workers=workers)
    with servers.running(peer, start, peer.build_folder / "check.log") as live:
        check_answers(peer, live.port)
        check_end(live.pid)
