"""Builds and starts each peer and checks what it answers.

    python3 -m bench peers [NAME...]

Nothing is measured here. What a peer answers is compared with what the
collection's own servers answer, so that a figure measured later is a figure
for the same work. Only the standard library is used.

Exit status: 0 if no peer failed, 1 if one failed or one named on the command
line is not installed, 2 for wrong usage.
"""

import argparse
import http.client
import os
import re
import signal
import socket
import sys
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
from bench import peers
from bench.meter import procfs
from bench.run import servers
from bench.run.redis import RedisServer

PUBLIC = HERE.parent.parent / "public"
ANSWER_SECONDS = 5
STOP_SECONDS = 5
MANY_REQUESTS = 1100
SLOW_SECONDS = 0.020  # half of what Nagle and a delayed ACK add to an answer

CONSTANT = {"/answer": b"42", "/hello": b"Hello, World!"}
ECHO_VALUES = ["x", "two words", "a<b>&\"c'", "caf\u00e9", "1+1=2", "100%"]


class Wrong(Exception):
    """What a peer did that it should not; its text is for the table."""


class Client:
    """Asks one peer, over one connection as long as the peer keeps it."""

    def __init__(self, port, keep_alive):
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=ANSWER_SECONDS)
        self.keep_alive = keep_alive

    def get(self, target, status):
        """Return (response, body) of a GET; raise Wrong if the status or
        what becomes of the connection is not as it should be."""
        self.connection.request("GET", target)
        response = self.connection.getresponse()
        body = response.read()
        if response.status != status:
            raise Wrong(f"{target}: status {response.status}, not {status}")
        if response.will_close == self.keep_alive and status < 400:
            kept = "closed" if response.will_close else "kept"
            raise Wrong(f"{target}: the connection is {kept}")
        return response, body


def check_constant(client, target):
    """Check /answer or /hello, twice: type, length and body."""
    expected = CONSTANT[target]
    for _ in range(2):
        response, body = client.get(target, 200)
        content_type = response.getheader("Content-Type", "")
        if content_type.partition(";")[0] != "text/plain":
            raise Wrong(f"{target}: Content-Type {content_type!r}")
        if response.getheader("Content-Length") != str(len(expected)):
            raise Wrong(f"{target}: Content-Length "
                        f"{response.getheader('Content-Length')}")
        if body != expected:
            raise Wrong(f"{target}: body {body[:40]!r}")


def check_kept(client):
    """Check that a connection stays for more requests than servers with a
    limit allow by default (nginx and lighttpd would close it at 1,000), and
    that no answer waits for a delayed ACK, which begins after some requests.
    """
    fastest = ANSWER_SECONDS
    for number in range(MANY_REQUESTS):
        begin = time.monotonic()
        client.get("/answer", 200)
        if number >= MANY_REQUESTS - 20:
            fastest = min(fastest, time.monotonic() - begin)
    if fastest > SLOW_SECONDS:
        raise Wrong(f"/answer: takes {fastest:.3f} s or longer")


def check_redirect(client):
    """Check /redirect: each Location is a picture there is, and they vary."""
    seen = set()
    for _ in range(40):
        response, _ = client.get("/redirect", 302)
        location = response.getheader("Location", "")
        if not re.fullmatch(r"/pictures/[\w.-]+", location):
            raise Wrong(f"/redirect: Location {location!r}")
        if not (PUBLIC / location.lstrip("/")).is_file():
            raise Wrong(f"/redirect: there is no public{location}")
        seen.add(location)
    if len(seen) < 2:
        raise Wrong(f"/redirect: always {seen.pop()}")


def echoed(client, query):
    """Return (tag, text) of the one element that /echo wraps in http_test."""
    response, body = client.get("/echo" + query, 200)
    content_type = response.getheader("Content-Type", "")
    if content_type.partition(";")[0] != "text/xml":
        raise Wrong(f"/echo: Content-Type {content_type!r}")
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise Wrong(f"/echo{query}: no XML ({error}): {body[:60]!r}") from None
    if root.tag != "http_test" or len(root) != 1:
        raise Wrong(f"/echo{query}: {body[:60]!r}")
    return root[0].tag, root[0].text


