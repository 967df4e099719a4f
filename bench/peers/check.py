#!/usr/bin/env python3
"""Builds and starts each peer and checks what it answers.

    bench/peers/check.py [NAME...]

Nothing is measured here. What a peer answers is compared with what the
collection's own servers answer, so that a figure measured later is a figure
for the same work. Only the standard library is used.

Exit status: 0 if no peer failed, 1 if one failed or one named on the command
line is not installed, 2 for wrong usage.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PEERS = Path(__file__).resolve().parent
REPOSITORY = PEERS.parent.parent
BUILD = REPOSITORY / "build" / "peers"

START_SECONDS = 30
STOP_SECONDS = 10
ANSWER_SECONDS = 5
SLOW_SECONDS = 0.020  # half of what Nagle and a delayed ACK add to an answer

CONSTANT = {"/answer": b"42", "/hello": b"Hello, World!"}
ECHO_VALUES = ["x", "two words", "a<b>&\"c'", "caf\u00e9", "1+1=2", "100%"]


class Wrong(Exception):
    """What a peer did that it should not; its text is for the table."""


def load(names):
    """Return the peers called names, or all, as a list of dicts.

    Raises FileNotFoundError where a name has no folder with a peer.json.
    """
    if not names:
        names = sorted(path.parent.name for path in PEERS.glob("*/peer.json"))
    return [json.loads((PEERS / name / "peer.json").read_text())
            for name in names]


def render(text, values):
    """Return text with each {placeholder} that values knows replaced.

    Other braces stay as they are: configuration files are full of them.
    """
    return re.sub(r"\{(\w+)\}",
                  lambda found: str(values.get(found[1], found[0])), text)


def free_port():
    """Return a TCP port of 127.0.0.1 that nobody uses at this moment.

    It lies below those that the kernel gives to clients, one of which could
    otherwise have it by the time that the peer asks for it.
    """
    while True:
        port = random.randrange(20000, 30000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue


def build(peer, values):
    """Run the build commands of a peer.

    Raises Wrong with the last line of what a failing command said.
    """
    values["build"].mkdir(parents=True, exist_ok=True)
    for command in peer.get("build", []):
        argv = [render(word, values) for word in command]
        done = subprocess.run(argv, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            said = done.stdout.strip().splitlines() or ["(nothing)"]
            raise Wrong(f"build: {argv[0]} failed: {said[-1]}")


def start(peer, values):
    """Start a peer in the foreground and return its Popen once it accepts.

    What it prints goes to the file `output` of its build folder. Raises Wrong
    if it ends, or accepts no connection within START_SECONDS.
    """
    if "config_template" in peer:
        template = values["dir"] / peer["config_template"]
        values["conf"].write_text(render(template.read_text(), values))
    with open(values["build"] / "output", "w") as output:
        process = subprocess.Popen(
            [render(word, values) for word in peer["start"]],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Wrong(f"ended at start with status {process.returncode}, "
                        f"see {values['build'].relative_to(REPOSITORY)}/output")
        if accepts(values["port"]):
            return process
        time.sleep(0.05)
    stop(process)
    raise Wrong(f"accepts no connection after {START_SECONDS} s")


def accepts(port):
    """Return whether something listens on that port of 127.0.0.1."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def stop(process):
    """End a peer by SIGTERM, and return whether that was enough."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
        return True
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def stop_and_check(process, port):
    """End a peer; raise Wrong unless SIGTERM ends all of its processes."""
    if not stop(process):
        raise Wrong(f"still there {STOP_SECONDS} s after SIGTERM")
    deadline = time.monotonic() + STOP_SECONDS
    while accepts(port):
        if time.monotonic() > deadline:
            raise Wrong("a child still listens after SIGTERM")
        time.sleep(0.05)


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
    """Check /answer or /hello: type, length, body, and no delay."""
    expected = CONSTANT[target]
    seconds = []
    for _ in range(10):
        begin = time.monotonic()
        response, body = client.get(target, 200)
        seconds.append(time.monotonic() - begin)
        content_type = response.getheader("Content-Type", "")
        if content_type.partition(";")[0] != "text/plain":
            raise Wrong(f"{target}: Content-Type {content_type!r}")
        if response.getheader("Content-Length") != str(len(expected)):
            raise Wrong(f"{target}: Content-Length "
                        f"{response.getheader('Content-Length')}")
        if body != expected:
            raise Wrong(f"{target}: body {body[:40]!r}")
    if statistics.median(seconds) > SLOW_SECONDS:
        raise Wrong(f"{target}: {statistics.median(seconds):.3f} s an answer")


def check_redirect(client):
    """Check /redirect: each Location is a picture there is, and they vary."""
    seen = set()
    for _ in range(40):
        response, _ = client.get("/redirect", 302)
        location = response.getheader("Location", "")
        if not re.fullmatch(r"/pictures/[\w.-]+", location):
            raise Wrong(f"/redirect: Location {location!r}")
        if not (REPOSITORY / "public" / location.lstrip("/")).is_file():
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


def check_static(client, public):
    """Check that every file below public comes back as it is."""
    for path in sorted(public.rglob("*")):
        if path.is_file():
            target = "/" + path.relative_to(public).as_posix()
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


def check_endpoints(peer, values):
    """Check everything one running peer promises; raise Wrong if it errs."""
    client = Client(values["port"], peer.get("keep_alive", True))
    for target in peer["endpoints"]:
        if target in CONSTANT:
            check_constant(client, target)
        elif target == "/redirect":
            check_redirect(client)
        elif target == "/echo":
            check_echo(client)
        else:
            raise Wrong(f"no check for the endpoint {target}")
    if peer.get("static"):
        check_static(client, values["public"])
    if peer["kind"] != "floor":
        client.get("/no-such-page", 404)
        check_close(values["port"])
    client.connection.close()


def check(peer, public):
    """Build, start, ask and end one peer, with one worker and with two.

    Raises Wrong with what is wrong, or OSError where it cannot be talked to.
    """
    name = peer["name"]
    values = {"dir": PEERS / name, "build": BUILD / name, "public": public}
    build(peer, values)
    for workers in (1, 2) if peer["options"]["workers"] else (1,):
        values.update(port=free_port(), workers=workers,
                      conf=values["build"] / peer.get("config_template", "conf"))
        process = start(peer, values)
        try:
            check_endpoints(peer, values)
        except BaseException:
            stop(process)
            raise
        stop_and_check(process, values["port"])


def make_public(folder):
    """Fill folder with the files that the static peers must serve."""
    for name, size in (("10k.bin", 10 << 10), ("1m.bin", 1 << 20)):
        (folder / name).write_bytes(os.urandom(size))
    (folder / "index.html").write_text("<!DOCTYPE html><title>check</title>\n")
    (folder / "pictures").mkdir()
    (folder / "pictures" / "dot.svg").write_text("<svg/>\n")


def main():
    """Check the peers named on the command line, or all, and print a table."""
    parser = argparse.ArgumentParser(
        description="Builds and starts each peer and checks its answers.")
    parser.add_argument("names", metavar="NAME", nargs="*",
                        help="a folder beside this file (default: all)")
    arguments = parser.parse_args()
    try:
        peers = load(arguments.names)
    except FileNotFoundError as error:
        parser.error(f"no such peer: {Path(error.filename).parent.name}")

    failed = False
    width = max(len(peer["name"]) for peer in peers)
    with tempfile.TemporaryDirectory() as folder:
        public = Path(folder)
        make_public(public)
        for peer in peers:
            asked = " ".join(peer["endpoints"])
            if peer.get("static"):
                asked += " files"
            if shutil.which(peer["check"]) is None:
                verdict = f"not installed: {' '.join(peer['packages'])}"
                failed = failed or bool(arguments.names)
            else:
                try:
                    check(peer, public)
                    verdict = "ok"
                except (Wrong, OSError, http.client.HTTPException) as error:
                    verdict = f"FAILED  {error}"
                    failed = True
            print(f"{peer['name']:{width}}  {asked:37}  {verdict}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
