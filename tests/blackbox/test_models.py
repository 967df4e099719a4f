"""What the seven models differ in: which clients wait for which, and limits."""

import os
import threading

import pytest

from tests.support.client import Closed, build
from tests.support.procfs import expect_calm
from tests.support.processes import children, session_members, wait_for
from tests.support.scenarios import complete, half
from tests.support.servers import ONE_AT_A_TIME, ONE_CLIENT, Server
from tools.kit import procfs
from tools.kit.servers import ARCHITECTURES, SEQUENTIAL

TOGETHER = [one.name for one in ARCHITECTURES if one.model != SEQUENTIAL]
SILENCE = 0.3           # seconds in which something wrong could happen


# Several clients

@pytest.mark.only(*ONE_AT_A_TIME)
def test_clients_are_served_one_after_the_other(launch, server_name):
    """The second client is not refused: it waits until the first is done."""
    server = launch(*ONE_AT_A_TIME[server_name])
    with half(server) as first, server.connect() as second:
        second.send(build("/answer"))
        second.expect_silence(SILENCE)
        complete(first)
        assert second.read_response().body == b"42"


def test_each_client_gets_its_own_answer(server):
    """Eight clients together, and no answer has another client's data."""
    wrong = []

    def ask(number):
        for i in range(25):
            value = f"{number}-{i}-" + "x" * (number * 100)
            got = server.request(f"/echo?value={value}").text
            if got != f"<http_test><value>{value}</value></http_test>":
                wrong.append((value, got))

    clients = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert not wrong


def test_a_slow_reader_of_a_large_file(launch, own_site, server_name):
    """It gets every byte, however long it takes; other clients do not wait."""
    content = os.urandom(1 << 20) * 8
    own_site.write("large.bin", content)
    server = launch(root=own_site.root)
    with server.connect(receive_buffer=8192) as reader:
        reader.send(build("/large.bin", fields=[("Connection", "close")]))
        assert reader.receive(1000)
        if server_name in TOGETHER:
            for _ in range(3):
                assert server.request("/answer").body == b"42"
        reader.widen()
        response = reader.read_response()
    assert response.body == content


# Keep-alive while other clients wait

def test_an_idle_client_is_closed_for_one_that_waits(launch, server_name):
    """Long before its keep-alive timeout, which is a day here."""
    server = launch(*ONE_CLIENT[server_name], "--keep-alive", "86400")
    with server.connect() as idle:
        for _ in range(2):
            response = idle.request("/answer")
            assert response.body == b"42" and not response.closes
        assert server.request("/hello").body == b"Hello, World!"
        idle.expect_closed()


@pytest.mark.only(*ONE_AT_A_TIME)
def test_an_idle_client_is_kept_while_no_client_waits(launch, server_name):
    server = launch(*ONE_AT_A_TIME[server_name])
    with server.connect() as idle:
        assert idle.request("/answer").body == b"42"
        idle.expect_silence(SILENCE)
        assert idle.request("/answer").body == b"42"


@pytest.mark.only(*ONE_AT_A_TIME)
def test_an_endless_pipeline_is_ended_when_a_client_waits(launch, server_name):
    """One client that never stops asking must not lock out the others."""
    server = launch(*ONE_AT_A_TIME[server_name])
    with server.connect() as greedy, server.connect() as waiting:
        greedy.request("/answer")
        waiting.send(build("/hello"))
        served = 0
        with pytest.raises(Closed):
            while served < 100_000:
                greedy.send(build("/answer") * 10)
                for _ in range(10):
                    greedy.read_response()
                    served += 1
        assert waiting.read_response().body == b"Hello, World!"


@pytest.mark.only("forking", "threaded", "poll", "epoll")
def test_idle_clients_are_kept_where_that_is_cheap(launch):
    server = launch()
    with server.connect() as first, server.connect() as second:
        for _ in range(3):
            for connection in (first, second):
                response = connection.request("/answer")
                assert response.body == b"42" and not response.closes


@pytest.mark.only("poll", "epoll")
def test_the_client_that_has_been_idle_for_the_longest_makes_room(launch):
    server = launch("--max-connections", "2", "--keep-alive", "86400")
    with server.connect() as first, server.connect() as second, \
            server.connect() as third:
        for connection in (first, second, third):
            assert connection.request("/answer").body == b"42"
        first.expect_closed()
        assert second.request("/answer").body == b"42"
        assert third.request("/answer").body == b"42"
        assert not second.readable()


# Limits: a client above the limit waits

LIMITS = {one.name: one.slots or "--max-connections" for one in ARCHITECTURES
          if one.model != SEQUENTIAL}


@pytest.mark.only(*LIMITS)
def test_clients_above_the_limit_wait(launch, server_name):
    """And the server sleeps."""
    server = launch(LIMITS[server_name], 2, "--request-timeout", "3600")
    with half(server) as first, half(server) as second, \
            server.connect() as third, server.connect() as fourth:
        third.send(build("/hello"))
        fourth.send(build("/hello"))
        expect_calm(server)
        assert not third.readable() and not fourth.readable()
        complete(first)
        first.close()
        complete(second)
        second.close()
        assert third.read_response().body == b"Hello, World!"
        third.close()
        assert fourth.read_response().body == b"Hello, World!"


@pytest.mark.only("forking")
def test_a_child_lives_as_long_as_its_client(launch):
    server = launch("--max-children", "3")
    assert children(server.pid) == []
    held = [half(server) for _ in range(3)]
    assert len(children(server.pid)) == 3
    for connection in held:
        complete(connection)
        connection.close()
    wait_for(lambda: not children(server.pid), "the children to end")


@pytest.mark.only("threaded")
def test_a_thread_lives_as_long_as_its_client(launch):
    server = launch("--max-threads", "3")
    held = [half(server) for _ in range(3)]
    # Not only the main one: a sanitizer has threads of its own.
    base = len(procfs.threads(server.pid)) - 3
    assert base >= 1
    for connection in held:
        complete(connection)
        connection.close()
    wait_for(lambda: len(procfs.threads(server.pid)) == base, "the threads to end")


@pytest.mark.only("preforking", "prethreaded")
def test_a_hundred_workers_by_default(executable, site, redis):
    server = Server(executable, "-p", 0, "-r", site.root, "--redis", redis.address)
    count = {"preforking": lambda: len(children(server.pid)),
             "prethreaded": lambda: len(procfs.threads(server.pid)) - 1}[server.name]
    wait_for(lambda: count() >= 100, "a hundred workers")
    assert count() == 100 or server.name == "prethreaded"   # a sanitizer adds threads
    assert server.request("/answer").body == b"42"
    server.stop()


@pytest.mark.only("iterative", "prethreaded", "threaded", "poll")
def test_no_other_processes(server):
    assert server.request("/guestbook").status == 200
    assert session_members(server.pid) == [server.pid]