def check_echo(client):
    """Check /echo: plain, quoted and missing values."""
    for value in ECHO_VALUES:
        for query in (urllib.parse.quote(value), urllib.parse.quote_plus(value)):
            if echoed(client, "?value=" + query) != ("value", value):
                raise Wrong(f"/echo: {value!r} sent as {query} comes back as "
                            f"{echoed(client, '?value=' + query)}")
    if echoed(client, "") != ("error", "no value specified"):
        raise Wrong(f"/echo without a value: {echoed(client, '')}")


def check_static(client):
    """Check that every file below public/ comes back as it is."""
    for path in sorted(PUBLIC.rglob("*")):
        if path.is_file():
            target = "/" + path.relative_to(PUBLIC).as_posix()
            if client.get(target, 200)[1] != path.read_bytes():
                raise Wrong(f"{target}: not what is in the file")


def check_close(port):
    """Check that a client that wants no keep-alive is answered and left:
    one that says so, as wrk does when told to, and HTTP/1.0, as ab is."""
    connection = http.client.HTTPConnection("127.0.0.1", port,
                                            timeout=ANSWER_SECONDS)
    connection.request("GET", "/answer", headers={"Connection": "close"})
    response = connection.getresponse()
    if response.read() != b"42" or not response.will_close:
        raise Wrong("Connection: close is not heeded")
    with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as sock:
        sock.sendall(b"GET /answer HTTP/1.0\r\nHost: localhost\r\n\r\n")
        with sock.makefile("rb") as stream:
            answer = stream.read()
    if not answer.endswith(b"\r\n\r\n42"):
        raise Wrong(f"HTTP/1.0: {answer[-20:]!r}")


def check_endpoints(peer, port):
    """Check everything one running peer promises; raise Wrong if it errs."""
    client = Client(port, peer.keep_alive is not False)
    for target in peer.endpoints:
        if target in CONSTANT:
            check_constant(client, target)
        elif target == "/redirect":
            check_redirect(client)
        elif target == "/echo":
            check_echo(client)
        else:
            raise Wrong(f"no check for the endpoint {target}")
    if peer.told.get("static"):
        check_static(client)
    if client.keep_alive:
        check_kept(client)
    if peer.kind != "floor":
        client.get("/no-such-page", 404)
        check_close(port)
    client.connection.close()


def check_end(pid):
    """Check that SIGTERM to a peer ends it and all of its processes."""
    family = procfs.tree(pid)
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while True:
        now = [procfs.process(one.pid) for one in family]
        alive = [one.pid for one in now if one and one.state != "Z"]
        if not alive:
            return
        if time.monotonic() > until:
            raise Wrong(f"{len(alive)} of {len(family)} processes still there "
                        f"{STOP_SECONDS} s after SIGTERM")
        time.sleep(0.02)


def check(peer):
    """Build, start, ask and end one peer, with one worker and with two.

    Raises Wrong, PeerError, ServerError, OSError or HTTPException, each with
    a text that says what is wrong.
    """
    peer.build()
    log = os.path.join(peer.build_folder, "check.log")
    cores = frozenset(os.sched_getaffinity(0))
    for workers in (1, 2) if peer.has_workers else (1,):
        with RedisServer(cores) as redis:
            start = servers.Start(cores=cores, workers=workers,
                                  redis=redis.address)
            with servers.running(peer, start, log) as live:
                check_endpoints(peer, live.port)
                check_end(live.pid)


def main():
    """Check the peers named on the command line, or all, and print a table."""
    parser = argparse.ArgumentParser(
        description="Builds and starts each peer and checks its answers.")
    parser.add_argument("names", metavar="NAME", nargs="*",
                        help="a folder beside this file (default: all)")
    asked = parser.parse_args().names
    try:
        wanted = peers.chosen(" ".join(asked) or "all")
    except peers.PeerError as error:
        parser.error(str(error))

    failed = False
    width = max(len(peer.name) for peer in wanted)
    for peer in wanted:
        offer = " ".join(peer.endpoints)
        if peer.told.get("static"):
            offer += " files"
        verdict = peer.problem()
        if verdict:
            failed = failed or bool(asked)
        else:
            try:
                check(peer)
                verdict = "ok"
            except (Wrong, peers.PeerError, servers.ServerError, OSError,
                    http.client.HTTPException) as error:
                verdict = f"FAILED  {error}"
                failed = True
        print(f"{peer.name:{width}}  {offer:37}  {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
