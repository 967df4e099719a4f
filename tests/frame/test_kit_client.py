"""tools/kit/client.py: what it takes for an answer. (tests/labs/test_client.py has resets.)"""

import socket

import pytest

from tools.kit import client

CASES = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n42", 200, b"42"),
    (b"HTTP/1.0 404 Not Found\r\nA: b\r\n\r\nuntil the end", 404, b"until the end"),
    (b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"4;x=y\r\nfour\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n", 200,
     b"fourabcdefghijklmnopqrstuvwxyz"),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b""),
]
FAULTS = [
    (b"", "closed the connection after 0 bytes of an answer's fields"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n4", "after 1 bytes of a body of 2 bytes"),
    (b"SSH-2.0-OpenSSH\r\n\r\n", "no HTTP answer: 'SSH-2.0-OpenSSH'"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "no HTTP answer"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfo", "of a body of 6 bytes"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\nfour\r\n0\r\n\r\n",
     "no size of a chunk: b'-4'"),
]


@pytest.fixture
def asked():
    """asked(bytes) is a Connection that has asked, and gets them and an end for an answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def ask(data):
            one = client.Connection(listener.getsockname())
            opened.append(one)
            one.request("/path", "POST", ["A: b"], b"body")
            with listener.accept()[0] as peer:
                seen.append(peer.recv(4096))
                peer.sendall(data)
            return one

        opened, ask.seen = [], []
        seen = ask.seen
        yield ask
        for one in opened:
            one.close()


@pytest.mark.parametrize("data, status, body", CASES)
def test_an_answer_is_read(asked, data, status, body):
    answer = asked(data).response()
    assert (answer.status, answer.body) == (status, body)
    assert asked.seen == [b"POST /path HTTP/1.1\r\nHost: localhost\r\nA: b\r\n"
                          b"Content-Length: 4\r\n\r\nbody"]


@pytest.mark.parametrize("data, words", FAULTS)
def test_what_is_no_answer_is_said(asked, data, words):
    with pytest.raises(ConnectionError) as error:
        asked(data).response()
    assert words in str(error.value)


def test_a_head_answers_no_body_and_the_next_answer_follows(asked):
    one = asked(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + CASES[0][0])
    assert one.response("HEAD").body == b""
    assert one.response().body == b"42"


def test_silence_is_neither_bytes_nor_an_end(asked):
    assert not asked(b"x").is_silent(60)
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            client.Connection(listener.getsockname()) as one:
        assert one.is_silent(0.01)
