"""What a worker keeps only to be faster later (open files, buffers, its
connection to Redis) never stands in the way of a client, and a server that has
no clients gives the files back."""

import os
import resource

import pytest

from tests.support.client import build
from tests.support.processes import session_members, wait_for
from tools.kit import procfs

FILES = 8
FEW = 512               # descriptors, for a hundred threads
LOOP_CLIENT_KIB = 1024  # what promises.md names, with pages of 600 KB


def site_files(server, folder):
    """Return how many files below `folder` the server's processes hold open."""
    return sum(path.startswith(f"{folder}/") and os.path.isfile(path)
               for pid in session_members(server.pid)
               for path in procfs.open_files(pid).values())


@pytest.fixture
def files(own_site):
    """FILES files to ask for; returns (the site, their targets)."""
    targets = [f"/kept{number}.txt" for number in range(FILES)]
    for target in targets:
        own_site.write(target.lstrip("/"), b"kept")
    return own_site, targets


def test_a_server_without_clients_holds_no_file(launch, files):
    """Not even where the last client asked for one and stayed a while: a file
    that was deleted or unmounted must not stay for ever."""
    site, targets = files
    server = launch(root=site.root)
    for _ in range(4):
        for target in targets:
            assert server.request(target).body == b"kept"
    wait_for(lambda: site_files(server, site.root) == 0,
             "the server to close its files")
    assert server.request(targets[0]).body == b"kept"


@pytest.mark.only("threaded", "prethreaded")
def test_files_kept_by_a_hundred_threads_leave_room(launch, files, server_name):
    """60 clients ask for 8 files each and leave; then each guestbook page gets
    its descriptor for Redis."""
    site, targets = files

    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW))

    option = {"threaded": "--max-threads", "prethreaded": "--threads"}
    server = launch(option[server_name], "100", root=site.root,
                    preexec_fn=few_descriptors)
    connections = [server.connect() for _ in range(60)]
    for target in targets:
        for connection in connections:
            connection.send(build(target))
        for connection in connections:
            assert connection.read_response().body == b"kept"
    for connection in connections:
        connection.close()
    for _ in range(120):
        assert server.request("/guestbook").status == 200
    assert server.stderr() == ""


@pytest.mark.only("poll", "epoll")
def test_memory_of_a_client_that_reads_nothing(launch, own_redis):
    """promises.md names the bound: answers to pipelined requests are collected
    up to 64 KiB and one page; the request behind it waits."""
    own_redis("RPUSH", "guestbook_remarks", *["<" * 1500] * 100)
    server = launch(redis=own_redis.address)
    page = server.request("/guestbook").body
    assert len(page) > 500_000
    clients = 8

    def pss():
        return sum(map(procfs.proportional_memory, session_members(server.pid))) // 1024

    before = pss()
    connections = [server.connect(receive_buffer=4096) for _ in range(clients)]
    for connection in connections:
        connection.send(build("/guestbook") * 12)
    for connection in connections:
        wait_for(lambda c=connection: c.readable(), "an answer to begin")
    grown = []

    def settled():
        grown.append(pss())
        return len(grown) > 3 and grown[-1] == grown[-4]

    wait_for(settled, "the server to wait for its clients")
    assert (grown[-1] - before) / clients < LOOP_CLIENT_KIB, grown
    for connection in connections:      # slowly or not, all of it arrives
        connection.widen()
        for _ in range(12):
            assert len(connection.read_response().body) >= len(page) - 20
        connection.close()
