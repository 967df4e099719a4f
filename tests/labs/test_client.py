"""When the grader takes a 503 for the fault of a late Redis, and when not; and that it
tells a reset from an end."""

import contextlib
import socket
import socketserver
import threading
import time

import pytest

from labs.grade import client

AT_ONCE, LATE = 0, client.REDIS_WAIT        # seconds until an answer
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


@pytest.fixture
def answers():
    """answers([(seconds, status), ...]) starts a server with these answers, one
    for each connection, and returns its port and the list, which it empties."""
    servers = []

    def start(left):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while self.rfile.readline().strip():
                    pass
                seconds, status = left.pop(0)
                time.sleep(seconds)
                self.wfile.write(b"HTTP/1.1 %d x\r\nContent-Length: 0\r\n\r\n" % status)

        server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_address[1], left

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_late_redis_is_asked_again(answers):
    """Until the server may connect to it again, it says 503 immediately."""
    port, left = answers([(LATE, 503), (AT_ONCE, 503), (AT_ONCE, 200)])
    assert client.ask_guestbook(port).status == 200 and not left


def test_a_503_without_a_wait_is_a_fault(answers, monkeypatch):
    # A busy machine may take longer than the usual wait for any answer.
    monkeypatch.setattr(client, "REDIS_WAIT", 60)
    port, left = answers([(AT_ONCE, 503), (AT_ONCE, 200)])
    assert client.ask_guestbook(port).status == 503 and left


def test_a_reset_is_no_end():
    """Neither within an answer nor after it. close(2) on a socket with unread input sends a RST."""
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0)))

        def reset(data):
            one = opened.enter_context(client.Client(listener.getsockname()[1]))
            with listener.accept()[0] as peer:
                one.request()
                peer.recv(1, socket.MSG_PEEK)
                peer.sendall(data)
            return one

        with pytest.raises(ConnectionResetError, match="1 bytes of a body of 2 bytes"):
            reset(HEAD + b"4").response()
        one = reset(HEAD + b"42")
        assert one.response().body == b"42"
        with pytest.raises(ConnectionResetError):
            one.is_closed()
        assert reset(b"").is_closed(may_reset=True)
