"""A client that goes away in the middle of its download ends nothing else."""

from labs.grade.client import get
from labs.grade.observe import Seen
from labs.grade.test_robust import start_large

VISITS = 20     # the kernel may report the loss of a client in another way


def test_goes_on_after_a_lost_client(server):
    for _ in range(VISITS):
        try:
            client = start_large(server.port)
            client.sock.shutdown(1)     # our FIN first, then our RST
            client.reset()
            get(server.port, "/hello")
        except OSError as error:
            server.wait()
            raise Seen(f"no answer ({error}); the server: {server.ending or 'still there'}",
                       "an answer to the next client") from error
    if server.wait(0.5) is not None:
        raise Seen(f"the server has ended: {server.ending}", "a server that goes on")
