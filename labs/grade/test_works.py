"""Level "works": the pages, over real sockets."""

from labs.grade.client import Client, ask_guestbook, get
from labs.grade.observe import Seen

LARGE = 16 << 20        # bytes of /large; see build.prepare()
PIPELINED = 20


def expect_status(answer, status, what):
    """Raise Seen unless an answer has that status."""
    if answer.status != status:
        raise Seen(f"status {answer.status} for {what}", f"status {status}")


def test_answers_every_page(server):
    for path, text in (("/", b"<html"), ("/hello", b"ello"),
                       ("/answer", b"42"), ("/echo?value=x7", b"x7"),
                       ("/guestbook", b"guest")):
        answer = get(server.port, path) if path != "/guestbook" else ask_guestbook(server.port)
        expect_status(answer, 200, path)
        if text not in answer.body:
            raise Seen(f"{path} without {text.decode()!r}: {answer.body[:60]!r}", "the page")
    expect_status(get(server.port, "/redirect"), 302, "/redirect")


def test_keeps_a_guestbook(server):
    form = ("Content-Type: application/x-www-form-urlencoded",)
    answer = ask_guestbook(server.port, "POST", form,
                           b"guest-name=Ada&guest-remarks=graded+with+pleasure")
    expect_status(answer, 303, "POST /guestbook")
    if b"graded with pleasure" not in ask_guestbook(server.port).body:
        raise Seen("a guestbook without the remark that was just sent", "the remark")


def test_serves_one_client_after_another(server):
    for number in range(50):
        answer = get(server.port, f"/echo?value=client{number}")
        if f"client{number}".encode() not in answer.body:
            raise Seen(f"client {number} got {answer.body[:60]!r}", "the answer to its own request")


def test_keeps_a_connection(server):
    with Client(server.port) as client:
        for number in range(3):
            client.request(f"/echo?value={number}")
            expect_status(client.response(), 200, f"request {number + 1} of a connection")


def test_answers_pipelined_requests(server):
    with Client(server.port) as client:
        client.send(b"".join(
            f"GET /echo?value=n{number}. HTTP/1.1\r\nHost: a\r\n\r\n".encode()
            for number in range(PIPELINED)))
        for number in range(PIPELINED):
            body = client.response().body
            if f"n{number}.".encode() not in body:
                raise Seen(f"answer {number + 1} is {body[:60]!r}", f"answers to {PIPELINED} "
                           "pipelined requests, in the order of the requests")


def test_answers_head_and_refuses(server):
    with Client(server.port) as client:
        client.request("/hello", "HEAD")
        answer = client.response("HEAD")
        expect_status(answer, 200, "HEAD /hello")
        if int(answer.headers.get("content-length", 0)) == 0:
            raise Seen("no Content-Length for HEAD", "the length of /hello")
        client.request("/no-such-page")
        expect_status(client.response(), 404, "/no-such-page")
        client.request("/hello", "POST", body=b"x")
        expect_status(client.response(), 405, "POST /hello")


def test_sends_a_large_file(server):
    answer = get(server.port, "/large")
    expect_status(answer, 200, "/large")
    if answer.body != bytes(LARGE):
        raise Seen(f"{len(answer.body)} bytes", f"{LARGE} bytes, all zero")
