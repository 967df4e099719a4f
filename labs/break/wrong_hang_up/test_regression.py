"""A client that leaves does not disturb the others."""

import re

from labs.grade.client import Client
from labs.grade.observe import Seen, Trace, state, threads, wait_until

# A thread goes on 2 s after its first close(2), so that others overtake it.
SLOWLY = ("-f", "-q", "-e", "inject=close:delay_exit=2000000:when=1")


def test_a_connection_belongs_to_one_client(server):
    with Client(server.port) as leaving:
        leaving.request("/hello")
        leaving.response()
        with Trace(server.pid, "close,accept4", SLOWLY) as trace:
            leaving.close()
            if not wait_until(lambda: trace.count(r"close\(")):
                raise Seen("no close(2) after a client has left", "one")
            thread = int(re.search(r"^(\d+) +close\(", "\n".join(
                trace.lines()), re.MULTILINE)[1])
            with Client(server.port, timeout=10) as staying:
                staying.request("/hello")
                staying.response()
                # The slow thread ends what it does, and waits again.
                if thread not in threads(server.pid) or not wait_until(
                        lambda: state(server.pid, thread) == "S", 20):
                    raise Seen("a thread that does not wait again", "one")
                trace.detach()
                try:
                    staying.request("/hello")
                    staying.response()
                except OSError as error:
                    raise Seen("a client's connection ended when another "
                               f"client had left: {error}",
                               "an answer to its second request") from error
