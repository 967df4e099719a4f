"""Four times as many remarks make the guestbook's page at most about four times as expensive."""

import socket

from labs.grade.client import ask_guestbook
from labs.grade.observe import Seen
from tools.kit import procfs

FEW, MANY = 2500, 10_000
TRIES = 3
# In proportion to the remarks it would be 4, to their square 16: in between.
LIMIT = 8


def fill(redis, first, last):
    """Sign the guestbook with remarks that all differ."""
    host, port = redis.address.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(b"".join(
            b'RPUSH guestbook_remarks "remark %d - Ada"\r\n' % i for i in range(first, last)))
        replies = b""
        while replies.count(b"\n") < last - first:
            replies += connection.recv(1 << 16)
    assert b"-" not in replies, replies[:200]


def cost(server):
    """Return the CPU seconds of a page; the least of some, because other programs disturb."""
    def spent():
        return procfs.cpu_time([procfs.process(server.pid)])

    costs = []
    for _ in range(TRIES):
        before = spent()
        assert ask_guestbook(server.port).status == 200
        costs.append(spent() - before)
    return min(costs)


def test_the_page_grows_with_the_remarks_and_not_faster(server, redis):
    fill(redis, 0, FEW)
    few = cost(server)
    fill(redis, FEW, MANY)
    many = cost(server)
    if many > LIMIT * few:
        raise Seen(f"{1000 * few:.1f} ms of CPU time for a page with {FEW:,} remarks, "
                   f"{1000 * many:.1f} ms with {MANY:,}: {many / few:.0f} times as much, "
                   "and no other client is served meanwhile",
                   f"at most {LIMIT} times as much for {MANY // FEW} times the remarks")
