"""The harness itself on test: it must notice what it is there to notice.

Nothing here needs one of the seven servers; small scripts play bad ones.
"""

import email.utils
import socket
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from tests.support.client import (CONTENT_SECURITY_POLICY, Connection, ProtocolError,
                                  Reset, build)
from tests.support.processes import session_members, wait_for
from tests.support.servers import TOP, Server, ServerFault


def response(*fields, line="HTTP/1.1 200 OK", body=b"", length=True,
             date="NOW"):
    """The bytes of an answer, a good one unless the arguments spoil it.

    The date NOW is filled in when it is sent.
    """
    lines = [line, "Server: zerohttpd/2.0 (epoll)"]
    if date:
        lines.append(f"Date: {date}")
    lines += fields
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture
def answer():
    """answer(bytes) is a Connection whose server sends these and closes; with
    `reset`, it closes with the client's request unread."""
    listener = socket.create_server(("127.0.0.1", 0))
    opened = []

    def serve(data, reset=False):
        now = email.utils.formatdate(usegmt=True).encode()

        def send():
            peer, _ = listener.accept()
            with peer:
                if reset:
                    peer.recv(1, socket.MSG_PEEK)
                peer.sendall(data.replace(b"NOW", now))

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        opened.append(Connection(listener.getsockname(), 10))
        if reset:
            opened[-1].send(build("/"))
            thread.join()
        return opened[-1]

    yield serve
    for connection in opened:
        connection.close()
    listener.close()


# The client

TEXT = "Content-Type: text/plain"
HTML = ("Content-Type: text/html; charset=utf-8",
        f"Content-Security-Policy: {CONTENT_SECURITY_POLICY}",
        "X-Content-Type-Options: nosniff")
BAD = {
    "version": response(TEXT, line="HTTP/1.0 200 OK"),
    "bare LF": response(TEXT).replace(b"\r\n", b"\n", 1),
    "bare CR": response(TEXT, "X: a\rb"),
    "space before the colon": response(TEXT, "X : y"),
    "folded line": response(TEXT, "X: y\r\n z"),
    "control byte": response(TEXT, "X: \x01"),
    "no length": response(TEXT, length=False),
    "two lengths": response(TEXT, "Content-Length: 0"),
    "length with 204": response(line="HTTP/1.1 204 No Content"),
    "chunked": response(TEXT, "Transfer-Encoding: chunked"),
    "cut short": response(TEXT, body=b"42")[:-1],
    "cut in the head": response(TEXT)[:-3],
    "nothing": b"",
    "no Date": response(TEXT, date=None),
    "old Date": response(TEXT, date="Sat, 01 Jan 2022 00:00:00 GMT"),
    "another Server": response(TEXT).replace(b"zerohttpd", b"apache"),
    "body without type": response(body=b"42"),
    "HTML without charset": response("Content-Type: text/html", *HTML[1:]),
    "HTML without nosniff": response(*HTML[:2]),
    "HTML with another policy": response(
        *[f.replace("'none'", "*") for f in HTML]),
    "405 without Allow": response(TEXT, line="HTTP/1.1 405 No"),
    "302 without Location": response(TEXT, line="HTTP/1.1 302 Found"),
    "503 without Retry-After": response(TEXT, line="HTTP/1.1 503 Later"),
}


@pytest.mark.parametrize("fault", BAD)
def test_the_client_refuses_bad_answers(answer, fault):
    with pytest.raises(ProtocolError):
        answer(BAD[fault]).read_response()


def test_the_client_sees_a_byte_after_the_last_answer(answer):
    connection = answer(response(*HTML, body=b"<p>") + b"x")
    assert connection.read_response().body == b"<p>"
    with pytest.raises(ProtocolError):
        connection.expect_closed()


def test_the_client_tells_a_reset_from_an_end(answer):
    """When a program closes a socket with unread input, the kernel resets the connection. The
    fault says how much had arrived."""
    data = response(TEXT, body=b"42", date=None)[:20]
    with pytest.raises(Reset, match="^reset after 20 bytes") as info:
        answer(data, reset=True).read_response()
    assert info.value.begun and data.endswith(info.value.unread)


def test_a_reset_that_sending_finds_is_not_forgotten(answer):
    """The kernel reports it only once, to the next call on the socket."""
    connection = answer(response(TEXT, body=b"42"), reset=True)
    assert not connection.send(build("/"))
    assert connection.read_response().body == b"42"
    with pytest.raises(Reset) as info:
        connection.expect_closed()
    assert not info.value.begun


# The server's end

@pytest.fixture
def script(tmp_path):
    """script(code) is a program that plays a server: it says that it is
    ready, runs `code`, and waits; `stop` is called by SIGTERM."""
    def write(code, stop):
        path = tmp_path / "epoll"
        path.write_text(textwrap.dedent(f"""\
            #!{sys.executable}
            import os, signal, subprocess, sys, time
            def exit(status): os._exit(status)
            def say(line): print(line, file=sys.stderr, flush=True)
            def report():
                print("served 3 requests on 2 connections\\n"
                      "CPU time of the server: 0.01 s user, 0.00 s system\\n"
                      "CPU time of its children that ended: 0.00 s user, "
                      "0.00 s system", flush=True)
            def stop(*_):
                {stop}
            signal.signal(signal.SIGTERM, stop)
            {code}
            print("listening on http://127.0.0.1:1/ (07_epoll, 1 worker, "
                  "backlog 9)", flush=True)
            while True:
                signal.pause()
            """))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path
    return write


WELL = "report(); exit(0)"


@pytest.mark.parametrize("code, stop", [
    ("pass", "report(); exit(1)"),
    ("pass", "os.kill(os.getpid(), signal.SIGSEGV)"),
    ("pass", "exit(0)"),
    ("pass", "print('served many requests', flush=True); exit(0)"),
    # A child may say this, and its parent exits with 0.
    ("say('==1==ERROR: AddressSanitizer: heap-use-after-free')", WELL),
    ("say('x.c:1:2: runtime error: overflow')", WELL),
    ("say('WARNING: ThreadSanitizer: data race')", WELL),
    ("pass", "say('==1==ERROR: LeakSanitizer: detected memory leaks'); " + WELL),
    ("subprocess.Popen(['sleep', '1000'])", WELL),
], ids=["exit 1", "crash", "no report", "bad report", "ASan", "UBSan", "TSan", "LSan", "orphan"])
def test_a_server_that_ends_badly(script, code, stop):
    server = Server(script(code, stop))
    with pytest.raises(ServerFault):
        server.stop()
    # SIGKILL was sent; the kernel may still be ending the processes.
    wait_for(lambda: not session_members(server.pid), "all to be gone")


# The guardian

def test_nothing_outlives_a_test_run_that_is_killed():
    """Also not a grandchild that ignores every polite signal, nor a folder."""
    code = textwrap.dedent("""\
        import time
        from tests.support.processes import make_folder, spawn
        folder = make_folder("killed")
        child = spawn(["sh", "-c",
                       "trap '' HUP INT TERM; sleep 1000 & wait"])
        print(child.pid, folder, flush=True)
        time.sleep(1000)
        """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                          cwd=TOP) as run:
        session, folder = run.stdout.readline().split()
        session, folder = int(session), Path(folder)
        wait_for(lambda: len(session_members(session)) == 2, "both processes")
        assert folder.is_dir()
        run.kill()
    wait_for(lambda: not session_members(session) and not folder.exists(),
             "the guardian to do its work")
