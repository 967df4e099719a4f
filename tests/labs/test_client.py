"""When the grader takes a 503 for the fault of a late Redis, and when not; and that it
tells a reset from an end."""

import socket
import socketserver
import threading
import time

import pytest

from labs.grade import client

AT_ONCE, LATE = 0, client.REDIS_WAIT        # seconds until an answer


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


@pytest.mark.parametrize("plan, status, unasked", [
    ([(AT_ONCE, 200), (AT_ONCE, 503)], 200, 1),
    # Redis was late; until the server may connect again, it says 503 immediately.
    ([(LATE, 503), (AT_ONCE, 503), (AT_ONCE, 200)], 200, 0)])
def test_a_late_redis_is_asked_again(answers, plan, status, unasked):
    port, left = answers(plan)
    assert client.ask_guestbook(port).status == status
    assert len(left) == unasked


def test_a_503_without_a_wait_is_a_fault(answers, monkeypatch):
    # A busy machine may take longer than the usual wait for any answer.
    monkeypatch.setattr(client, "REDIS_WAIT", 60)
    port, left = answers([(AT_ONCE, 503), (AT_ONCE, 200)])
    assert client.ask_guestbook(port).status == 503
    assert len(left) == 1


# close(2) on a socket with unread input sends a RST.

@pytest.fixture
def reset():
    """reset(bytes) is a Client that asks; it is sent these bytes, then a RST."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def start(data):
            one = client.Client(listener.getsockname()[1])
            opened.append(one)
            with listener.accept()[0] as peer:
                one.request()
                peer.recv(1, socket.MSG_PEEK)
                peer.sendall(data)
            return one

        opened = []
        yield start
        for one in opened:
            one.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


@pytest.mark.parametrize("data, seen", [
    (b"", "0 bytes of an answer's fields"), (HEAD[:9], "9 bytes of an"),
    (HEAD + b"4", "1 bytes of a body of 2 bytes")])
def test_a_reset_within_an_answer_is_no_end(reset, data, seen):
    with pytest.raises(ConnectionResetError, match=seen):
        reset(data).response()


def test_a_reset_after_an_answer_is_no_close(reset):
    one = reset(HEAD + b"42")
    assert one.response().body == b"42"
    with pytest.raises(ConnectionResetError):
        one.is_closed()
    assert reset(b"").is_closed(may_reset=True)
