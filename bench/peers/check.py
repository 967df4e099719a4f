"""Builds and starts each peer and checks what it answers.

    python3 -m bench check-peers [NAME...]

It must answer what the collection's own servers answer, so that a figure measured later is a
figure for the same work. Exit status: 0 if no peer failed, 1 if one failed or one named on the
command line is not installed, 2 for wrong usage.
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

from bench import peers
from bench.experiments import WrongAnswer, all_experiments, client, expect
from bench.meter import procfs
from bench.run import servers

PUBLIC = Path(servers.TOP, "public")
SECONDS = 5             # for an answer, and for the end
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
        if response.getheader("Content-Length") != "2" or response.read() != b"42":
            raise WrongAnswer("/answer: not 42, or no Content-Length of 2")
        if response.will_close == kept:
            raise WrongAnswer(f"/answer: closes={response.will_close} after {number + 1} requests")
        times.append(time.monotonic() - begin)
    connection.close()
    fastest = min(times[-20:])
    if kept and fastest > SLOW_SECONDS:
        raise WrongAnswer(f"/answer takes {fastest:.3f} s or longer")


def check_old_client(port):
    """Check that a client of HTTP/1.0, such as ab, gets an answer and its connection closed."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as sock, \
            sock.makefile("rb") as stream:
        sock.sendall(b"GET /answer HTTP/1.0\r\nHost: localhost\r\n\r\n")
        answer = stream.read()
    if not answer.endswith(b"\r\n\r\n42"):
        raise WrongAnswer(f"HTTP/1.0: {answer[-20:]!r}")


def check_answers(peer, port):
    """Check everything that one running peer promises: that it decodes and
    escapes what it echoes, and has every file below public/, for example."""
    get = client(port)      # asks for "Connection: close"
    for one in all_experiments():
        if one.path.partition("?")[0] in peer.endpoints:
            one.check(get)
    for value in ECHO_VALUES if "/echo" in peer.endpoints else ():
        for quote in (urllib.parse.quote, urllib.parse.quote_plus):
            path = "/echo?value=" + quote(value)
            answer = ElementTree.fromstring(get(path)[2]).findtext("value")
            if answer != value:
                raise WrongAnswer(f"GET {path}: {answer!r}")
    files = PUBLIC.rglob("*") if peer.told.get("static") else ()
    for path in filter(Path.is_file, files):
        target = "/" + path.relative_to(PUBLIC).as_posix()
        expect(get(target), target, 200, "", path.read_bytes())
    check_connection(port, peer.keep_alive is not False)
    if peer.kind != "floor":
        check_old_client(port)
        expect(get("/no-such-page"), "/no-such-page", 404, "", re.compile(b""))


def check_end(pid):
    """Check that SIGTERM to a peer ends it and all of its processes."""
    family = [one.pid for one in procfs.tree(pid)]
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + SECONDS
    while alive := [one for one in map(procfs.process, family) if one and one.state != "Z"]:
        if time.monotonic() > until:
            raise WrongAnswer(f"{len(alive)} of {len(family)} processes still run {SECONDS} s "
                              "after SIGTERM")
        time.sleep(0.02)


def check(peer):
    """Build, start, ask and end one peer, with one worker and with two; return "ok" or what is
    wrong."""
    try:
        peer.build()
        for workers in (1, 2) if peer.has_workers else (1,):
            start = servers.Start(frozenset(os.sched_getaffinity(0)), workers=workers)
            with servers.running(peer, start, peer.build_folder / "check.log") as live:
                check_answers(peer, live.port)
                check_end(live.pid)
        return "ok"
    except (WrongAnswer, peers.PeerError, servers.ServerError, OSError,
            http.client.HTTPException, ElementTree.ParseError) as error:
        return f"FAILED  {error}"


def main(words):
    """Check the peers that `words` names, or all; return the exit status. Raises PeerError."""
    failed = False
    for peer in peers.chosen(" ".join(words) or "all"):
        problem = peer.problem()
        verdict = problem or check(peer)
        failed = failed or verdict != "ok" and bool(words or not problem)
        print(f"{peer.name:22} {verdict}", flush=True)
    return int(failed)
