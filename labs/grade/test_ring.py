"""Lab 08: what io_uring saves, and what it keeps."""

from labs.grade.client import Client
from labs.grade.loops import (
    ask, calls, kept, READS, SMALL, stopped, trace_of_answers, WAITS, WRITES)
from labs.grade.observe import PATIENCE, Seen, Trace, or_seen
from labs.grade.test_works import LARGE


def test_gives_buffers_back(server, expect):
    with kept(server, 1) as (client,):
        for number in range(expect["requests"]):
            ask(client, f"request {number + 1} of a kept connection")


def test_ends_connections(server, fresh_server):
    for _ in range(3):
        with Client(server.port, PATIENCE) as client:
            with or_seen(lambda error: f"no answer ({error})", "an answer"), \
                    or_seen(str, "an answer, then a FIN", ConnectionResetError):
                client.request("/hello", fields=("Connection: close",))
                client.response()
                ended = client.is_closed(PATIENCE)
            if not ended:
                raise Seen(f"a connection is still open {PATIENCE:g} s after its last answer, with "
                           "\"Connection: close\"", "its end, a FIN")
    loses_nothing(fresh_server(args=["--keep-alive", "0"]))


def loses_nothing(server):
    """Raise Seen unless a client that goes on sending gets all of its last
    answer: a server that has closed the socket by then answers with RST, and
    what the client has not acknowledged is lost."""
    received = 0
    with Client(server.port, PATIENCE, SMALL) as client:
        client.request("/large")
        with or_seen(lambda error: f"the last answer was cut off after {received} bytes, because "
                     f"its client went on sending ({error})",
                     f"all {LARGE} bytes: FIN, then LINGER"):
            while data := client.sock.recv(SMALL):
                received += len(data)
                client.request("/hello")
    if received < LARGE:
        raise Seen(f"{received} bytes of the last answer", f"{LARGE} bytes")


def test_few_system_calls(server, expect):
    number = expect["clients"]
    with kept(server, number) as clients:
        with Trace(server.pid) as trace:
            with stopped(server):
                for client in clients:
                    client.request("/hello")
            with or_seen(lambda error: f"an answer is missing ({error})", f"{number} answers"):
                for client in clients:
                    client.response()
            trace.detach()
        made = sum(1 for _ in calls(trace))
        if made > expect["most"]:
            raise Seen(f"{made} system calls for {number} requests that were ready together",
                       f"at most {expect['most']}: one io_uring_enter(2) hands over many")


def test_waits_in_the_ring(server):
    names = {name for name, *_ in calls(trace_of_answers(server))}
    others = names & {*WAITS.split(","), *READS, *WRITES, "accept", "accept4"}
    if others or "io_uring_enter" not in names:
        raise Seen("calls of " + ", ".join(sorted(names)),
                   "io_uring_enter(2) alone: it hands over the sends, and "
                   "the results of accept and recv are in the completion queue")
