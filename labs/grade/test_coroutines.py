"""Lab 09: a stack for each client, and what may go wrong with it."""

import time

from labs.grade.client import REDIS_WAIT, Client, port_of
from labs.grade.loops import HALF, crowd, stopped
from labs.grade.observe import PATIENCE, Seen, is_read, or_seen, wait_until
from labs.grade.tasks import END
from labs.grade.test_events import silent_redis
from labs.grade.test_robust import expect_alive, expect_hello
from tools.kit import procfs


def test_each_client_has_a_stack(server, expect):
    """Stacks may come from mmap(2), or be pieces of one area: the page below each is in
    /proc/PID/maps as one that no code may touch."""
    with crowd(server, expect["clients"]) as clients:
        ends = sum(line.split()[1].startswith("---")
                   for line in procfs.read(f"/proc/{server.pid}/maps").splitlines())
        if ends < len(clients):
            raise Seen(f"{ends} areas that no code may touch (---p in /proc/PID/maps), with "
                       f"{len(clients)} clients", "one below each client's stack")


def test_hears_while_it_waits(fresh_server):
    """A second request arrives while the first one waits for Redis."""
    with silent_redis(False) as address:
        server = fresh_server(redis=address)
        with Client(server.port, PATIENCE) as client:
            began = time.monotonic()
            client.request("/guestbook")
            wait_until(lambda: is_read(server.port, port_of(client)))
            client.request("/hello")
            first = answer(client, "the guestbook, without Redis")
            if first.status != 503 or time.monotonic() - began < REDIS_WAIT * 0.9:
                raise Seen(f"status {first.status} for the guestbook when another request came",
                           "503, when Redis has not replied in time")
            answer(client, "a request that came while the one before it waited for Redis")


def answer(client, what):
    """Return the next answer; raise Seen without one."""
    with or_seen(lambda error: f"no answer to {what}: {error}", "an answer"):
        return client.response()


def test_ends_silent_clients(fresh_server):
    server = fresh_server(args=["--request-timeout", "1"])
    with Client(server.port, 2 * PATIENCE) as silent:
        silent.send(HALF)
        status = answer(silent, "half a request after --request-timeout").status
    if status != 408:
        raise Seen(f"status {status} for half a request", "408 (Request Timeout)")


def test_many_clients_end_together(server, expect):
    """Some with an answer, some with a reset, all in one turn of the loop, twice."""
    for _ in range(2):
        with crowd(server, expect["clients"]) as clients:
            with stopped(server):
                for number, client in enumerate(clients):
                    if number % 2:
                        client.reset()
                    else:
                        client.send(END)
            for client in clients[::2]:
                try:
                    client.response()
                except OSError as error:
                    expect_alive(server, "when many clients ended", 0.5)
                    raise Seen(f"no answer when many clients ended: {error}",
                               "status 200") from error
        expect_hello(server, "after many clients ended together")
