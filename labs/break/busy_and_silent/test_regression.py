"""A server that is full waits; it does not keep a core busy."""

from labs.grade.client import Client, get
from labs.grade.observe import Seen, Trace, wait_until
from labs.grade.test_robust import first_free, limit_descriptors

SECONDS = 3
MOST = 150          # failed calls in that time; a try each 50 ms makes 60


def test_waits_while_it_is_full(server):
    get(server.port, "/hello")
    with Trace(server.pid, "accept4", ("-q",)) as trace:
        limit_descriptors(server.pid, first_free(server.pid))
        with Client(server.port) as client:
            client.request("/hello")
            if not wait_until(lambda: trace.count("EMFILE")):
                raise Seen("accept never failed", "EMFILE at the limit")
            spins = wait_until(lambda: trace.count("EMFILE") > MOST, SECONDS)
            failures = trace.count("EMFILE")
            trace.detach()
            if spins:
                raise Seen(f"{failures} failed calls of accept in less than {SECONDS} s, and a "
                           "core that does nothing else", "a pause between two attempts")
            limit_descriptors(server.pid)
            client.response()
