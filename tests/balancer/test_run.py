"""run.py itself: what it starts, ends and refuses."""

import os
import resource
import signal
import socket
import subprocess
import sys

import pytest

from tests.support.client import Connection, build
from tests.balancer.conftest import event_loop
from tests.support.processes import children
from tools.kit import wait

RUN = [sys.executable, "-m", "tools.fleet.balancer.run"]
only_epoll = pytest.mark.only("epoll")


def ask(server, path="/answer"):
    """Return the answer of the balancer to one request."""
    with Connection(server.address) as connection:
        connection.send(build(path))
        return connection.read_response()


@only_epoll
def test_all_that_it_started_ends_with_it(balanced, name, server_name):
    server = balanced(server_name, "--balancer", name, "--instances", "2")
    assert ask(server).body == b"42"
    started = children(server.pid)
    assert len(started) == 3
    server.process.send_signal(signal.SIGINT)       # the other tests send SIGTERM
    assert server.process.wait(60) == 0
    assert not [pid for pid in started if os.path.exists(f"/proc/{pid}")]


@only_epoll
def test_a_balancer_has_descriptors_for_8000_clients(balanced, name, server_name):
    """Two for each, even where a shell allows 1,024, as most do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 16500:
        pytest.skip(f"this machine allows {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        server = balanced(server_name, "--balancer", name, "--instances", "1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    # A process raises its limit after it was forked, and that of nginx may not be there yet.
    assert wait.until(lambda: resource.prlimit(
        event_loop(server, name), resource.RLIMIT_NOFILE)[0] > 16000, 60)


@only_epoll
def test_an_instance_that_ends_is_started_again(balanced, server_name):
    server = balanced(server_name, "--instances", "2", "--restart-after", "0")
    pid, port = server.instance("s2")
    os.kill(pid, signal.SIGKILL)
    server.wait_for_line("^s2 ended with SIGKILL")
    server.wait_for_line("^s2: process", 2)
    assert server.instance("s2") != (pid, port)
    assert server.instance("s2")[1] == port


@only_epoll
def test_a_dead_instance_is_started_before_another_is_drained(
        balanced, name, server_name):
    server = balanced(server_name, "--balancer", name, "--instances", "2",
                      "--restart-after", "3600")
    old = [server.instance(one)[0] for one in ("s1", "s2")]
    os.kill(old[1], signal.SIGKILL)
    server.wait_for_line("^s2 ended with SIGKILL")
    server.rolling_restart()
    server.wait_for_line("^s2: process", 3)
    assert server.instance("s1")[0] not in old


@only_epoll
def test_without_a_balancer_clients_reach_the_instance(balanced, server_name):
    server = balanced(server_name, "--balancer", "none", "--instances", "1")
    assert server.instance("s1")[1] == server.address[1]
    assert ask(server).body == b"42"


@only_epoll
def test_without_redis_the_other_pages_are_still_there(balanced, name,
                                                       server_name):
    """The health check does not need Redis, and a 503 takes no one out."""
    server = balanced(server_name, "--balancer", name, "--redis", "none")
    for _ in range(4):
        assert ask(server, "/guestbook").status == 503
    assert ask(server).status == 200


@pytest.mark.parametrize("words, said", [
    (["apache"], "SERVER=apache: there are 01_iterative"),
    (["epoll", "--instances", "0"], "N=0: it has to be a whole number from 1"),
    (["epoll", "--balancer", "none"], "without a balancer there is one instance: N=1"),
    (["epoll", "--port", "{taken}"], "port {taken} is taken"),
    (["epoll", "--port", "65536"], "PORT=65536: it has to be a whole number from 1 to 65535"),
    (["epoll", "--port", "65534", "--instances", "9"],
     "above port 65534 there are no 9 free ones"),
    (["epoll", "--", "--threads", "3"], "s1 ended with exit code 2"),
])
def test_what_it_cannot_do_it_says_in_a_sentence(words, said, free_port):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        words = [word.format(taken=number) for word in words]
        if "--port" not in words:
            words[1:1] = ["--port", str(free_port())]
        done = subprocess.run([*RUN, *words], capture_output=True, text=True,
                              check=False, timeout=60)
    assert said.format(taken=number) in done.stderr
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr


def test_a_mistake_in_a_template_is_told(name, folder, free_port):
    template = folder / "mistaken.j2"
    template.write_text("oops 1;\n")
    done = subprocess.run([*RUN, "epoll", "--balancer", name, "--port", str(free_port()),
                           "--template", template], capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 1 and f"{name} ended with exit code 1" in done.stderr
