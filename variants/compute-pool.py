"""A client that computes holds no other; its own answers keep their order."""

import contextlib
import resource
import select
import time

from tools.kit import procfs


def answered_before(server, milliseconds):
    """Ask for a computation, then, on a second connection, for /answer. Return whether the
    second client has its answer while the first one waits."""
    with server.connect() as first, server.connect() as second:
        first.request(f"/compute?ms={milliseconds}")
        server.wait_until_read(first)
        second.request("/answer")
        assert second.response().body == b"42"
        early = not select.select([first.sock], [], [], 0)[0]
        assert first.response().body == f"{milliseconds} ms of CPU time".encode()
    return early


@contextlib.contextmanager
def no_room_for_a_stack(server):
    """Keep the server from making a thread."""
    size = int(procfs.find(r"VmSize:\s+(\d+) kB", f"/proc/{server.pid}/status")) * 1024
    limits = size + 2 ** 20, resource.RLIM_INFINITY
    before = resource.prlimit(server.pid, resource.RLIMIT_AS, limits)
    yield
    resource.prlimit(server.pid, resource.RLIMIT_AS, before)


def check(server):
    with no_room_for_a_stack(server):
        assert server.request("/compute?ms=20").status == 200
        assert len(procfs.threads(server.pid)) == 1, "a thread without a stack"
    server.wait_for(lambda: answered_before(server, 500), "a client that overtakes a computation")
    with server.connect() as pipelined:
        for path in ("/compute?ms=50", "/answer", "/compute?ms=2"):
            pipelined.request(path)
        bodies = [pipelined.response().body for _ in range(3)]
        assert bodies == [b"50 ms of CPU time", b"42", b"2 ms of CPU time"], bodies
    # Ten that leave: some while they are computed, some while they are queued.
    leaving = [server.connect() for _ in range(10)]
    for connection in leaving:
        connection.request("/compute?ms=30")
        server.wait_until_read(connection)
    for connection in leaving:
        connection.close()
    assert server.request("/compute?ms=1").status == 200
    leaving = server.connect()      # the stop finds this one in the pool
    leaving.request("/compute?ms=300")
    server.wait_until_read(leaving)


def effect(server):
    """/answer behind a computation of 200 ms"""
    with server.connect() as first, server.connect() as second:
        first.request("/compute?ms=200")
        server.wait_until_read(first)
        began = time.monotonic()
        second.request("/answer")
        assert second.response().status == 200
        return 1000 * (time.monotonic() - began)
